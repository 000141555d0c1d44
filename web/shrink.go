package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"shadowdiff/diff"
	"shadowdiff/multicast"
	"shadowdiff/store"
)

const (
	shrinkAsks  = 200                   // most that are asked to make one sample smaller
	shrinkTime  = 60 * time.Second      // and most that it takes
	shrinkPace  = 50 * time.Millisecond // from one to the next at least: 20 a second
	shrinkTwice = 2                     // a part is left out when so many answers running have shown the difference
	shrinkAtEnd = 3                     // and so many are looked at in the end
	shrinkTries = 3                     // of an ask that nothing could be compared of
)

// shrunk is POST /api/v1/samples/{id}/shrink: the smallest request that was found to show a difference.
type shrunk struct {
	Sample      int64             `json:"sample"`
	Page        string            `json:"page"`
	Field       string            `json:"field"`
	Kind        string            `json:"kind"`
	Request     requestAnswer     `json:"request"` // as it was sent, but for the headers that the caller has added
	Curl        string            `json:"curl"`    // asks the candidate this
	Kept        []string          `json:"kept"`    // parts of the request that the difference needs, or that were not tried
	Dropped     []string          `json:"dropped"` // parts that it does not need
	Minimal     bool              `json:"minimal"` // without any other single part the difference did not show
	Stopped     string            `json:"stopped"` // why it ended before; empty where it is minimal
	Asks        int               `json:"asks"`
	Duration    float64           `json:"duration"`    // seconds
	Shown       int               `json:"shown"`       // of the asks of the smallest request in the end, how many have shown it
	Asked       int               `json:"asked"`       // how many these were
	Differences []diff.Difference `json:"differences"` // at the field, primary against candidate, when it showed last
	Redacted    []string          `json:"redacted"`    // places of the request that were asked as redacted

	request multicast.Request // as Request has it
}

// postShrink answers POST /api/v1/samples/{id}/shrink. Nothing is counted and nothing kept.
func (s *Server) postShrink(w http.ResponseWriter, r *http.Request) error {
	sample, keys, err := s.readAsk(w, r, `{"field": "body.price"}`, "field", "kind", "headers", "unsafe")
	if err != nil {
		return err
	}
	a, err := s.shrink(w, r, sample, keys)
	if err != nil {
		return err
	}
	return writeJSON(w, a)
}

// shrink looks for the smallest request that shows a difference of a sample.
func (s *Server) shrink(w http.ResponseWriter, r *http.Request, sample *store.Sample, keys map[string]json.RawMessage) (*shrunk, error) {
	k, err := s.shrinkOf(sample, keys)
	if err != nil {
		return nil, err
	}
	if !enter(&s.shrinking, 1) {
		w.Header().Set("Retry-After", "10")
		return nil, refuse(http.StatusTooManyRequests, "another sample is being made smaller, and they go one at a time; try again when it is done")
	}
	defer s.shrinking.Add(-1)
	sent := unhurried(w)
	a, err := k.run(r.Context())
	s.deps.Log.Info("sample made smaller", "sample", sample.ID, "field", k.field, "asks", k.asks, "duration", time.Since(k.began).String())
	if err != nil {
		return nil, asNotAsked(err)
	}
	sent()
	return a, nil
}

var (
	errShrinkTime = errors.New("the time was over")
	errShrinkAsks = errors.New("so many were asked as may be")
)

// shrinking makes the request of one sample smaller.
type shrinking struct {
	*question
	field, kind string

	began time.Time
	last  time.Time // when it was asked last
	asks  int
	most  int
}

// shrinkOf reads what is to be shown.
func (s *Server) shrinkOf(sample *store.Sample, keys map[string]json.RawMessage) (*shrinking, error) {
	k := &shrinking{began: time.Now(), most: shrinkAsks - shrinkAtEnd}
	for key, into := range map[string]*string{"field": &k.field, "kind": &k.kind} {
		if err := readText(keys, key, into); err != nil {
			return nil, err
		}
	}
	unsafe := false
	if text, given := keys["unsafe"]; given && json.Unmarshal(text, &unsafe) != nil {
		return nil, refuse(http.StatusBadRequest, "unsafe: give true or false")
	}
	if err := k.aim(sample); err != nil {
		return nil, err
	}
	method := sample.Request.Method
	if !harmless(method) && !unsafe {
		return nil, refuse(http.StatusConflict,
			`what is left out of a %s may be what keeps it free of side effects, such as "dry_run"; if none can do harm, say {"unsafe": true}`, method)
	}
	var err error
	k.question, err = s.questionOf(sample, keys["headers"])
	return k, err
}

