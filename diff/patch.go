package diff

import (
	"encoding/base64"
	"errors"
	"net/http"
	"strings"
	"unicode/utf8"

	"shadowdiff/multicast"
	"shadowdiff/normalize"
)

// Operation is one step that makes the right body of the left one. A list of them is a JSON Patch (RFC 6902) in which each
// operation has the value that was there before, too. Values stand in it as they were sent, less the white space.
type Operation struct {
	Op       string // "replace", "add" or "remove"
	Path     string // RFC 6901, into the body as the operations before have left it; "" is the whole body
	Old      string // a JSON text; "" for "add"
	Value    string // a JSON text; "" for "remove"
	Encoding string // of both values where a body is no JSON: "text", or "base64" of its bytes, as a JSON string
}

// AppendJSON appends the operation as a JSON object.
func (o *Operation) AppendJSON(dst []byte) []byte {
	dst = append(append(dst, `{"op":"`...), o.Op...)
	dst = appendString(append(dst, `","path":`...), o.Path)
	if o.Old != "" {
		dst = append(append(dst, `,"old":`...), o.Old...)
	}
	if o.Value != "" {
		dst = append(append(dst, `,"value":`...), o.Value...)
	}
	if o.Encoding != "" {
		dst = append(append(append(dst, `,"encoding":"`...), o.Encoding...), '"')
	}
	return append(dst, '}')
}

// Patcher makes patches under one set of rules. It is safe for concurrent use.
type Patcher struct {
	rules, plain *normalize.Normalizer
	limits       Limits
}

// NewPatcher returns a Patcher. Plain reads answers without any rule, and decodes as much as rules does.
func NewPatcher(rules, plain *normalize.Normalizer, limits Limits) *Patcher {
	return &Patcher{rules, plain, limits}
}

// errNotKept is the error of Patch for a body of which only length and hash are known.
var errNotKept = errors.New("a body that is not kept whole cannot be patched")

// Patch makes the operations after which the left body compares equal with the right one under the rules; there are none
// when it does so already. All of them together are hardly longer than both bodies: where the operations inside an array or
// object would be longer than replacing it, it is replaced. What rules leave out is not touched, unless such a replacement
// takes it along.
//
// The result is tried out before it is returned: where it does not lead to the right body, as rules that make one member
// of several can bring about, coarser operations are taken, and in the end the whole body is replaced.
func (p *Patcher) Patch(route string, left, right *multicast.Response) ([]Operation, error) {
	l := p.rules.Document(route, multicast.Primary, left, nil)
	r := p.rules.Document(route, multicast.Candidate, right, nil)
	if p.same(&l.Body, &r.Body) {
		return nil, nil
	}
	sentLeft := p.plain.Document(route, multicast.Primary, left, nil)
	sentRight := p.plain.Document(route, multicast.Candidate, right, nil)
	if isTree(&l.Body, &r.Body, &sentLeft.Body, &sentRight.Body) {
		for _, wholeArrays := range []bool{false, true} {
			e := newEdits(sentLeft.Body.Root, sentRight.Body.Root)
			e.wholeArrays = wholeArrays
			e.walk(&l.Body, &r.Body, p.limits)
			if ops := e.operations(); p.leads(route, sentLeft.Body.Root, ops, r) {
				return ops, nil
			}
		}
	}
	return wholeBody(&sentLeft.Body, &sentRight.Body)
}

// isTree tells whether all bodies are JSON.
func isTree(bodies ...*normalize.Body) bool {
	for _, b := range bodies {
		if b.Kind != normalize.JSON {
			return false
		}
	}
	return true
}

// leads tells whether operations on the left body make one that compares equal with the right.
func (p *Patcher) leads(route string, left *normalize.Value, ops []Operation, right *normalize.Document) bool {
	body, err := applied(left, ops)
	if err != nil {
		return false
	}
	d := p.rules.Document(route, multicast.Primary, &multicast.Response{
		Outcome: multicast.OutcomeOK, Status: http.StatusOK, Body: body, Size: int64(len(body)),
		Header: http.Header{"Content-Type": {"application/json"}},
	}, nil)
	return p.same(&d.Body, &right.Body)
}

// same tells whether nothing differs.
func (p *Patcher) same(l, r *normalize.Body) bool {
	limits := p.limits
	limits.Differences = 0 // none is listed
	f := newFound(limits)
	f.bodies(l, r)
	return len(f.sums) == 0
}

// wholeBody is the operation that replaces the body.
func wholeBody(l, r *normalize.Body) ([]Operation, error) {
	if l.Kind == normalize.Digest || r.Kind == normalize.Digest {
		return nil, errNotKept
	}
	var op Operation
	switch {
	case (isJSON(l) || len(l.Bytes) == 0) && (isJSON(r) || len(r.Bytes) == 0):
		op.Old, op.Value = sentJSON(l), sentJSON(r)
	case utf8.Valid(l.Bytes) && utf8.Valid(r.Bytes):
		op.Encoding = "text"
		op.Old, op.Value = sentText(l.Bytes), sentText(r.Bytes)
	default:
		op.Encoding = "base64"
		op.Old, op.Value = sentBase64(l.Bytes), sentBase64(r.Bytes)
	}
	switch {
	case len(r.Bytes) == 0:
		op.Op = opRemove
	case len(l.Bytes) == 0:
		op.Op = opAdd
	default:
		op.Op = opReplace
	}
	return []Operation{op}, nil
}

// isJSON tells whether a body can stand in a patch as a JSON value.
func isJSON(b *normalize.Body) bool { return b.Kind == normalize.JSON && utf8.Valid(b.Bytes) }

func sentJSON(b *normalize.Body) string {
	if len(b.Bytes) == 0 {
		return ""
	}
	return string(appendRoot(nil, b.Root))
}

func sentText(body []byte) string {
	if len(body) == 0 {
		return ""
	}
	return string(appendString(nil, string(body)))
}

func sentBase64(body []byte) string {
	if len(body) == 0 {
		return ""
	}
	return `"` + base64.StdEncoding.EncodeToString(body) + `"`
}

// appendRoot appends a body's value. Records stand there as an array's elements.
func appendRoot(dst []byte, v *normalize.Value) []byte {
	if v.Type != normalize.Array {
		return appendSent(dst, v)
	}
	dst = append(dst, '[')
	for i := range v.Items {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendSent(dst, &v.Items[i])
	}
	return append(dst, ']')
}

// appendSent appends a value as it was sent, less the white space outside strings.
func appendSent(dst []byte, v *normalize.Value) []byte {
	quoted := false
	for i := 0; i < len(v.Raw); i++ {
		c := v.Raw[i]
		switch {
		case quoted && c == '\\' && i+1 < len(v.Raw):
			dst = append(dst, c)
			i++
			c = v.Raw[i]
		case c == '"':
			quoted = !quoted
		case !quoted && (c == ' ' || c == '\t' || c == '\r' || c == '\n'):
			continue
		}
		dst = append(dst, c)
	}
	return dst
}

const hexDigits = "0123456789abcdef"

// appendString appends a text of valid UTF-8 as a JSON string.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	from := 0
	for i := range len(s) {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c != 0x7F {
			continue
		}
		dst = append(dst, s[from:i]...)
		from = i + 1
		if at := strings.IndexByte("\"\\\n\r\t", c); at >= 0 {
			dst = append(dst, '\\', `"\nrt`[at])
		} else {
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return append(append(dst, s[from:]...), '"')
}
