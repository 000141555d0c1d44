package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"shadowdiff/tools/rig"
)

// bench is a run: three upstreams, and the proxies that take turns.
type bench struct {
	cfg       config
	dir       string // temporary
	primary   *upstream
	secondary *upstream
	candidate *upstream
	answers   map[string]*answer // what the primary answers, by mode
	results   results
}

func newBench(ctx context.Context, cfg config, trials []trial) (*bench, error) {
	b := &bench{cfg: cfg, results: results{trials: trials, turns: make(map[trial][]figures)}}
	b.answers = map[string]*answer{
		same:  newAnswer(cfg.size, "primary", same),
		noisy: newAnswer(cfg.size, "primary", noisy),
	}
	if err := b.open(ctx); err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

func (b *bench) open(ctx context.Context) (err error) {
	if b.dir, err = os.MkdirTemp("", "shadowdiff-bench-"); err != nil {
		return err
	}
	if b.cfg.profile != "" {
		if b.cfg.binary, err = buildProfiled(ctx, b.cfg.source, b.dir); err != nil {
			return err
		}
	}
	for role, u := range map[string]**upstream{"primary": &b.primary, "secondary": &b.secondary, "candidate": &b.candidate} {
		cfg := upstreamConfig{size: b.cfg.size, delay: b.cfg.delay, rows: len(b.results.trials)}
		if *u, err = startUpstream(ctx, role, cfg); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) close() {
	for _, u := range []*upstream{b.primary, b.secondary, b.candidate} {
		if u != nil {
			_ = u.Stop(0)
		}
	}
	_ = os.RemoveAll(b.dir)
}

// measureAll goes through all trials at full speed, and then through those at the fixed rate.
func (b *bench) measureAll(ctx context.Context) error {
	var full, fixed []trial
	for _, t := range b.results.trials {
		if t.pace.fixed {
			fixed = append(fixed, t)
		} else {
			full = append(full, t)
		}
	}
	if err := b.takeTurns(ctx, full, b.cfg.turns, nil); err != nil || len(fixed) == 0 {
		return err
	}
	w, err := b.standAside()
	if err != nil {
		return err
	}
	if w != nil {
		defer w.stop()
	}
	return b.takeTurns(ctx, fixed, b.cfg.fixedTurns, w)
}

// standAside readies what is measured at about a millisecond: the shadows stand back, since they are other machines' work
// and only what they cost the proxy is to be seen, and a witness tells which requests fell into a time in which nothing ran.
// Where there can be none, it says so.
func (b *bench) standAside() (*witness, error) {
	for _, u := range []*upstream{b.secondary, b.candidate} {
		if err := standBack(u.PID()); err != nil {
			return nil, err
		}
	}
	w, err := newWitness()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench: no request is left out, since nobody can tell when the machine stood still:", err)
	}
	return w, nil
}

// startFor starts a trial's proxy, and waits until it answers.
func (b *bench) startFor(ctx context.Context, t trial) (*system, error) {
	dir, err := os.MkdirTemp(b.dir, "trial-")
	if err != nil {
		return nil, err
	}
	s, err := b.start(ctx, t, dir)
	if err != nil {
		return nil, err
	}
	if err := s.ready(ctx, b.answers[t.primary()]); err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

// rateOf is how many requests are due in a second; 0 is full speed.
func (b *bench) rateOf(t trial) float64 {
	if t.pace.fixed {
		return b.cfg.rate
	}
	if turns := b.results.turns[trial{proxy: bare}]; t.pace.share > 0 && len(turns) > 0 {
		return t.pace.share * rate(turns[len(turns)-1:])
	}
	return 0
}

// underLoad lets the load run, and takes the figures between the end of its warming and its end.
func (b *bench) underLoad(ctx context.Context, t trial, s *system) (f figures, took *tally, err error) {
	if _, err := b.connections(t); err != nil {
		return f, nil, err
	}
	l := &load{addr: s.addr, conns: b.cfg.conns, want: b.answers[t.primary()], rate: b.rateOf(t)}
	ended := make(chan error, 1)
	go func() {
		var err error
		took, err = l.run()
		ended <- err
	}()
	stop := b.askShadows(t)
	err = b.watch(ctx, t, s, l, &f, ended)
	stop()
	l.phase.Store(over)
	if err == nil {
		err = <-ended
	}
	if err != nil {
		return f, nil, err
	}
	f.requests, f.errors, f.all = len(took.latencies), took.errors, slices.Clone(took.latencies)
	return f, took, nil
}

// askShadows lets others ask the shadows as often as shadowdiff could, where shadowing is off: what the shadows themselves
// take of a machine that they share with the proxy.
func (b *bench) askShadows(t trial) (stop func()) {
	if t.sample != "" || t.shadow == "" {
		return func() {}
	}
	var wait sync.WaitGroup
	var loads []*load
	for role, u := range map[string]*upstream{"secondary": b.secondary, "candidate": b.candidate} {
		l := &load{addr: u.addrs[t.shadow][b.row(t)], conns: b.cfg.concurrency, want: newAnswer(b.cfg.size, role, t.shadow)}
		l.rate = min(b.cfg.rate, float64(b.cfg.concurrency)/b.cfg.delay.Seconds())
		loads = append(loads, l)
		wait.Go(func() { _, _ = l.run() })
	}
	return func() {
		for _, l := range loads {
			l.phase.Store(over)
		}
		wait.Wait()
	}
}

func (b *bench) watch(ctx context.Context, t trial, s *system, l *load, f *figures, ended <-chan error) error {
	wait := func(d time.Duration) error {
		select {
		case <-time.After(d):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case err := <-ended:
			return cmp.Or(err, errors.New("the load ended early"))
		}
	}
	if err := wait(b.cfg.warm); err != nil {
		return err
	}
	before, err := s.reading(ctx)
	if err != nil {
		return err
	}
	if b.cfg.profile != "" {
		s.profile(true)
	}
	begin := time.Now()
	l.phase.Store(measuring)
	if err := before.clock(s); err != nil {
		return err
	}
	duration := b.cfg.time
	if t.pace.fixed {
		duration = b.cfg.fixedTime
	}
	if err := wait(duration); err != nil {
		return err
	}
	after := before
	if err := after.clock(s); err != nil {
		return err
	}
	l.phase.Store(warming) // the load goes on while the rest is read
	f.took = time.Since(begin)
	if b.cfg.profile != "" {
		s.profile(false)
	}
	counts, err := s.reading(ctx)
	if err != nil {
		return err
	}
	f.cpu, f.counts, f.rss = after.cpu-before.cpu, counts.counts.Since(before.counts), counts.rss
	f.most, err = b.connections(t)
	return err
}

// connections reads, and resets, the most connections that each shadow had.
func (b *bench) connections(t trial) (map[string]int64, error) {
	most := make(map[string]int64)
	for role, u := range map[string]*upstream{"secondary": b.secondary, "candidate": b.candidate} {
		counts, err := u.most()
		if err != nil {
			return nil, err
		}
		if t.shadow != "" {
			most[role] = counts[t.shadow][b.row(t)]
		}
	}
	return most, nil
}

// row is a trial's number, by which the upstreams know whose connections they count.
func (b *bench) row(t trial) int { return slices.Index(b.results.trials, t) }

// describe says what is measured on what.
func (b *bench) describe(w io.Writer) {
	resolution, _ := rig.CPUResolution()
	fmt.Fprintf(w, "%s; %s\n", machine(), strings.Join(versions(), "; "))
	fmt.Fprintf(w, "%d connections, %d-byte bodies; turns at full speed: %d, of %v a row, and at %.0f requests/s: %d, of %v a row, %v before each; slow is %v; concurrency %d, queue %d, memory %s\n",
		b.cfg.conns, b.cfg.size, b.cfg.turns, b.cfg.time, b.cfg.rate, b.cfg.fixedTurns, b.cfg.fixedTime, b.cfg.warm, b.cfg.delay,
		b.cfg.concurrency, b.cfg.queue, b.cfg.memory)
	fmt.Fprintf(w, "figures are of all turns together, and beside a ratio is its interval of 95 %%; latencies at the fixed rate are without the requests that\nwere under way when the machine stood still; CPU is the proxy's, user and system, by a clock of %v\n\n", resolution)
}

// report prints all tables.
func (b *bench) report(w io.Writer) {
	for _, t := range []table{b.results.speed(), b.results.paced(b.cfg.rate), b.results.lost(), b.results.asked(b.cfg.concurrency)} {
		if len(t) > 1 {
			t.write(w)
			fmt.Fprintln(w)
		}
	}
}
