package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"time"
)

// takeTurns measures the trials at the fixed rate. All their proxies run at once, and the load goes from one to the next:
// what else the machine does, which at a millisecond and less matters more than the proxy, meets all of them alike. A
// witness tells which requests fell into a time in which nothing ran. The shadows stand back: they are other machines'
// work, and only what they cost the proxy is to be seen.
func (b *bench) takeTurns(ctx context.Context, trials []trial) error {
	systems := make(map[trial]*system)
	defer func() {
		for _, s := range systems {
			s.stop()
		}
	}()
	for _, t := range trials {
		s, err := b.startFor(ctx, t)
		if err != nil {
			return fmt.Errorf("%s: %w", t, err)
		}
		systems[t] = s
	}
	for _, u := range []*upstream{b.secondary, b.candidate} {
		if err := standBack(u.PID()); err != nil {
			return err
		}
	}
	w, err := newWitness()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench: no request is left out, since nobody can tell when the machine stood still:", err)
	} else {
		defer w.stop()
	}
	for turn := range b.cfg.turns {
		if turn%10 == 0 {
			fmt.Fprintf(os.Stderr, "turn %d of %d at %.0f requests/s\n", turn+1, b.cfg.turns, b.cfg.rate)
		}
		for _, n := range rand.Perm(len(trials)) { // what one leaves behind is not always the same one's burden
			t := trials[n]
			f, err := b.turn(ctx, t, systems[t], w)
			if err != nil {
				return fmt.Errorf("%s: %w", t, err)
			}
			b.results.rounds[t] = append(b.results.rounds[t], f)
		}
	}
	for t, s := range systems {
		if err := b.keepProfile(ctx, t, s); err != nil {
			return fmt.Errorf("%s: %w", t, err)
		}
	}
	return nil
}

// turn is one trial's part of a turn.
func (b *bench) turn(ctx context.Context, t trial, s *system, w *witness) (figures, error) {
	f, took, err := b.underLoad(ctx, t, s)
	if err != nil {
		return f, err
	}
	f.all, f.quiet = took.latencies, took.latencies
	if w != nil {
		f.quiet = undisturbed(took, w.take())
	}
	return f, nil
}

// hole is a time in which a processor did not run.
type hole struct{ from, to time.Time }

// aftermath is how long what has gathered in a hole may take to be worked off.
const aftermath = time.Millisecond

// undisturbed are the latencies of the requests that met no hole, nor the time just after one.
func undisturbed(took *tally, holes []hole) []time.Duration {
	quiet := make([]time.Duration, 0, len(took.latencies))
	for i, latency := range took.latencies {
		from, to := took.dues[i], took.dues[i].Add(latency)
		if !slices.ContainsFunc(holes, func(h hole) bool { return h.from.Before(to) && from.Before(h.to.Add(aftermath)) }) {
			quiet = append(quiet, latency)
		}
	}
	return quiet
}
