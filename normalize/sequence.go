package normalize

import "bytes"

const recordSeparator = 0x1E

// isSequence tells whether a body is one of JSON texts with a record separator before each (RFC 7464).
func isSequence(data []byte) bool { return len(data) > 0 && data[0] == recordSeparator }

// records reads a JSON text sequence into an array of its texts. A text that is broken breaks the whole, unlike in RFC
// 7464: then it is compared as text and nothing is passed over.
func (r *reader) sequence(data []byte) (root Value, why string, ok bool) {
	// Control characters stand in no JSON, so a record on a line of its own is the same where there are no separators
	// within.
	lines := bytes.ReplaceAll(data, []byte{recordSeparator}, []byte{'\n'})
	if !r.budget.take(int64(len(lines))) {
		return Value{}, noMemory, false
	}
	if root, why, ok = r.json(lines, true); !ok {
		return root, why, false
	}
	chunks := 0
	for chunk := range bytes.SplitSeq(data, []byte{recordSeparator}) {
		if len(bytes.Trim(chunk, " \t\r\n")) > 0 {
			chunks++
		}
	}
	for i := range root.Items {
		at := offset(lines, root.Items[i].Raw)
		if before := bytes.TrimRight(data[:at], " \t\r\n"); len(before) == 0 || before[len(before)-1] != recordSeparator {
			return Value{}, "a record without a separator before it", false
		}
	}
	if chunks != len(root.Items) {
		return Value{}, "a separator within a record", false
	}
	return root, "", true
}
