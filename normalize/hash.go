package normalize

import "math/bits"

// Hashes multiply 64-bit words and fold the 128-bit product. Nothing rests on them but speed: Equal is exact.
const (
	saltText   = 0x9E3779B97F4A7C15
	saltFold   = 0xD1B54A32D192ED03
	saltNumber = 0x8CB92BA72F3D8DD7
	saltArray  = 0xAEF17502108EF2D9
	saltBag    = 0xC2B2AE3D27D4EB4F
	saltObject = 0x94D049BB133111EB
	saltHidden = 0xBF58476D1CE4E5B9
	hashTrue   = 0xE7037ED1A0B428DB
	hashFalse  = 0xA0761D6478BD642F
	hashNull   = 0 // as that of the zero Value
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

// rehash sets the size and hash of a container from those of its children.
func (v *Value) rehash() {
	size := 1
	var h uint64
	switch {
	case v.Type == Object:
		for i := range v.Members {
			m := &v.Members[i]
			size += m.Value.Size
			value := m.Value.Hash
			for j := range m.Hidden {
				size += m.Hidden[j].Size
				value = fold(value^saltHidden, m.Hidden[j].Hash^saltFold)
			}
			h += fold(hashText(m.Key, saltObject), value^saltObject)
		}
		h = fold(h^saltObject, uint64(len(v.Members))^saltFold)
	case v.Unordered:
		for i := range v.Items {
			size += v.Items[i].Size
			h += fold(v.Items[i].Hash^saltBag, saltFold)
		}
		h = fold(h^saltBag, uint64(len(v.Items))^saltFold)
	default:
		h = saltArray
		for i := range v.Items {
			size += v.Items[i].Size
			h = fold(h^saltFold, v.Items[i].Hash^saltArray)
		}
		h = fold(h, uint64(len(v.Items))^saltFold)
	}
	v.Size, v.Hash = size, h
}
