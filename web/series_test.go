package web

import (
	"context"
	"encoding/json"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"shadowdiff/diff"
	"shadowdiff/store"
)

func minutes(n int, span time.Duration) []store.Point {
	var points []store.Point
	for i := range n {
		points = append(points, store.Point{
			Minute: time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC).Add(time.Duration(i) * span), Span: span, Compared: 100, Raw: 5, Noise: 3,
		})
	}
	return points
}

// However long a run is, the chart holds no more points than it can show, and loses no count.
func TestSeriesFitTheChart(t *testing.T) {
	for n, span := range map[int]string{0: "by the minute", 1: "by the minute", 200: "by the minute", 241: "by 5 minutes", 1440: "by 15 minutes", 5000: "by the hour"} {
		view := seriesOf(minutes(n, time.Minute))
		var c struct {
			At        []int64
			Candidate []float64
			Compared  []int64
		}
		if err := json.Unmarshal([]byte(view.JSON), &c); err != nil {
			t.Fatal(err)
		}
		var compared int64
		for i, v := range c.Compared {
			compared += v
			if c.Candidate[i] != 5 {
				t.Errorf("%d points: %v %%", n, c.Candidate[i])
			}
		}
		if len(c.At) > pointsShown+1 || compared != int64(100*n) {
			t.Errorf("%d points became %d that hold %d", n, len(c.At), compared)
		}
		if view.Span != span {
			t.Errorf("%d minutes are drawn %s, want %s", n, view.Span, span)
		}
	}
}

// The first minutes of a run are drawn by the second, as far as they were followed.
func TestFirstMinutesAreDrawnBySeconds(t *testing.T) {
	begin := time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC)
	snap := func(run, second int, compared int64) *store.Snapshot {
		route := &diff.RouteTally{Route: "GET /a", Compared: compared, Raw: compared / 10}
		return &store.Snapshot{
			Run: store.Run{ID: int64(run)}, Time: begin.Add(time.Duration(second) * time.Second),
			Tallies: &diff.Tallies{Total: diff.RouteTally{Compared: compared, Raw: compared / 10, First: begin}, Routes: []*diff.RouteTally{route}},
		}
	}
	var r recent
	r.see(snap(1, 0, 0))
	if got := r.points("", begin); got != nil {
		t.Errorf("of nothing: %v", got)
	}
	for second := 1; second <= 20; second++ {
		r.see(snap(1, second, int64(second)*100))
	}
	points := r.points("GET /a", begin)
	if len(points) != 10 {
		t.Fatalf("%d points of 20 s in steps of 2 s", len(points))
	}
	var compared int64
	for _, p := range points {
		compared += p.Compared
	}
	if compared != 1900 {
		t.Errorf("they hold %d of 1,900", compared)
	}
	if got := r.points("GET /other", begin); got != nil {
		t.Errorf("a route that was not seen: %v", got)
	}
	if got := r.points("", begin.Add(-time.Hour)); got != nil {
		t.Errorf("a run of which most was not seen: %d points", len(got))
	}
	for second := 20; second < 1500; second++ {
		r.see(snap(1, second, int64(second)*100))
	}
	if n := len(r.seen); n > int(recentSpan/recentStep)+1 {
		t.Errorf("%d steps are kept", n)
	}
	r.see(snap(2, 2000, 50))
	if got := r.points("", begin); got != nil {
		t.Errorf("a new run shows the old one's: %v", got)
	}
}

