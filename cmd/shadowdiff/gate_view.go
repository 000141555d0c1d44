package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"shadowdiff/diff"
	"shadowdiff/store"
	"shadowdiff/web"
)

// state is what the services said in one look.
type state struct {
	services []proxied
	verdict  *diff.Verdict   // of the run, or of the route that was asked for
	routes   []*diff.Verdict // of all routes; nil where they were not read
	alpha    float64         // of the configuration
	pace     float64         // requests compared in a second, of late; 0: not known
}

// proxied is one service and its run.
type proxied struct {
	url      string
	run      store.Run
	compared int64
	drops    drops // read at the end
}

// ended says whether no more will come: every service's run is over.
func (s *state) ended() bool {
	return !slices.ContainsFunc(s.services, func(p proxied) bool { return p.run.Ended == nil })
}

// run names the run for a person: "run v2.3.1", or "run 3" where that is its name.
func (s *state) run() string {
	var names []string
	for _, p := range s.services {
		if !slices.Contains(names, p.run.Name) {
			names = append(names, p.run.Name)
		}
	}
	return runWord(strings.Join(names, " + "))
}

func runWord(name string) string {
	if strings.HasPrefix(name, "run ") {
		return name
	}
	return "run " + name
}

// view looks at the services.
type view struct {
	gate     *gate
	answered bool          // some service has, once
	took     time.Duration // the last look
	first    time.Time     // of the first look that had a verdict, and what was compared by then
	counted  int64
}

func newView(g *gate) *view { return &view{gate: g} }

// look asks every service once.
func (v *view) look(ctx context.Context) (s *state, err error) {
	began := time.Now()
	defer func() { v.took = time.Since(began) }()
	if len(v.gate.urls) == 1 {
		s, err = v.one(ctx)
	} else {
		s, err = v.several(ctx)
	}
	if err != nil {
		return nil, err
	}
	v.answered = true
	v.measure(s, began)
	return s, nil
}

// measure tells how fast requests are compared, from the first look on.
func (v *view) measure(s *state, now time.Time) {
	n := s.verdict.Compared
	if v.first.IsZero() || n < v.counted {
		v.first, v.counted = now, n
	}
	if d := now.Sub(v.first).Seconds(); d >= 1 {
		s.pace = float64(n-v.counted) / d
	}
}

// pause is the time to the next look. It is drawn, so that many gates do not ask at one moment, and grows with what a look
// costs.
func (v *view) pause(every time.Duration) time.Duration {
	every = max(every, 10*v.took)
	return every - every/10 + rand.N(every/5+1)
}

// one reads the verdict of the one service, which is what its pages show.
func (v *view) one(ctx context.Context) (*state, error) {
	c, base := v.gate.client, v.gate.urls[0]
	whole, err := c.equivalence(ctx, base, v.gate.run, "")
	if err != nil {
		return nil, v.absent(ctx, base, err)
	}
	s := &state{services: []proxied{{url: base, run: whole.Run, compared: whole.Compared}}, verdict: &whole.Verdict, alpha: whole.Alpha}
	if v.gate.route == "" {
		return s, nil
	}
	route, err := c.equivalence(ctx, base, fmt.Sprint(whole.Run.ID), v.gate.route)
	_, none := errors.AsType[nothingHere](err)
	switch {
	case none:
		s.verdict = unseen(v.gate.route, &whole.Verdict)
	case err != nil:
		return nil, err
	default:
		s.verdict = &route.Verdict
	}
	return s, nil
}

// unseen is the verdict on a route of which no request was compared.
func unseen(route string, whole *diff.Verdict) *diff.Verdict {
	return &diff.Verdict{
		Route: &route, Word: diff.Undecided, Reasons: []string{"no request of this route has been compared yet"},
		Alpha: whole.Alpha, Budget: whole.Budget, Equivalence: 1, EquivBounds: [2]float64{0, 1}, ExcessBounds: [2]float64{-1, 1},
		NotJudged: []diff.NotJudged{}, Differences: []diff.Finding{},
	}
}

// absent tells a run that is not there yet from a service that is none: of the latter no run can be read at all.
func (v *view) absent(ctx context.Context, base string, err error) error {
	if _, none := errors.AsType[nothingHere](err); !none {
		return err
	} else if v.gate.run == "" {
		return final{err}
	}
	now, other := v.gate.client.equivalence(ctx, base, "", "")
	if _, none := errors.AsType[nothingHere](other); none {
		return final{other}
	} else if other != nil {
		return other
	}
	v.answered = true
	return fmt.Errorf("%s has %w: %q; the one in force is %q", base, errNoRun, v.gate.run, now.Run.Name)
}

