package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"

	"shadowdiff/diff"
	"shadowdiff/fixtures"
	"shadowdiff/multicast"
	"shadowdiff/normalize"
	"shadowdiff/store"
)

// toyShop is a rig before the toy shop three times over: the same noise in all three, known faults in the candidate. As in the
// whole service its rules can be changed, its runs begun and its samples asked again.
type toyShop struct {
	*rig
	deps    Deps
	changes sync.Mutex // held while rules or runs change
	judging atomic.Pointer[shopRules]
	seed    uint64 // of the next crowd
}

// shopRules is one run of the shop's, under its rules.
type shopRules struct {
	run      int64
	comparer *diff.Comparer
	normal   normalize.Config
	compiled *normalize.Normalizer
	stored   []store.Rule // those that normal holds
	compared atomic.Int64
}

// openShop starts a shop that nobody has visited.
func openShop(t *testing.T, change func(*Config)) *toyShop {
	t.Helper()
	s := &toyShop{rig: &rig{t: t, metrics: NewMetrics()}, seed: 1}
	s.cfg = multicast.DefaultConfig()
	s.cfg.Primary, s.cfg.Secondary, s.cfg.Candidate = instance(t, "primary", nil), instance(t, "secondary", nil), instance(t, "candidate", fixtures.Faults())
	s.openStore()
	cfg := DefaultConfig()
	if change != nil {
		change(&cfg)
	}
	s.front = httptest.NewServer(s.proxy)
	t.Cleanup(s.front.Close)
	s.instance.Store(&Instance{
		Targets: Targets{Listen: s.front.URL, Primary: s.cfg.Primary, Secondary: s.cfg.Secondary, Candidate: s.cfg.Candidate},
		Phase:   PhaseServing, Loaded: time.Now(),
	})
	s.deps = Deps{
		Log: quiet(), DB: s.db, Proxy: s.proxy, Version: "test", Metrics: s.metrics, Instance: s.now, Judge: diff.DefaultConfig,
		Reload:      func(context.Context, string) Reload { return Reload{Good: true, Time: time.Now()} },
		Suggestions: func() []diff.Suggestion { return s.judging.Load().comparer.Suggestions() },
		Comparing:   func() normalize.Config { return s.judging.Load().normal },
		Rules:       s.listed,
		Rulebook:    &Rulebook{Change: s.change, Try: s.try},
		Comparer:    func() (*diff.Comparer, error) { return beside(s.judging.Load().normal) },
		BeginRun:    s.beginRun,
	}
	s.server, s.admin = s.serve(cfg)
	jar, _ := cookiejar.New(nil)
	s.client = &http.Client{Jar: jar, Timeout: browserStep}
	return s
}

