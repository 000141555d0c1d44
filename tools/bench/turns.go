package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"time"
)

// takeTurns measures the trials. All their proxies run at once, and the load goes from one to the next, turn by turn: a
// processor that is half as fast for a minute, or stands still for a moment, meets all of them alike. Without a witness
// nothing counts as disturbed.
func (b *bench) takeTurns(ctx context.Context, trials []trial, turns int, w *witness) error {
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
	for turn := range turns {
		if turn%5 == 0 {
			fmt.Fprintf(os.Stderr, "turn %d of %d, %d rows each\n", turn+1, turns, len(trials))
		}
		for _, t := range shuffled(trials) {
			f, err := b.turn(ctx, t, systems[t], w)
			if err != nil {
				return fmt.Errorf("%s: %w", t, err)
			}
			b.results.turns[t] = append(b.results.turns[t], f)
		}
	}
	for t, s := range systems {
		if err := b.keepProfile(ctx, t, s); err != nil {
			return fmt.Errorf("%s: %w", t, err)
		}
	}
	return nil
}

// shuffled is another order, so that what one leaves behind is not always the same one's burden; but those who are asked a
// share of what the bare proxy reached come after it.
func shuffled(trials []trial) []trial {
	list := slices.Clone(trials)
	rand.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	if i := slices.Index(list, trial{proxy: bare}); i > 0 {
		list[0], list[i] = list[i], list[0]
	}
	return list
}

// turn is one trial's part of a turn.
func (b *bench) turn(ctx context.Context, t trial, s *system, w *witness) (figures, error) {
	f, took, err := b.underLoad(ctx, t, s)
	if err != nil {
		return f, err
	}
	f.quiet = f.all
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
