package diff

// Kind says how two values differ. The words are public: pages, the API and `shadowdiff diff` show them.
type Kind string

const (
	KindValue   Kind = "value"
	KindFormat  Kind = "format"  // same JSON type, another shape class
	KindType    Kind = "type"    // JSON types differ
	KindMissing Kind = "missing" // only the left has it
	KindExtra   Kind = "extra"   // only the right has it
	KindOrder   Kind = "order"   // the same multiset in another order
	KindLength  Kind = "length"
	KindContent Kind = "content" // bodies of different kinds
	KindFailed  Kind = "failed"  // one leg gave no answer
)

// Level orders differences by gravity: 0 none, 1 value, 2 format, 3 type, 4 presence.
type Level uint8

// Level returns the kind's level.
func (k Kind) Level() Level {
	switch k {
	case "":
		return 0
	case KindFormat:
		return 2
	case KindType, KindContent:
		return 3
	case KindMissing, KindExtra, KindFailed:
		return 4
	default:
		return 1
	}
}

// Difference is one place at which right differs from left.
type Difference struct {
	Field        string  `json:"field"`         // body.items[].price
	LeftPointer  *string `json:"left_pointer"`  // RFC 6901 into the body as sent; nil where that side has none
	RightPointer *string `json:"right_pointer"` // likewise
	Kind         Kind    `json:"kind"`
	Left         Excerpt `json:"left"`
	Right        Excerpt `json:"right"`
	Note         string  `json:"note,omitempty"` // "paired by position: …", "duplicate key" …
}

// Excerpt is one side's value as a JSON text of bounded size: a body's value with long strings, arrays and objects cut
// (each cut says so), or a JSON string for a header, text or bytes. Empty where the side has none; it is null in JSON.
type Excerpt string

// MarshalJSON writes the text as it is.
func (e Excerpt) MarshalJSON() ([]byte, error) {
	if e == "" {
		return []byte("null"), nil
	}
	return []byte(e), nil
}
