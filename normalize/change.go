package normalize

// textChange is what mask, lower, trim, squeeze and nfc do to a text: a string's, a key, a line of a header, a whole
// text body. Where nothing is to be changed it returns the very text it was given. What is no character in a text (see
// text.go) stays as it is. Seen is nil but for numbered masks.
type textChange func(text string, seen *numbering) string

// valueChange is what round and coerce do to a scalar: they set its Type and Text, the canonical ones, and tell whether
// these have become others. The hash is set by whoever calls.
type valueChange func(v *Value) (changed bool)

// numbering gives the matches of one numbered mask in one document their numbers, from 1 in the order of their first
// appearance, so that what was the same stays the same.
type numbering struct{ numbers map[string]int }

// of is the number of a match.
func (n *numbering) of(match string) int {
	number, ok := n.numbers[match]
	if !ok {
		if n.numbers == nil {
			n.numbers = map[string]int{}
		}
		number = len(n.numbers) + 1
		n.numbers[match] = number
	}
	return number
}
