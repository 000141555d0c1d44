package normalize

import "math/bits"

// Hashes multiply 64-bit words and fold the 128-bit product. Nothing rests on them but speed: Equal is exact.
const (
	saltText      = 0x9E3779B97F4A7C15
	saltFold      = 0xD1B54A32D192ED03
	saltNumber    = 0x8CB92BA72F3D8DD7
	saltArray     = 0xAEF17502108EF2D9
	saltBag       = 0xC2B2AE3D27D4EB4F
	saltObject    = 0x94D049BB133111EB
	saltHidden    = 0xBF58476D1CE4E5B9
	saltSequence  = 0xDA942042E4DD58B5
	saltTolerated = 0x5851F42D4C957F2D
	saltPlace     = 0x2545F4914F6CDD1D
	saltParsed    = 0x9FB21C651E98DF25
	hashTrue      = 0xE7037ED1A0B428DB
	hashFalse     = 0xA0761D6478BD642F
	hashNull      = 0 // as that of the zero Value
)

func fold(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

// load64 is the little-endian word at s[i].
func load64(s string, i int) uint64 {
	s = s[i : i+8]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// hashText hashes a text under a salt that tells strings, keys and numbers apart.
func hashText(s string, salt uint64) uint64 {
	h := salt ^ fold(uint64(len(s))^saltFold, saltText)
	n := len(s)
	if n < 8 {
		var x uint64
		for i := range n {
			x = x<<8 | uint64(s[i])
		}
		return fold(x^saltText, h^saltFold)
	}
	for i := 0; i+8 < n; i += 8 {
		h = fold(load64(s, i)^saltText, h^saltFold)
	}
	return fold(load64(s, n-8)^saltText, h^saltFold)
}

// rehash sets the size, hash and looseness of a value: those of a container from its children's, which must be right, and
// those of a scalar from its text. It is called after whatever changed a value, its Special included.
func (v *Value) rehash() {
	size := 1
	loose := false
	var h uint64
	switch {
	case v.Type == Object:
		for i := range v.Members {
			m := &v.Members[i]
			size += m.Value.Size
			loose = loose || m.Value.Loose
			value := m.Value.Hash
			for j := range m.Hidden {
				size += m.Hidden[j].Size
				loose = loose || m.Hidden[j].Loose
				value = fold(value^saltHidden, m.Hidden[j].Hash^saltFold)
			}
			h += fold(hashText(m.Key, saltObject), value^saltObject)
		}
		h = fold(h^saltObject, uint64(len(v.Members))^saltFold)
	case v.Type != Array:
		h = v.scalarHash()
	case v.Unordered:
		for i := range v.Items {
			size += v.Items[i].Size
			loose = loose || v.Items[i].Loose
			h += fold(v.Items[i].Hash^saltBag, saltFold)
		}
		h = fold(h^saltBag, uint64(len(v.Items))^saltFold)
	default:
		h = saltArray
		for i := range v.Items {
			size += v.Items[i].Size
			loose = loose || v.Items[i].Loose
			h = fold(h^saltFold, v.Items[i].Hash^saltArray)
		}
		h = fold(h, uint64(len(v.Items))^saltFold)
	}
	v.Size, v.Hash, v.Loose = size, h, loose
	if v.Special != nil {
		v.setApart()
	}
}

// scalarHash is the hash the parser gives a scalar.
func (v *Value) scalarHash() uint64 {
	switch v.Type {
	case String:
		return hashText(v.Text, saltText)
	case Number:
		return hashText(v.Text, saltNumber)
	case Bool:
		if v.Text == "true" {
			return hashTrue
		}
		return hashFalse
	}
	return hashNull
}

// setApart makes the hash that of a value whose comparing is set apart. What a tolerance holds for has one hash for its
// JSON type, since closeness is in no hash; an array under a pair rule has one that its order does not matter to, but for
// elements of one key; a sequence counts; and what was parsed from a string is never equal to what was not.
func (v *Value) setApart() {
	s := v.Special
	switch {
	case s.Tolerance != nil && v.isScalar():
		v.Hash, v.Loose = fold(saltTolerated, uint64(v.Type)^saltFold), true
	case len(s.Keys) > 0 && v.Type == Array:
		v.Hash = v.pairedHash()
	case s.Sequence != "":
		v.Hash = fold(v.Hash^saltSequence, hashText(v.sequence(), saltText))
	}
	if s.Parsed {
		v.Hash = fold(v.Hash^saltParsed, saltFold)
	}
}

// pairedHash is the hash of an array whose elements are paired by key.
func (v *Value) pairedHash() uint64 {
	k := keyring{patterns: v.Special.Keys}
	var seen []uint64 // elements of each key
	var h uint64
	for i := range v.Items {
		place := uint64(0) // among the elements of its key
		if key := k.number(&v.Items[i]); key >= 0 {
			if key == len(seen) {
				seen = append(seen, 0)
			}
			seen[key]++
			place = seen[key]
		}
		h += fold(v.Items[i].Hash^saltBag, place^saltPlace)
	}
	return fold(h^saltBag, uint64(len(v.Items))^saltPlace)
}
