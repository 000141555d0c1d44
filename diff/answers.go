package diff

import (
	"bytes"
	"crypto/sha256"
	"net/http"
	"slices"

	"shadowdiff/multicast"
	"shadowdiff/normalize"
)

// answers are the documents of one exchange. Bodies are read as seldom as can be: where a shadow sent the primary's
// very bytes it has the primary's body, and where both did no body is read at all.
type answers struct {
	comparer  *Comparer
	exchange  *multicast.Exchange
	route     string
	documents [3]*normalize.Document
}

// read makes the documents; it answers false when there is no memory for them.
func (a *answers) read(control bool) bool {
	roles := []multicast.Role{multicast.Primary, multicast.Candidate}
	if control {
		roles = append(roles, multicast.Secondary)
	}
	primary := a.exchange.Response(multicast.Primary)
	over, same := false, true
	for _, role := range roles {
		r := a.exchange.Response(role)
		over = over || r.Over || r.Outcome == multicast.OutcomeOversize
		same = same && sentAlike(r, primary)
	}
	switch {
	case over:
		return a.digests(roles)
	case same:
		for _, role := range roles {
			a.documents[role] = a.document(role, false)
		}
		if !a.digestHeadersDiffer(roles) {
			return true
		}
	}
	for _, role := range roles {
		r := a.exchange.Response(role)
		shared := role != multicast.Primary && sentAlike(r, primary)
		d := a.document(role, !shared)
		if shared {
			d.Body = a.documents[multicast.Primary].Body
		}
		if d.Body.Refused {
			return false
		}
		a.documents[role] = d
	}
	return true
}

// sentAlike tells whether two bodies are the same bytes and are to be decoded in the same way: gzip that is not labelled
// so is not what the client can read.
func sentAlike(a, b *multicast.Response) bool {
	const coding = "Content-Encoding"
	return bytes.Equal(a.Body, b.Body) && (len(a.Body) == 0 || slices.Equal(a.Header.Values(coding), b.Header.Values(coding)))
}

// document reads a response, with its body or without.
func (a *answers) document(role multicast.Role, body bool) *normalize.Document {
	r := a.exchange.Response(role)
	if (!body || a.exchange.Request.Method == http.MethodHead || !bodyAllowed(r.Status)) && (r.Over || len(r.Body) > 0) {
		bare := *r
		bare.Body, bare.Size, bare.Over = nil, 0, false
		r = &bare
	}
	return a.comparer.normalizer.DocumentLike(a.documents[multicast.Primary], a.route, role, r, a.exchange.Reserve)
}

func bodyAllowed(status int) bool {
	return status != http.StatusNoContent && status != http.StatusNotModified
}

// digests makes documents whose bodies are known by length and hash, as sent: one of them was too long to be kept.
func (a *answers) digests(roles []multicast.Role) bool {
	for _, role := range roles {
		d := a.document(role, false)
		r := a.exchange.Response(role)
		d.Body = normalize.Body{Kind: normalize.Digest, Size: r.Size, Hash: r.Hash}
		if !r.Over {
			d.Body.Size, d.Body.Hash = int64(len(r.Body)), sha256.Sum256(r.Body)
		}
		a.documents[role] = d
	}
	return true
}

// digestHeadersDiffer tells whether it must be known if a rule changes the body: an ETag follows it then.
func (a *answers) digestHeadersDiffer(roles []multicast.Role) bool {
	primary := a.documents[multicast.Primary]
	return slices.ContainsFunc(roles, func(role multicast.Role) bool {
		d := a.documents[role]
		return !sameDigests(d.Headers, primary.Headers) || !sameDigests(d.Trailers, primary.Trailers)
	})
}

// sameDigests tells whether two lists of headers have the same digests of a body.
func sameDigests(l, r []normalize.Header) bool {
	next := func(list []normalize.Header) []normalize.Header {
		for len(list) > 0 && !isDigest(list[0].Name) {
			list = list[1:]
		}
		return list
	}
	for l, r = next(l), next(r); len(l) > 0 && len(r) > 0; l, r = next(l[1:]), next(r[1:]) {
		if l[0].Name != r[0].Name || !slices.Equal(l[0].Values, r[0].Values) {
			return false
		}
	}
	return len(l) == len(r)
}

// release gives back the documents' memory.
func (a *answers) release() { a.comparer.normalizer.Release(a.documents[:]...) }

// sizes are those of the bodies, decoded where they were, by role; minus one where the body's end is not known.
func (a *answers) sizes() (sizes [3]int64) {
	for role, d := range a.documents {
		sizes[role] = d.Body.Size
		if a.exchange.Responses[role].Outcome == multicast.OutcomeOversize {
			sizes[role] = -1
		}
	}
	return sizes
}
