package normalize

// Type is the JSON type of a Value.
type Type uint8

const (
	Null Type = iota
	Bool
	Number
	String
	Array
	Object
)

// String is the type's word as differences show it.
func (t Type) String() string {
	return [...]string{"null", "bool", "number", "string", "array", "object"}[t]
}

// Value is one JSON value of a Document after the rules have run. Its zero value is null.
type Value struct {
	Type      Type
	Unordered bool // an array under a sort rule: a multiset
	Loose     bool // a tolerance holds for it or for something in it: equal hashes do not make it equal

	// Text is "true" or "false"; a number's canonical decimal form, equal exactly when the numbers are equal; or a
	// string unescaped, injectively: lone surrogates and bad bytes never collide with anything else.
	Text string

	Items   []Value  // an array's elements, less the dropped ones
	Members []Member // an object's members sorted by Key, one per key (the last copy), less the dropped ones

	Index int    // position in the array as sent
	Size  int    // values in this subtree, itself and hidden copies included
	Hash  uint64 // values that are Equal have equal hashes
	Raw   []byte // the value's text as sent: for showing, never for comparing

	Special *Special // what sets the comparing of this value apart; nil for nearly all
}

// Special is what rules, or the kind of body, ask for when a value is compared.
type Special struct {
	Tolerance *Tolerance // of a number or a time: closer ones are equal
	Keys      []*Pattern // of an array: its elements are paired by these, relative to the element
	Sequence  string     // of a markup element: the names of its children in order
	Sent      string     // the key as sent, where a rule has renamed it; "" means that it has not been
	Masked    bool       // a rule has masked the key: it is one of many that count as one field
	Inside    bool       // parsed from a string: pointers end at that string
	Parsed    bool       // the same, and equal to nothing that was sent as it is: a string stays one to whoever reads it
}

// Member is one member of an object.
type Member struct {
	Key    string // unescaped, as Value.Text is
	Value  Value
	Hidden []Value // earlier copies under the same key, in the order sent
}

// Member returns the value under a key, or nil when v is no object or has no such member.
func (v *Value) Member(key string) *Value {
	if m := v.member(key); m != nil {
		return &m.Value
	}
	return nil
}

func (v *Value) member(key string) *Member {
	lo, hi := 0, len(v.Members)
	for lo < hi {
		mid := (lo + hi) / 2
		if v.Members[mid].Key < key {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo < len(v.Members) && v.Members[lo].Key == key {
		return &v.Members[lo]
	}
	return nil
}
