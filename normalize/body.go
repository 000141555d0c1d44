package normalize

import (
	"bytes"
	"crypto/sha256"
	"unicode/utf8"

	"shadowdiff/multicast"
)

// body reads a response's body.
//
// What is compared as JSON must be valid JSON, and either its label promises JSON or it is an object or an array: a
// scalar like 123 under another label, or none, is text, since there most words would not be JSON and a body that now
// and then is a number would change its kind by chance. A body whose content coding cannot be undone is binary whatever
// it holds, for a client cannot read it either.
func (n *Normalizer) body(resp *multicast.Response, p *plan, reserve func(int64) bool) Body {
	body := n.readBody(resp, reserve)
	if len(p.body) > 0 {
		n.applyRules(&body, p.body)
	}
	return body
}

func (n *Normalizer) readBody(resp *multicast.Response, reserve func(int64) bool) Body {
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
	n.classify(&body, mediaType(resp.Header), reserve)
	if body.Refused {
		return refusedBody(resp)
	}
	return body
}

// refusedBody is a body for which there is no memory: all that can be told is its length and hash.
func refusedBody(resp *multicast.Response) Body {
	return Body{Kind: Digest, Size: int64(len(resp.Body)), Hash: sha256.Sum256(resp.Body), Refused: true, Note: noMemory}
}

// classify finds what a decoded body is compared as, and parses it if it is JSON.
func (n *Normalizer) classify(body *Body, media string, reserve func(int64) bool) {
	labelled, records := isJSONType(media), isRecordsType(media)
	if labelled || records || looksJSON(body.Bytes) {
		p := n.parser(reserve)
		defer n.release(p)
		switch {
		case p.parse(body.Bytes, records):
			root, arena := p.root, p.arena
			body.Kind, body.Root, body.arena = JSON, &root, &arena
			p.arena = nil
			if hasBOM(body.Bytes) {
				body.Note = "a byte-order mark is ignored"
			}
			return
		case p.budget.refused:
			body.Refused = true
			return
		case labelled || records:
			body.Note = "not JSON: " + p.failure
		}
	}
	body.Kind = Binary
	if len(media) > 5 && media[:5] == "text/" || utf8.Valid(body.Bytes) && bytes.IndexByte(body.Bytes, 0) < 0 {
		body.Kind = Text
	}
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

// applyRules runs the rules that hold for the response over its body.
func (n *Normalizer) applyRules(body *Body, rules []*rule) {
	if body.Kind == JSON {
		a := newApplier(rules)
		if a.visit(body.Root, 0) {
			*body = Body{Changed: true, Ignored: body.Root.Size}
			return
		}
		body.Ignored = a.ignored
		body.Changed = a.changed
		return
	}
	for _, r := range rules {
		if r.verb == verbDrop && r.pattern.covers() && body.Kind != Empty {
			*body = Body{Changed: true, Ignored: 1, Refused: false}
			return
		}
	}
}
