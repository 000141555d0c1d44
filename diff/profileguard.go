package diff

import (
	"strings"
	"sync"
	"sync/atomic"

	"shadowdiff/multicast"
	"shadowdiff/normalize"
)

const (
	guardedFields = 20_000   // whose answers are remembered; one is a word and a name
	guardedBody   = 64 << 10 // the longest body that is redacted as a whole only to know what of it may be shown
)

// profileGuard says which values may be kept for profiles: none that is to be redacted, and none of which that cannot be
// known cheaply. It is safe for concurrent use.
type profileGuard struct {
	redactor *normalize.Redactor

	mu      sync.RWMutex
	covered map[string]bool // by field; begun anew when it is full
}

func newProfileGuard(r *normalize.Redactor) *profileGuard {
	return &profileGuard{redactor: r, covered: map[string]bool{}}
}

// profiling is where the redactor is asked for, and what is known of the one that was answered last.
type profiling struct {
	redactor func() *normalize.Redactor
	guard    atomic.Pointer[profileGuard]
}

// Profile has the comparisons from now on carry what stands in the fields that differ, less what the redactor takes out.
// It is asked for at each comparison, so that another one is in force at once. Nothing is carried while it is nil, nor
// before Profile was called.
func (c *Comparer) Profile(redactor func() *normalize.Redactor) {
	c.profiling.Store(&profiling{redactor: redactor})
}

// profileGuard is that of the redactor in force; nil where there is none.
func (c *Comparer) profileGuard() *profileGuard {
	p := c.profiling.Load()
	if p == nil {
		return nil
	}
	r := p.redactor()
	if r == nil {
		return nil
	}
	g := p.guard.Load()
	if g == nil || g.redactor != r {
		g = newProfileGuard(r)
		p.guard.Store(g)
	}
	return g
}

// covers tells whether a field lies at or below a place that is redacted.
func (g *profileGuard) covers(field string) bool {
	g.mu.RLock()
	covered, known := g.covered[field]
	g.mu.RUnlock()
	if known {
		return covered
	}
	covered = g.redactor.Covers(field)
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.covered) >= guardedFields {
		clear(g.covered)
	}
	g.covered[strings.Clone(field)] = covered
	return covered
}

// names tells whether a text, as JSON, names what is redacted elsewhere: as a body that is no JSON may, or a URL in a
// header. Samples show "password: …" within a string of JSON; profiles do not.
func names(r *normalize.Redactor, text string) bool {
	const asBody, asURL = "body", "trailer.any"
	return text[0] == '"' && (r.Excerpt(asBody, text, nil) != text || r.Excerpt(asURL, text, nil) != text)
}

// showing says what of a value may be kept.
type showing uint8

const (
	hidden showing = iota // nothing
	blank                 // its shape and its length
	shown                 // all
)

// may says whether a scalar that stands at a place may be kept as excerpt has it. Redaction goes by names: by those in
// the field, as they were sent; by those within a string that holds a document of its own; and in a body that is no JSON
// by those in its text, where they need not be what the field is called after.
func (s *seeing) may(field string, at *sighting, v *normalize.Value, shape normalize.Shape, excerpt string, role multicast.Role) showing {
	r := s.guard.redactor
	switch {
	case at != nil && at.place != nil && (at.place.renamed() || v.Special != nil && v.Special.Sent != ""):
		return hidden // it may have had another name on one of the sides
	case at != nil && at.keys != "" && r.Covers(at.keys):
		return hidden
	}
	var redacted *multicast.Response
	if isBody := at == nil || at.place != nil; isBody && s.answers.documents[role].Body.Kind != normalize.JSON {
		if redacted = s.redacted(role); redacted == nil {
			return blank
		}
	} else if v.Type != normalize.String || !mayHoldNames(v.Text, shape) {
		return shown
	}
	if r.Excerpt(field, excerpt, redacted) != excerpt || names(r, excerpt) {
		return hidden
	}
	return shown
}

// mayHoldNames tells whether a string may be a document with names of its own, or a URL with a query.
func mayHoldNames(text string, shape normalize.Shape) bool {
	switch shape {
	case normalize.ShapeText, normalize.ShapeURL:
		return strings.ContainsAny(text, ":=<>?#&{[\"\\") || strings.HasPrefix(text, "…")
	case normalize.ShapeEmail, normalize.ShapeBase64:
		return strings.ContainsAny(text, ":=<>?#&{[\"\\")
	}
	return false
}

// redacted is a role's response with everything taken out that is to be redacted, made when it is first asked for; nil
// where the body is too long for that.
func (s *seeing) redacted(role multicast.Role) *multicast.Response {
	sent := s.answers.exchange.Response(role)
	if sent.Size > guardedBody || s.answers.documents[role].Body.Size > guardedBody {
		return nil
	}
	if s.clean[role] == nil {
		out, _ := s.guard.redactor.Response(sent)
		s.clean[role] = &out
	}
	return s.clean[role]
}