// The scale tells two lines apart, begins at 0 where they hardly part, and never goes beyond all.
func TestScaleOfTheChart(t *testing.T) {
	for _, c := range []struct {
		raw, noise []int64 // of 1,000; below 0: no control
		lo, hi     float64
	}{
		{[]int64{0, 0}, []int64{0, 0}, 0, 1},
		{[]int64{1000, 1000}, []int64{-1, -1}, 0, 100},
		{[]int64{120, 120}, []int64{120, 121}, 0, 12.6},
		{[]int64{900, 940}, []int64{880, 880}, 86.5, 95.5},
		{[]int64{100, 300}, []int64{0, 0}, 0, 37.5},
		{[]int64{990, 940}, []int64{950, 960}, 92.75, 100},
	} {
		points := minutes(len(c.raw), time.Minute)
		for i := range points {
			points[i].Compared, points[i].Raw, points[i].Noise = 1000, c.raw[i], c.noise[i]
		}
		lo, hi := levelsOf(points)
		if math.Abs(lo-c.lo) > .01 || math.Abs(hi-c.hi) > .01 {
			t.Errorf("%v and %v are drawn from %v to %v, want %v to %v", c.raw, c.noise, lo, hi, c.lo, c.hi)
		}
	}
}

// One point is told in words, and two make a line; what was confirmed within the span of the last point is marked at it.
func TestOnePointIsNoChart(t *testing.T) {
	r := newRig(t, shop("1"), shop("2"), nil)
	r.ask(40, "/products/1")
	page := r.get(routePath("GET /products/{id}"))
	mustHold(t, "the chart of one point", page, "One point makes no line yet: at ", "of 40 compared requests, the candidate disagrees with the primary in 100")
	for _, none := range []string{`class="plot"`, "drawn-chart", "chart-table"} {
		if strings.Contains(page, none) {
			t.Errorf("%s around one point", none)
		}
	}
	points := minutes(2, time.Minute)
	view, at := seriesOf(points), points[1].Minute.Add(30*time.Second)
	view.mark(nil, []diff.Finding{{Field: "body.price", ConfirmedAt: &at}})
	if len(view.Drawn.Confirmed) != 1 || view.Drawn.Confirmed[0].X != 100 || view.Alone() != nil || view.NoControl {
		t.Errorf("%+v", view)
	}
}

// What the store counts under a minute that began before the run is drawn where the run begins, alone and added up.
func TestNoPointStandsBeforeItsRun(t *testing.T) {
	points := minutes(3, time.Minute)
	start := points[0].Minute.Add(15 * time.Second)
	for _, span := range []time.Duration{time.Minute, 5 * time.Minute} {
		drawn := together(begunAt(start, points), span)
		if !drawn[0].Minute.Equal(start) {
			t.Errorf("by %s the first stands at %s, the run began at %s", span, drawn[0].Minute, start)
		}
		var compared int64
		for _, p := range drawn {
			compared += p.Compared
		}
		if compared != 300 {
			t.Errorf("by %s they hold %d of 300", span, compared)
		}
	}
	if points[0].Minute.Equal(start) {
		t.Error("the points handed in have changed")
	}
}

// The chart of a page that nobody had open tells of each moment all the same.
func TestChartsFollowWithoutAReader(t *testing.T) {
	r := newRig(t, shop("1"), shop("2"), nil)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.server.Run(ctx) }()
	r.ask(20, "/products/1")
	for seen := false; !seen; {
		r.server.recent.mu.Lock()
		seen = len(r.server.recent.seen) > 0
		r.server.recent.mu.Unlock()
		if !seen {
			runtime.Gosched()
		}
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestWhiskersShareOneScale(t *testing.T) {
	for x, want := range map[float64]float64{-1: 0, -2: 0, 0: 50, 0.001: 55, 0.01: 60.772, 1: 100, 7: 100} {
		if got := across(x); got != want {
			t.Errorf("%v stands at %v, want %v", x, got, want)
		}
	}
	w := whiskerOf(0.004, [2]float64{0.002, 0.006}, 0.001)
	if !w.Over || w.Under || w.Lo >= w.At || w.At >= w.Hi || w.Budget != 55 {
		t.Errorf("%+v", w)
	}
	if w = whiskerOf(0, [2]float64{-0.0005, 0.001}, 0.001); w.Over || !w.Under {
		t.Errorf("%+v", w)
	}
	if l := whiskerOf(-0.3, [2]float64{-0.4, -0.2}, 0.001).leaning(); !l.Over || l.Under {
		t.Errorf("a drift downwards: %+v", l)
	}
}