// several adds up what the services have counted, and judges that.
func (v *view) several(ctx context.Context) (*state, error) {
	s := &state{}
	var exports []*web.Export
	var tallies []*diff.Tallies
	for _, base := range v.gate.urls {
		e, err := v.gate.client.tallies(ctx, base, v.gate.run)
		if err != nil {
			return nil, v.absent(ctx, base, err)
		}
		exports, tallies = append(exports, e), append(tallies, e.Tallies)
		s.services = append(s.services, proxied{url: base, run: e.Run, compared: e.Tallies.Total.Compared})
	}
	if err := addable(v.gate.urls, exports); err != nil {
		return nil, final{err}
	}
	if err := oneName(s.services); err != nil {
		return nil, final{err}
	}
	cfg := diff.Config(exports[0].Judging)
	cfg.Name = exports[0].Run.Name
	for _, e := range exports {
		cfg.Attempt = max(cfg.Attempt, e.Run.Attempt)
	}
	whole, _ := diff.NewWatch(cfg).Judge(diff.Add(tallies...)) // not each interval that decides nothing
	s.verdict, s.routes, s.alpha = scoped(whole, v.gate.route), whole.Routes, cfg.Alpha
	if s.verdict.Word == diff.Equivalent {
		v.heed(s, tallies, cfg)
	}
	return s, nil
}

// scoped is the verdict of the whole run, or of one of its routes.
func scoped(whole *diff.Verdict, route string) *diff.Verdict {
	if route == "" {
		return whole
	}
	for _, r := range whole.Routes {
		if r.Route != nil && *r.Route == route {
			return r
		}
	}
	return unseen(route, whole)
}

// heed takes "equivalent" back where one of the proxies is different by itself. What that has confirmed may be noise, since
// each proxy has a chance of α for itself; but the sum is not to be more hopeful than what anybody can see on a page.
func (v *view) heed(s *state, tallies []*diff.Tallies, cfg diff.Config) {
	for i, t := range tallies {
		own, _ := diff.NewWatch(cfg).Judge(t)
		if own = scoped(own, v.gate.route); own.Word != diff.Different {
			continue
		}
		taken := *s.verdict
		taken.Word, taken.Reasons = diff.Undecided, []string{fmt.Sprintf(
			"together they would be equivalent, but %s is different by itself: %s", v.gate.urls[i], firstReason(own))}
		s.verdict = &taken
		return
	}
}

// addable says what keeps the counts of several services from being added up.
func addable(urls []string, exports []*web.Export) error {
	var faults []string
	for i, e := range exports[1:] {
		if differ := differing(exports[0], e); len(differ) > 0 {
			faults = append(faults, fmt.Sprintf("%s and %s: %s", urls[0], urls[1+i], strings.Join(differ, ", ")))
		}
	}
	if len(faults) > 0 {
		return fmt.Errorf("these do not measure the same, so that their counts cannot be added up: %s", strings.Join(faults, "; "))
	}
	return nil
}

// differing lists what two services' runs differ in, with both values.
func differing(a, b *web.Export) (list []string) {
	if a.Run.ID == b.Run.ID && a.Run.Started.Equal(b.Run.Started) {
		return []string{"they are the same service under two addresses, whose counts would count twice"}
	}
	say := func(what, one, other string) {
		if one != other {
			list = append(list, fmt.Sprintf("%s is %s and %s", what, cmp.Or(one, "none"), cmp.Or(other, "none")))
		}
	}
	one, other := judgingKeys(a.Judging), judgingKeys(b.Judging)
	for _, key := range slices.Sorted(maps.Keys(one)) {
		say("verdict."+key, one[key], other[key])
	}
	say("candidate", a.Run.Candidate, b.Run.Candidate)
	say("the candidate's version", a.Run.Version, b.Run.Version)
	if a.Rules != "" && b.Rules != "" {
		say("the digest of the rules", a.Rules, b.Rules)
	}
	return list
}

// oneName refuses runs of different names: one of the proxies may be at another release. Those that have the name of their
// number have none.
func oneName(services []proxied) error {
	first := services[0]
	for _, p := range services[1:] {
		one, other := first.run.Name, p.run.Name
		if one == other || unnamed(first.run) && unnamed(p.run) {
			continue
		}
		return fmt.Errorf("the runs have different names: %q at %s and %q at %s; give the one that is meant with -run, or begin it on both",
			one, first.url, other, p.url)
	}
	return nil
}

func unnamed(run store.Run) bool { return run.Name == fmt.Sprintf("run %d", run.ID) }

// judgingKeys are the `verdict:` keys with their values as text.
func judgingKeys(j web.Judging) map[string]string {
	text, _ := json.Marshal(j) // it was read from JSON
	var values map[string]any
	_ = json.Unmarshal(text, &values)
	keys := map[string]string{}
	for key, value := range values {
		keys[key] = fmt.Sprint(value)
	}
	return keys
}
