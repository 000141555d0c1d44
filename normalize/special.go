package normalize

// parsed tells whether a value was made of a string that a rule has parsed, and is equal only to others of that kind.
func (v *Value) parsed() bool { return v.Special != nil && v.Special.Parsed }

// with adds to what is special about a value. Specials are shared and never changed: what has one already gets a copy.
func (v *Value) with(s *Special) {
	if v.Special == nil {
		v.Special = s
		return
	}
	both := *v.Special
	if s.Tolerance != nil {
		both.Tolerance = s.Tolerance
	}
	if s.Keys != nil {
		both.Keys = s.Keys
	}
	if s.Sent != "" && both.Sent == "" {
		both.Sent = s.Sent
	}
	both.Masked = both.Masked || s.Masked
	both.Inside = both.Inside || s.Inside
	both.Parsed = both.Parsed || s.Parsed
	v.Special = &both
}
