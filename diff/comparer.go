package diff

import (
	"net/http"
	"sync/atomic"

	"shadowdiff/multicast"
	"shadowdiff/normalize"
)

// Comparer turns exchanges into comparisons under one set of rules. It is safe for concurrent use.
type Comparer struct {
	normalizer *normalize.Normalizer
	names      *normalize.Names
	limits     Limits
	noise      *noise
	profiling  atomic.Pointer[profiling] // nil while values are not carried
}

// NewComparer returns a Comparer; names gives those exchanges a route that multicast gave none.
func NewComparer(n *normalize.Normalizer, names *normalize.Names, limits Limits) *Comparer {
	return &Comparer{normalizer: n, names: names, limits: limits, noise: newNoise()}
}

// Suggestions lists rules that would quiet what differs between primary and secondary, those that quiet most first. They
// are made from what this Comparer has compared: a new one begins anew.
func (c *Comparer) Suggestions() []Suggestion { return c.noise.suggestions() }

// Compare judges one exchange. An exchange for which there is no memory becomes unknown, in the Comparison and in ex
// alike. But for its Exchange, the Comparison shares nothing with ex.
func (c *Comparer) Compare(ex *multicast.Exchange) *Comparison {
	out := &Comparison{
		Time: ex.Time, Exchange: ex,
		NoControl: ex.Response(multicast.Secondary).Outcome == "",
	}
	shape := c.name(out)
	candidate, control := ex.Response(multicast.Candidate), ex.Response(multicast.Secondary)
	switch failed := failedLeg(candidate); {
	case ex.Unknown != "":
		out.Unknown = ex.Unknown
	case failed && !out.NoControl && failedLeg(control):
		out.unknown(multicast.ReasonShadowsFailed)
	case failed:
		out.fail(candidate, &out.Candidate, c.limits)
		c.profileGuard().failed(out)
	case !out.NoControl && failedLeg(control):
		out.fail(control, &out.Control, c.limits)
		c.profileGuard().failed(out)
	default:
		c.documents(out, shape)
	}
	if out.Unknown == "" {
		out.CandidateError, out.ControlError = isError(candidate), !out.NoControl && isError(control)
		out.PrimaryError = isError(ex.Response(multicast.Primary))
	}
	return out
}

// isError tells of an answer that is the server's failure, or of none.
func isError(r *multicast.Response) bool {
	return failedLeg(r) || r.Status >= http.StatusInternalServerError
}

// name gives the comparison its route, and answers the name that rules go by.
func (c *Comparer) name(out *Comparison) (shape string) {
	ex := out.Exchange
	switch {
	case ex.Configured:
		out.Route, out.Given, out.Configured = ex.Route, true, true
		return ex.Route
	case ex.Route != "":
		out.Route, out.Given = c.names.Given(ex.Route), true
		return ex.Route
	}
	out.Route, shape = c.names.Route(ex.Request.Method, ex.Request.Target, ex.Response(multicast.Primary).Status)
	return shape
}

// failedLeg tells whether a shadow gave no answer that could be compared. One that was cut off because it was endless
// is an answer: its body is longer than the primary's.
func failedLeg(r *multicast.Response) bool {
	return r.Outcome != multicast.OutcomeOK && r.Outcome != multicast.OutcomeOversize
}

func (out *Comparison) unknown(reason multicast.Reason) {
	out.Unknown = reason
	out.Exchange.Unknown = reason
}

// fail is an exchange of which exactly one shadow gave no answer: nothing else is judged, since the other side's noise
// has no control.
func (out *Comparison) fail(leg *multicast.Response, list *[]Difference, limits Limits) {
	text := string(leg.Outcome)
	if leg.Detail != "" {
		text += ": " + leg.Detail
	}
	f := newFound(limits)
	f.add(Difference{
		Field: string(normalize.FieldTransport), Kind: KindFailed,
		Left: excerptOfText(string(multicast.OutcomeOK), limits.Excerpt), Right: excerptOfText(text, limits.Excerpt),
	})
	candidate, control := f, newFound(limits)
	if list == &out.Control {
		candidate, control = control, candidate
	}
	out.judge(candidate, control)
	out.Failed = true
}

// documents compares the answers of all that were asked. Rules go by the route's shape, so that what was learnt of names
// has no part in what is compared.
func (c *Comparer) documents(out *Comparison, shape string) {
	a := answers{comparer: c, exchange: out.Exchange, route: shape}
	defer a.release()
	if !a.read(!out.NoControl) {
		out.unknown(multicast.ReasonMemory)
		return
	}
	primary := a.documents[multicast.Primary]
	candidate, control := newFound(c.limits), newFound(c.limits)
	guard := c.profileGuard()
	candidate.sightings.wanted, control.sightings.wanted = !out.NoControl || guard != nil, true
	candidate.documents(primary, a.documents[multicast.Candidate])
	if out.NoControl {
		out.judge(candidate, control)
		guard.values(out, candidate, control, &a)
		return
	}
	control.documents(primary, a.documents[multicast.Secondary])
	out.judge(candidate, control)
	c.noise.add(shape, candidate, control)
	sizes := a.sizes()
	out.Sizes = &sizes
	out.drift(candidate, control, sizes)
	guard.values(out, candidate, control, &a)
	out.latency()
}

// latency takes the pair's times when both gave a whole answer.
func (out *Comparison) latency() {
	c, s := out.Exchange.Response(multicast.Candidate), out.Exchange.Response(multicast.Secondary)
	if c.Outcome == multicast.OutcomeOK && s.Outcome == multicast.OutcomeOK {
		out.Latency = LatencyPair{Candidate: c.Duration, Secondary: s.Duration}
	}
}
