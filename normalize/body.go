package normalize

import (
	"bytes"
	"crypto/sha256"
	"strings"
	"unicode/utf8"

	"shadowdiff/multicast"
)

// body reads a response's body.
//
// What is compared as JSON must be valid JSON, and either its label promises JSON or it is an object or an array: a
// scalar like 123 under another label, or none, is text, since there most words would not be JSON and a body that now
// and then is a number would change its kind by chance. A body whose content coding cannot be undone is binary whatever
// it holds, for a client cannot read it either.
//
// Like is a body that this one is probably much like, or nil. It helps only where no rule is held against either.
func (n *Normalizer) body(resp *multicast.Response, p *plan, like *Body, reserve func(int64) bool) Body {
	asSent := len(p.body)+len(p.parse) == 0
	if like != nil && !(asSent && like.asSent && like.Kind == JSON) {
		like = nil
	}
	body := n.readBody(resp, like, reserve)
	body.asSent = asSent
	if !n.applyRules(&body, p, reserve) {
		return refusedBody(resp)
	}
	return body
}

func (n *Normalizer) readBody(resp *multicast.Response, like *Body, reserve func(int64) bool) Body {
	switch {
	case resp.Over:
		return Body{Kind: Digest, Size: resp.Size, Hash: resp.Hash}
	case len(resp.Body) == 0:
		return Body{}
	}
	data, note, err := n.decoders.decode(resp.Header, resp.Body, n.cfg.MaxDecoded, reserve)
	switch {
	case err == errNoMemory:
		return refusedBody(resp)
	case err != nil:
		return Body{Kind: Binary, Bytes: resp.Body, Size: int64(len(resp.Body)), Note: note}
	case len(data) == 0:
		return Body{}
	}
	body := Body{Bytes: data, Size: int64(len(data))}
	l := labelOf(resp.Header)
	n.classify(&body, &l, like, reserve)
	if body.Refused {
		return refusedBody(resp)
	}
	return body
}

// refusedBody is a body for which there is no memory: all that can be told is its length and hash.
func refusedBody(resp *multicast.Response) Body {
	return Body{Kind: Digest, Size: int64(len(resp.Body)), Hash: sha256.Sum256(resp.Body), Refused: true, Note: noMemory}
}

// classify finds what a decoded body is compared as, and reads it if it is a tree.
func (n *Normalizer) classify(body *Body, l *label, like *Body, reserve func(int64) bool) {
	chars, note, err := toUTF8(body.Bytes, *l, reserve)
	if err == errNoMemory {
		body.Refused = true
		return
	}
	r := reader{n: n, budget: budget{reserve: reserve}, like: like}
	root, kind, why, ok := r.read(body.Bytes, chars, l)
	if len(chars) != len(body.Bytes) || &chars[0] != &body.Bytes[0] {
		body.Sent, body.Bytes, body.Size = body.Bytes, chars, int64(len(chars))
	}
	body.Note = note
	if r.budget.refused {
		body.Refused = true
		return
	}
	if !ok {
		if r.arena != nil {
			n.putArena(r.arena)
		}
		body.Kind, body.Note = n.plainKind(chars, l), JoinNotes(body.Note, JoinNotes(r.note, why))
		return
	}
	body.Kind, body.Root, body.Note = kind, &root, JoinNotes(body.Note, r.note)
	if r.arena != nil {
		body.arena = &r.arena
	}
}

// plainKind is what a body that is no tree is compared as.
func (n *Normalizer) plainKind(chars []byte, l *label) BodyKind {
	if strings.HasPrefix(l.media, "text/") || utf8.Valid(chars) && bytes.IndexByte(chars, 0) < 0 {
		return Text
	}
	return Binary
}

// JoinNotes puts two remarks into one; either may be empty.
func JoinNotes(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "; " + b
}

// looksJSON tells whether a body begins and ends as an object or array does.
func looksJSON(data []byte) bool {
	if hasBOM(data) {
		data = data[len(bom):]
	}
	data = bytes.Trim(data, " \t\r\n")
	if len(data) < 2 {
		return false
	}
	first, last := data[0], data[len(data)-1]
	return first == '{' && last == '}' || first == '[' && last == ']'
}
