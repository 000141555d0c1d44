package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// figures are what was measured of one case.
type figures struct {
	exchangeCase
	rows []row
}

// row is what was measured of one peer.
type row struct {
	name   string
	note   string    // why nothing was measured
	times  []float64 // ns for one exchange, by round
	allocs float64   // for one exchange
	bytes  float64
}

// slow is the size from which a peer may take so long that a child process tries it first.
const slow = 100 << 10

// measure lets all peers take their turns.
func (cfg *config) measure(c exchangeCase) (figures, error) {
	f := figures{exchangeCase: c}
	list := slices.DeleteFunc(peers(c), func(p peer) bool { return !cfg.peers.MatchString(p.name) })
	counts := make([]int, len(list))
	for i, p := range list {
		r := row{name: p.name}
		if c.size() > slow && !cfg.ends(c.name+"/"+p.name) {
			r.note = fmt.Sprintf("over %v", cfg.limit)
		} else {
			var err error
			if counts[i], err = p.calibrate(cfg.turn); err != nil {
				return f, fmt.Errorf("%s: %w", p.name, err)
			}
			r.allocs, r.bytes = p.memory()
		}
		f.rows = append(f.rows, r)
	}
	for round := range cfg.rounds {
		for k := range list {
			i := (k + round) % len(list) // nobody is always behind the same one
			if counts[i] == 0 {
				continue
			}
			runtime.GC() // nobody pays for what another has left
			f.rows[i].times = append(f.rows[i].times, list[i].turn(counts[i]))
		}
	}
	return f, nil
}

// ends tells whether a comparison ends in time.
func (cfg *config) ends(name string) bool {
	self, err := os.Executable()
	return errors.Join(err, exec.Command(self, "-once", name).Run()) == nil
}

// calibrate finds how many comparisons fill a turn.
func (p *peer) calibrate(turn time.Duration) (int, error) {
	for n := 1; ; n *= 2 {
		if err := p.compare(); err != nil {
			return 0, err
		}
		if took := time.Duration(p.turn(n) * float64(n)); took >= turn/2 {
			return max(1, int(float64(n)*float64(turn)/float64(took))), nil
		}
	}
}

// turn is the time that the process computes for one comparison, in ns, when n are made. While others have the machine it
// stands still, and collecting garbage beside is part of it.
func (p *peer) turn(n int) float64 {
	begin := computed()
	for range n {
		_ = p.compare() // as it said when it was calibrated
	}
	return float64(computed()-begin) / float64(n)
}

// computed is the CPU time of the process.
func computed() time.Duration {
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &now) != nil {
		panic("no clock of CPU time")
	}
	return time.Duration(now.Nano())
}

// memory is what one comparison allocates.
func (p *peer) memory() (allocs, bytes float64) {
	const n = 5
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	p.turn(n)
	runtime.ReadMemStats(&after)
	return float64(after.Mallocs-before.Mallocs) / n, float64(after.TotalAlloc-before.TotalAlloc) / n
}

// row is a peer's row, nil if it was not measured.
func (f *figures) row(name string) *row {
	i := slices.IndexFunc(f.rows, func(r row) bool { return r.name == name && r.note == "" })
	if i < 0 {
		return nil
	}
	return &f.rows[i]
}

// shares are one peer's times as shares of another's, by round.
func shares(a, b *row) []float64 {
	out := make([]float64, len(a.times))
	for i := range out {
		out[i] = a.times[i] / b.times[i]
	}
	return out
}

// ratio shows how one peer's time relates to another's.
func ratio(a, b *row) string {
	if b == nil {
		return "–"
	}
	return fmt.Sprintf("%.2f", median(shares(a, b)))
}

func median[T cmp.Ordered](values []T) T { return slices.Sorted(slices.Values(values))[len(values)/2] }
