package main

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"shadowdiff/multicast"
	"shadowdiff/normalize"
	"shadowdiff/store"
)

// docket is where the exchanges of one configuration go: each into one run, that which was in force when its request
// arrived, or that of the version which its candidate tells. It outlives a reload that changes neither the candidate's
// address nor the rules nor version_header.
type docket struct {
	log      *slog.Logger
	db       *store.DB
	names    *normalize.Names
	normal   normalize.Config // as it was compiled
	rules    *normalize.Normalizer
	stored   []store.Rule // the last ones of normal's rules, which were added by API
	aside    []asideRule
	ruleText string
	print    store.Fingerprint
	header   string                   // in which the candidate tells its version; empty: it is not looked for
	now      *atomic.Pointer[judging] // in force, of the whole process
	tell     func(store.Run, string)  // notes that a run has begun, and by whom
	versions *versionLimit

	matches     lastMatches
	compared    atomic.Int64
	complaining sync.Mutex      // guards warned
	warned      map[[2]int]bool // rules that were complained of, by index and by what for

	mu      sync.Mutex // guards what follows, and is held while a run begins
	closed  bool       // another docket has taken its place: no run begins here any more
	spells  []spell    // the runs in force lately, the last one now
	known   []*judging // of versions, the last one told last
	earlier turn

	complained time.Time // when the log was last told of what may go wrong with every exchange
}

// spell is since when a run is in force.
type spell struct {
	since time.Time
	*judging
}

const (
	keptSpells = 64 // an exchange that is older than all of them is of the oldest
	keptKnown  = 16
)

// putInForce has the exchanges of requests that arrive from now on count in a run. The caller holds mu.
func (d *docket) putInForce(j *judging) {
	d.spells = append(d.spells, spell{time.Now(), j})
	if n := len(d.spells); n > keptSpells {
		d.spells = slices.Delete(d.spells, 0, n-keptSpells)
	}
	d.earlier = turn{}
	d.remember(j)
	d.now.Store(j)
}

// remember keeps the judging of a version at hand. The caller holds mu.
func (d *docket) remember(j *judging) {
	d.known = slices.DeleteFunc(d.known, func(k *judging) bool { return k.run.ID == j.run.ID })
	d.known = append(d.known, j)
	if n := len(d.known); n > keptKnown {
		d.known = slices.Delete(d.known, 0, n-keptKnown)
	}
}

// at is the run that was in force at a moment. The caller holds mu.
func (d *docket) at(t time.Time) *judging {
	for _, s := range slices.Backward(d.spells) {
		if !s.since.After(t) {
			return s.judging
		}
	}
	return d.spells[0].judging
}

// latest is the run in force. The caller holds mu.
func (d *docket) latest() *judging { return d.spells[len(d.spells)-1].judging }

// assign finds the run of an exchange. Where it tells a version that was not seen before, a run begins; the disk may take
// its time for that, which holds up the comparing of other exchanges and nothing else.
func (d *docket) assign(ex *multicast.Exchange) *judging {
	version, answered := d.version(ex)
	d.mu.Lock()
	defer d.mu.Unlock()
	j := d.at(ex.Time)
	if d.header != "" && answered {
		j = d.ofVersion(j, version)
	}
	if j == d.now.Load() {
		return j
	}
	err := d.db.KeepRun(context.Background(), j.run.ID) // it may be over for long
	switch {
	case errors.Is(err, store.ErrManyRuns):
		d.versions.refuse(d, tooManyAtOnce)
		return d.latest()
	case err != nil:
		d.complainOf("an exchange cannot be counted: its run is over", "run", j.run.ID, "err", err)
	}
	return j
}

// complainOf logs what may go wrong with every exchange, once a minute. The caller holds mu.
func (d *docket) complainOf(message string, args ...any) {
	if time.Since(d.complained) > time.Minute {
		d.complained = time.Now()
		d.log.Error(message, args...)
	}
}

// begin makes the run of this docket the one in force: that which is, or a new one.
func (d *docket) begin(ctx context.Context, b store.Beginning) (*judging, error) {
	b.Fingerprint, b.RuleText = d.print, d.ruleText
	run, begun, err := d.db.BeginRun(ctx, b)
	if err != nil {
		return nil, err
	}
	if n := len(d.spells); n > 0 && d.latest().run.ID == run.ID {
		return d.latest(), nil
	}
	j := d.judgingOf(run, !begun && d.db.Snapshot().Tallies.Total.Compared > 0)
	d.putInForce(j)
	if begun {
		d.tell(run, b.By)
	}
	return j, nil
}

// newDocket is that of a configuration: the one before where it would be the same, so that what is known of rules and of
// noise outlives a reload.
func (s *service) newDocket(cfg config, rules *ruleSet, before *docket) (*docket, error) {
	print, header := store.Fingerprint{Candidate: cfg.Candidate, Rules: cfg.kept(rules.compiled.Fingerprint())}, cfg.versionHeader()
	if before != nil && before.print == print && before.header == header && reflect.DeepEqual(before.normal, rules.normal) &&
		slices.Equal(before.stored, rules.stored) && slices.Equal(before.aside, rules.aside) {
		return before, nil
	}
	text, err := ruleText(rules.normal.Rules)
	if err != nil {
		return nil, err
	}
	return &docket{
		log: s.log, db: s.db, names: s.names, normal: rules.normal, rules: rules.compiled,
		stored: rules.stored, aside: rules.aside, ruleText: text, print: print, header: header,
		now: &s.judging, tell: s.tellRun, versions: &s.versions, warned: map[[2]int]bool{},
	}, nil
}

// begin puts the run of a configuration in force, and answers where the exchanges of its requests go. It fails, and
// changes nothing, where the run cannot be written down.
func (s *service) begin(ctx context.Context, cfg config, rules *ruleSet, b store.Beginning) (*docket, error) {
	s.beginning.Lock()
	defer s.beginning.Unlock()
	before := s.docket()
	next, err := s.newDocket(cfg, rules, before)
	if err != nil {
		return nil, err
	}
	next.mu.Lock()
	defer next.mu.Unlock()
	if before != nil && before != next {
		before.mu.Lock() // no version begins a run of the former configuration meanwhile
		defer before.mu.Unlock()
	}
	b.Asked = cmp.Or(b.Asked, cfg.Run)
	if _, err := next.begin(ctx, b); err != nil {
		return nil, err
	}
	if before != next {
		next.tellAside(before)
	}
	if before != nil && before != next {
		before.closed = true
	}
	return next, nil
}

// docket is that of the configuration in force; nil before there is one.
func (s *service) docket() *docket {
	if j := s.judging.Load(); j != nil {
		return j.docket
	}
	return nil
}
