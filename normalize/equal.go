package normalize

// Equal tells exactly whether two values are equal: numbers by value, objects without regard to order, arrays under a
// sort rule as multisets, hidden copies of members included. Both must come from documents of Normalizers with the same
// rules.
func (v *Value) Equal(other *Value) bool { panic("normalize: being built") }