// aim finds the difference that is meant.
func (k *shrinking) aim(sample *store.Sample) error {
	var fields, kinds []string
	for _, d := range sample.Candidate {
		if !slices.Contains(fields, d.Field) {
			fields = append(fields, d.Field)
		}
		if kind := string(d.Kind); d.Field == k.field && !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	alone := !slices.ContainsFunc(sample.Control, func(d diff.Difference) bool { return d.Field == k.field })
	switch {
	case len(fields) == 0:
		return refuse(http.StatusConflict, "in sample %d the candidate does not differ, so there is nothing to look for", sample.ID)
	case k.field == "":
		return refuse(http.StatusBadRequest, `field: say which difference is to stay, as {"field": %q}; the candidate differs at %s`, fields[0], listed(fields, 20))
	case len(kinds) == 0:
		return refuse(http.StatusConflict, "in sample %d the candidate does not differ at %q; it does at %s", sample.ID, k.field, listed(fields, 20))
	case k.kind == "":
		k.kind = kinds[0]
	case !slices.Contains(kinds, k.kind):
		return refuse(http.StatusConflict, "in sample %d the difference at %q is of kind %s, not %q", sample.ID, k.field, listed(kinds, 20), k.kind)
	}
	if !alone {
		return refuse(http.StatusConflict, "in sample %d the control differs at %q as well: what noise does by itself has no smallest request", sample.ID, k.field)
	}
	return nil
}

// run looks for the smallest request, and says what it has found when it ends early.
func (k *shrinking) run(caller context.Context) (*shrunk, error) {
	ctx, cancel := context.WithTimeoutCause(caller, shrinkTime, errShrinkTime)
	defer cancel()
	if err := k.showsNow(ctx); err != nil {
		return nil, err
	}
	s := newSearch(newAnatomy(&k.request), nil)
	s.shows = func(out []bool) (bool, error) { return k.shows(ctx, s.without(out)) }
	a := &shrunk{Sample: k.of.ID, Page: k.server.prefix + samplePath(k.of.ID), Field: k.field, Kind: k.kind, Differences: []diff.Difference{}}
	err := s.run()
	switch no, is := errors.AsType[*multicast.NotAsked](err); {
	case err == nil:
		a.Minimal = true
	case errors.Is(err, errShrinkTime), errors.Is(err, errShrinkAsks):
		a.Stopped = err.Error()
	case is:
		a.Stopped = no.Detail
	default:
		return nil, err
	}
	least := s.without(s.out)
	k.confirm(caller, least, a)
	a.Kept, a.Dropped = s.names(false), s.names(true)
	a.Asks, a.Duration = k.asks, time.Since(k.began).Seconds()
	a.Redacted = redactedPlaces(least)
	k.show(least, a)
	return a, nil
}

// showsNow sees whether the difference shows at all, before anything is left out.
func (k *shrinking) showsNow(ctx context.Context) error {
	for i := range shrinkTwice {
		seen, err := k.once(ctx, &k.request, false)
		switch {
		case errors.Is(err, errShrinkTime):
			return refuse(http.StatusConflict, "the upstreams are too slow: within %s it was not seen whether the difference still shows", shrinkTime)
		case err != nil:
			return err
		case seen.comparison.Unknown != "":
			return refuse(http.StatusConflict, "nothing could be compared when sample %d was asked again (%s); POST .../ask shows the answers",
				k.of.ID, seen.comparison.Unknown)
		case !k.shown(seen.comparison):
			return refuse(http.StatusConflict,
				"the difference at %q does not show any more: asked again as it was kept, %s (in answer %d); POST .../ask shows the answers%s",
				k.field, k.found(seen.comparison), 1+i, k.withheld())
		}
	}
	return nil
}

// found says what was seen instead.
func (k *shrinking) found(c *diff.Comparison) string {
	for i := range c.Fields {
		switch f := &c.Fields[i]; {
		case f.Field != k.field:
		case f.Control > 0:
			return "the control differs as well"
		case f.Candidate > 0:
			return "the candidate differs in another kind than " + k.kind
		}
	}
	if c.Raw {
		return "the candidate differs only elsewhere"
	}
	return "the candidate does not differ"
}

// withheld reminds of what was taken out of the request.
func (k *shrinking) withheld() string {
	if places := redactedPlaces(&k.request); len(places) > 0 {
		return ". It was asked without what was redacted at " + listed(places, 10) + `; give such headers, as {"headers": {"Authorization": "Bearer ..."}}`
	}
	return ""
}

// shows tells whether a request shows the difference in as many answers running as it takes.
func (k *shrinking) shows(ctx context.Context, req *multicast.Request) (bool, error) {
	for range shrinkTwice {
		seen, err := k.once(ctx, req, false)
		if err != nil || !k.shown(seen.comparison) {
			return false, err
		}
	}
	return true, nil
}

// confirm looks at the smallest request again: a difference that comes and goes may have come by chance. It has time of
// its own.
func (k *shrinking) confirm(ctx context.Context, req *multicast.Request, a *shrunk) {
	ctx, cancel := context.WithTimeout(ctx, shrinkTime/4)
	defer cancel()
	k.most = shrinkAsks
	for range shrinkAtEnd {
		seen, err := k.once(ctx, req, true)
		if err != nil {
			return
		}
		a.Asked++
		if !k.shown(seen.comparison) {
			continue
		}
		a.Shown++
		a.Differences = slices.DeleteFunc(seen.sample.Candidate, func(d diff.Difference) bool { return d.Field != k.field })
	}
}

// shown tells whether the candidate differs at the field, in the same kind, and the control does not.
func (k *shrinking) shown(c *diff.Comparison) bool {
	if c.Unknown != "" {
		return false
	}
	i := slices.IndexFunc(c.Fields, func(f diff.FieldComparison) bool { return f.Field == k.field })
	if i < 0 || c.Fields[i].Control > 0 || c.Fields[i].Candidate == 0 {
		return false
	}
	return c.Cut || slices.ContainsFunc(c.Candidate, func(d diff.Difference) bool { return d.Field == k.field && string(d.Kind) == k.kind })
}

// once asks once, not too soon after the last time, and again where nothing could be compared.
func (k *shrinking) once(ctx context.Context, req *multicast.Request, show bool) (seen *sight, err error) {
	for range shrinkTries {
		if k.asks >= k.most {
			return nil, errShrinkAsks
		}
		select {
		case <-time.After(time.Until(k.last.Add(shrinkPace))):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		k.asks++
		k.last = time.Now()
		if seen, err = k.ask(ctx, req, show); err != nil {
			if ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			return nil, err
		}
		if seen.comparison.Unknown == "" {
			break
		}
	}
	return seen, nil
}

// show writes down the request that was found.
func (k *shrinking) show(req *multicast.Request, a *shrunk) {
	least := *req
	least.Header = req.Header.Clone()
	k.hide(least.Header)
	a.request = least
	a.Request = requestAnswer{
		Method: least.Method, Target: least.Target, Host: least.Host, Header: headerOf(least.Header), Trailer: least.Trailer,
		CaseBody: diff.NewCaseBody(least.Body),
	}
	base := k.server.address(multicast.Candidate)
	if base == "" {
		return
	}
	text := curlOf(&store.Sample{ID: k.of.ID, Request: least}, multicast.Candidate, base)
	_, command, _ := bytes.Cut(text, []byte("\n")) // its first line tells of the whole request
	a.Curl = fmt.Sprintf("# Sample %d made smaller: what shows the difference at %s.\n", k.of.ID, strings.Map(printed, k.field)) + string(command)
}

// printed keeps what would end a comment out of it.
func printed(r rune) rune {
	if r < ' ' || r == 0x7f {
		return ' '
	}
	return r
}