// instance is one of the three shops. Besides what it sells it has a till, at which the candidate asks too much of those
// who pay in euros.
func instance(t *testing.T, role string, faults []fixtures.Fault) string {
	t.Helper()
	name, err := fixtures.InstanceName(role)
	if err != nil {
		t.Fatal(err)
	}
	sells := fixtures.NewUpstream(name, faults)
	var receipts atomic.Int64
	till := func(w http.ResponseWriter, r *http.Request) {
		total := "19.90"
		if role == "candidate" && r.URL.Query().Get("currency") == "EUR" {
			total = "20.90"
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"total":%s,"items":[{"id":"a1","quantity":2}],"receipt":"%s-%06d"}`, total, name, receipts.Add(1))
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/checkout" {
			till(w, r)
			return
		}
		sells.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// openStore starts the proxy and the store, with a run in force.
func (s *toyShop) openStore() {
	s.t.Helper()
	deliver := func(ex *multicast.Exchange) {
		j := s.judging.Load()
		s.db.Record(j.run, j.comparer.Compare(ex))
		j.compared.Add(1)
	}
	var err error
	s.proxy, err = multicast.New(s.cfg, multicast.Deps{
		Log: quiet(), Deliver: func() multicast.Deliver { return deliver }, Observe: s.metrics.Observe, ObserveShadow: s.metrics.ObserveShadow,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	storing := store.DefaultConfig()
	storing.Path = filepath.Join(s.t.TempDir(), "shop.db")
	s.db, err = store.Open(storing, store.Deps{Log: quiet(), Judge: diff.DefaultConfig(), Counters: s.proxy.Counts, Names: new(normalize.Names)})
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.enter(store.Beginning{Name: "v2.3.1", By: "start"}, normalize.DefaultConfig()); err != nil {
		s.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := s.proxy.Run(ctx); err != nil {
			s.t.Errorf("proxy: %v", err)
		}
	})
	s.t.Cleanup(func() {
		stop()
		running.Wait()
		if err := s.db.Close(); err != nil {
			s.t.Errorf("close the store: %v", err)
		}
	})
}

// serve starts a server with pages of its own over the same data.
func (s *toyShop) serve(cfg Config) (*Server, *httptest.Server) {
	s.t.Helper()
	deps := s.deps
	if s.server != nil {
		deps.Metrics = NewMetrics() // which are of one server
	}
	server := New(cfg, deps)
	admin := httptest.NewUnstartedServer(nil)
	admin.Config = server.HTTP()
	admin.Start()
	s.t.Cleanup(admin.Close)
	return server, admin
}

// enter puts a run under these rules in force.
func (s *toyShop) enter(b store.Beginning, normal normalize.Config, stored ...store.Rule) error {
	compiled, err := normalize.New(normal)
	if err != nil {
		return err
	}
	b.Fingerprint = store.Fingerprint{Candidate: s.cfg.Candidate, Rules: compiled.Fingerprint()}
	for _, rule := range stored {
		b.RuleText += rule.Text
	}
	run, _, err := s.db.BeginRun(context.Background(), b)
	if err != nil {
		return err
	}
	comparer := diff.NewComparer(compiled, new(normalize.Names), diff.DefaultLimits())
	comparer.Profile(s.db.Redactor)
	s.judging.Store(&shopRules{run: run.ID, comparer: comparer, normal: normal, compiled: compiled, stored: stored})
	return nil
}

// beginRun begins one because somebody asks for it.
func (s *toyShop) beginRun(ctx context.Context, b RunBeginning) (store.Run, error) {
	s.changes.Lock()
	defer s.changes.Unlock()
	if b.Name == "" {
		b.Name = s.db.Snapshot().Run.Name
	}
	j := s.judging.Load()
	err := s.enter(store.Beginning{New: true, Name: b.Name, Version: b.Version, Notes: b.Notes, By: b.Actor}, j.normal, j.stored...)
	if err != nil {
		return store.Run{}, err
	}
	run := s.db.Snapshot().Run
	return run, s.db.LogActivity(ctx, b.Actor, "run", "in force: "+run.Name)
}

// beside compares under these rules, and counts nowhere.
func beside(normal normalize.Config) (*diff.Comparer, error) {
	compiled, err := normalize.New(normal)
	return diff.NewComparer(compiled, new(normalize.Names), diff.DefaultLimits()), err
}

// listed are the rules in force.
func (s *toyShop) listed() (list []Rule) {
	j := s.judging.Load()
	for _, usage := range j.compiled.Usage() {
		list = append(list, Rule{Config: j.normal.Rules[usage.Index], Usage: usage, Exchanges: j.compared.Load(), Stored: &j.stored[usage.Index]})
	}
	return list
}

// plan is what a change of the rules comes to.
func (s *toyShop) plan(c RuleChange) (normal normalize.Config, change store.RuleChange, stored []store.Rule, err error) {
	normal = s.judging.Load().normal
	stored, next := s.db.Rules()
	for _, id := range c.Remove {
		n, err := strconv.ParseInt(id, 10, 64)
		if err != nil || !slices.ContainsFunc(stored, func(r store.Rule) bool { return r.ID == n }) {
			return normal, change, nil, &RulesRefused{Reason: "there is no rule " + id, Missing: true}
		}
		change.Remove = append(change.Remove, n)
	}
	var added []normalize.RuleConfig
	if strings.TrimSpace(c.Add) != "" {
		if err := yaml.Unmarshal([]byte(c.Add), &added); err != nil {
			var one normalize.RuleConfig
			if err := yaml.Unmarshal([]byte(c.Add), &one); err != nil {
				return normal, change, nil, &RulesRefused{Reason: err.Error(), Faults: []Fault{{File: "body", Line: 1, Column: 1, Message: err.Error()}}}
			}
			added = []normalize.RuleConfig{one}
		}
	}
	for i, rule := range added {
		text, err := rule.YAML()
		if err != nil {
			return normal, change, nil, err
		}
		change.Add = append(change.Add, store.Rule{ID: next + int64(i), Text: text, Created: time.Now().UTC(), Actor: c.Actor})
	}
	stored = append(slices.DeleteFunc(stored, func(r store.Rule) bool { return slices.Contains(change.Remove, r.ID) }), change.Add...)
	normal.Rules = nil
	for _, rule := range stored {
		var list []normalize.RuleConfig
		if err := yaml.Unmarshal([]byte(rule.Text), &list); err != nil {
			return normal, change, nil, err
		}
		normal.Rules = append(normal.Rules, list...)
	}
	if faults := normal.Validate(); len(faults) > 0 {
		refused := &RulesRefused{Reason: errors.Join(faults...).Error()}
		for _, fault := range faults {
			refused.Faults = append(refused.Faults, Fault{File: "body", Line: 1, Column: 1, Message: fault.Error()})
		}
		return normal, change, nil, refused
	}
	return normal, change, stored, nil
}

// change puts other rules in force.
func (s *toyShop) change(ctx context.Context, c RuleChange) (done RuleChanged, err error) {
	s.changes.Lock()
	defer s.changes.Unlock()
	normal, change, stored, err := s.plan(c)
	if err != nil {
		return done, err
	}
	before, listed := s.db.Snapshot().Run.ID, s.listed()
	if err := s.enter(store.Beginning{By: c.Actor, Rules: &change, Name: s.db.Snapshot().Run.Name}, normal, stored...); err != nil {
		return done, err
	}
	done.Run = s.db.Snapshot().Run
	done.Begun = done.Run.ID != before
	for _, rule := range append(listed, s.listed()...) {
		if slices.Contains(change.Remove, rule.Stored.ID) || slices.ContainsFunc(change.Add, func(r store.Rule) bool { return r.ID == rule.Stored.ID }) {
			done.Rules = append(done.Rules, rule)
		}
	}
	return done, s.db.LogActivity(ctx, c.Actor, "rules", fmt.Sprintf("added %d, removed %d", len(change.Add), len(change.Remove)))
}

// try readies the rules in force and those of a change.
func (s *toyShop) try(c RuleChange) (*RuleTrial, error) {
	normal, change, _, err := s.plan(c)
	if err != nil {
		return nil, err
	}
	before, err := beside(s.judging.Load().normal)
	if err != nil {
		return nil, err
	}
	compiled, err := normalize.New(normal)
	if err != nil {
		return nil, err
	}
	return &RuleTrial{
		Before: before, After: diff.NewComparer(compiled, new(normalize.Names), diff.DefaultLimits()),
		Added: func() (list []Rule) {
			for _, usage := range compiled.Usage()[len(normal.Rules)-len(change.Add):] {
				list = append(list, Rule{Config: normal.Rules[usage.Index], Usage: usage})
			}
			return list
		},
	}, nil
}

// crowd has so many requests sent by the shop's clients, and waits until all are compared and stored.
func (s *toyShop) crowd(requests int64) {
	s.t.Helper()
	server, _ := fixtures.InstanceName("primary")
	crowd := fixtures.Traffic{URL: s.front.URL, Clients: 8, Rate: 4000, Requests: requests, Seed: s.seed, Server: server}
	s.seed++
	if err := crowd.Run(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	if c := crowd.Counts(); !c.Good() {
		s.t.Fatalf("clients were not all served from the primary: %v %s", c, c.LastErr)
	}
	s.settle()
}

// pay has so many clients come to the till, in turn with one of four currencies.
func (s *toyShop) pay(clients int) {
	s.t.Helper()
	for i := range clients {
		query := url.Values{"currency": {[]string{"CHF", "DKK", "EUR", "GBP"}[i%4]}, "cart": {fmt.Sprint(1000 + i)}}
		req, err := http.NewRequest(http.MethodGet, s.front.URL+"/checkout?"+query.Encode(), nil)
		if err != nil {
			s.t.Fatal(err)
		}
		req.Header.Set("X-Tenant", []string{"north", "south"}[i%2])
		req.Header.Set("Accept", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			s.t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	s.settle()
}

// settle waits until every exchange has been delivered, and has it stored.
func (s *toyShop) settle() {
	s.t.Helper()
	ctx, stop := context.WithTimeout(s.t.Context(), browserStep)
	defer stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		c := s.proxy.Counts()
		done := c.Compared
		for _, n := range c.Unknown {
			done += n
		}
		if c.Open == 0 && c.Queue == 0 && done == c.Exchanged {
			break
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			s.t.Fatalf("not all was compared: %+v", c)
		}
	}
	s.flush()
}

// flush has all that was compared stored, so that open pages are told.
func (s *toyShop) flush() {
	s.t.Helper()
	for was := uint64(0); was != s.db.Snapshot().Version; { // one flush packs no more samples than it has time for
		was = s.db.Snapshot().Version
		if err := s.db.Flush(context.Background()); err != nil {
			s.t.Fatal(err)
		}
	}
}

// as has the shop's failures told to another test than that which opened it, until it ends.
func (s *toyShop) as(t *testing.T) {
	t.Helper()
	opener := s.t
	s.t = t
	t.Cleanup(func() { s.t = opener })
}
