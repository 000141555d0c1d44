package replay

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// asked plays a clock over recorded times, and answers with when each was asked, since the first.
func asked(t *testing.T, p Pace, times []time.Time, pause map[int]time.Duration) (at []time.Duration, behind time.Duration) {
	t.Helper()
	var c clock
	begin := time.Now()
	for i, recorded := range times {
		late, err := c.wait(t.Context(), p, recorded)
		if err != nil {
			t.Fatal(err)
		}
		behind += late
		at = append(at, time.Since(begin))
		time.Sleep(pause[i]) // in a bubble: what is full for so long
	}
	return at, behind
}

// TestThePaceIsKept: gaps as recorded, or a multiple, or a rate, or none; times that go back are asked at once; what comes
// too late is not asked in a flood.
func TestThePaceIsKept(t *testing.T) {
	t.Parallel()
	at := func(seconds ...float64) (times []time.Time) {
		for _, s := range seconds {
			times = append(times, time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC).Add(time.Duration(s*float64(time.Second))))
		}
		return times
	}
	ms := time.Millisecond
	for _, c := range []struct {
		name   string
		pace   Pace
		times  []time.Time
		pause  map[int]time.Duration
		want   []time.Duration
		behind time.Duration
	}{
		{"as recorded", Pace{}, at(0, 1, 1.5, 60), nil, []time.Duration{0, 1000 * ms, 1500 * ms, 60_000 * ms}, 0},
		{"four times as fast", Pace{Speed: 4}, at(0, 1, 2), nil, []time.Duration{0, 250 * ms, 500 * ms}, 0},
		{"half as fast", Pace{Speed: 0.5}, at(0, 1), nil, []time.Duration{0, 2000 * ms}, 0},
		{"a rate", Pace{Rate: 100}, at(0, 9, 3), nil, []time.Duration{0, 10 * ms, 20 * ms}, 0},
		{"as fast as can be", Pace{Full: true}, at(0, 100, 200), nil, []time.Duration{0, 0, 0}, 0},
		{"out of order", Pace{}, at(0, 2, 1, 3), nil, []time.Duration{0, 2000 * ms, 2000 * ms, 3000 * ms}, 0},
		{"without times", Pace{}, make([]time.Time, 3), nil, []time.Duration{0, 100 * ms, 200 * ms}, 0},
		{"a little late", Pace{}, at(0, 1, 2), map[int]time.Duration{0: 1500 * ms}, []time.Duration{0, 1500 * ms, 2000 * ms}, 0},
		{"too late", Pace{}, at(0, 1, 2), map[int]time.Duration{0: 10_000 * ms}, []time.Duration{0, 10_000 * ms, 11_000 * ms}, 9000 * ms},
		{"a rate that is too high", Pace{Rate: 1}, at(0, 0, 0), map[int]time.Duration{0: 5000 * ms}, []time.Duration{0, 5000 * ms, 6000 * ms}, 4000 * ms},
	} {
		synctest.Test(t, func(t *testing.T) {
			got, behind := asked(t, c.pace, c.times, c.pause)
			for i := range c.want {
				if got[i] != c.want[i] {
					t.Errorf("%s: asked at %v, want %v", c.name, got, c.want)
					break
				}
			}
			if behind != c.behind {
				t.Errorf("%s: %s behind, want %s", c.name, behind, c.behind)
			}
		})
	}
}

// TestAWaitIsCutShort when the replay is interrupted.
func TestAWaitIsCutShort(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var c clock
		if _, err := c.wait(ctx, Pace{Rate: 0.01}, time.Time{}); err != nil {
			t.Fatal(err)
		}
		if _, err := c.wait(ctx, Pace{Rate: 0.01}, time.Time{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
	})
}

// TestWhatIsNoPaceIsRefused.
func TestWhatIsNoPaceIsRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "x", "0x", "-1x", "fast", "NaN", "1e9x"} {
		if err := new(Pace).ParseSpeed(text); err == nil {
			t.Errorf("-speed %q is taken", text)
		}
	}
	for _, text := range []string{"", "0/s", "-1", "10/d", "NaN/s", "Inf"} {
		if err := new(Pace).ParseRate(text); err == nil {
			t.Errorf("-rate %q is taken", text)
		}
	}
	var p Pace
	if err := p.ParseRate("120/m"); err != nil || p.Rate != 2 {
		t.Errorf("120/m is %g/s, %v", p.Rate, err)
	}
}
