package diff

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// unnumbered are tallies without numbers, confirmations, minutes and turns, which depend on when routes were merged.
func unnumbered(t *testing.T, all *Tallies) string {
	plain := &Tallies{Total: all.Total}
	plain.Total.Order, plain.Total.Latency.Order = 0, 0
	for _, r := range all.Routes {
		r := r.clone()
		r.Order, r.Latency.Order, r.Latency.Confirmed = 0, 0, nil
		r.Minutes, r.Latency.Minutes = Minutes{}, Minutes{}
		plain.Routes = append(plain.Routes, r)
	}
	for _, f := range all.Fields {
		f := f.clone()
		f.TraitTurns, f.TraitLast = 0, 0
		for i := range f.Tests {
			f.Tests[i].Order, f.Tests[i].Confirmed, f.Tests[i].Minutes = 0, nil, Minutes{}
		}
		plain.Fields = append(plain.Fields, f)
	}
	return written(t, plain)
}

// sums are how much all routes have counted.
func sums(all *Tallies) (compared, unknown int64) {
	for _, r := range all.Routes {
		compared += r.Compared
		for _, n := range r.Unknown {
			unknown += n
		}
	}
	return compared, unknown
}

// Routes that are merged count what one route would have counted, whenever they are merged, and snapshots handed out
// before stay as they were.
func TestMergedRoutesCountAsOne(t *testing.T) {
	merged := map[string]bool{}
	parts, whole := NewTally(nil), NewTally(nil)
	var shown *Tallies
	var before string
	for i, c := range traffic(3, 900) {
		one := *c
		if c.Route != "GET /3" {
			one.Route = "GET /{id}"
		}
		whole.Add(&one)
		if merged[c.Route] {
			c = &one
		}
		parts.Add(c)
		if i%150 != 149 {
			continue
		}
		if i%300 == 299 {
			parts.Cut()
		}
		name := "GET /" + strconv.Itoa(i/300)
		parts.Merge("GET /{id}", name, "GET /unknown", "GET /{id}")
		merged[name] = true
		all, changed := parts.Cut()
		if shown != nil && written(t, shown) != before {
			t.Fatal("a snapshot has changed")
		}
		shown, before = all, written(t, all)
		compared, unknown := sums(all)
		if compared != all.Total.Compared || unknown != all.Total.Unknown["stale"] {
			t.Errorf("after %d: routes compared %d of %d, unknown %d of %v", i, compared, all.Total.Compared, unknown, all.Total.Unknown)
		}
		if !slices.ContainsFunc(changed.Routes, func(r *RouteTally) bool { return r.Route == "GET /{id}" }) && i%300 == 149 {
			t.Errorf("after %d: the merged route is not among those to be written", i)
		}
	}
	a, _ := whole.Cut()
	b, _ := parts.Cut()
	if d := cmp.Diff(unnumbered(t, a), unnumbered(t, b)); d != "" {
		t.Error(d)
	}
	again, _ := NewTally(b).Cut()
	if written(t, again) != written(t, b) {
		t.Error("a tally that is restored has other counts")
	}
}

// What several routes had discordant requests for is a new hypothesis; what one of them had keeps its number.
func TestMergedHypothesesAreNumberedAnew(t *testing.T) {
	tally := NewTally(nil)
	tally.Add(compared("GET /b", at("body.y", 1, 0))) // b 1, y 2
	tally.Add(compared("GET /a", at("body.x", 1, 0))) // a 3, x 4
	tally.Add(compared("GET /c", at("body.x", 0, 1))) // c 5, x 6
	tally.Add(compared("GET /c", at("body.both", 1, 1)))
	tally.Merge("GET /{id}", "GET /c", "GET /a", "GET /b")
	all, _ := tally.Cut()
	got := orders(all)
	for name, want := range map[string]int{
		"GET /{id}": 7, "GET /{id} body.x value": 8, "GET /{id} body.y value": 2, "GET /{id} body.both value": 0,
	} {
		if got[name] != want {
			t.Errorf("%s is number %d, want %d", name, got[name], want)
		}
	}
	tally.Add(compared("GET /d", at("body.x", 1, 0)))
	all, _ = tally.Cut()
	if got := orders(all)["GET /d"]; got != 9 {
		t.Errorf("the next one is number %d, want 9", got)
	}
	same(t, "routes", len(all.Routes), 2)
}

// What was confirmed of a part stays confirmed; the earliest confirmation stands.
func TestConfirmationsOutliveAMerge(t *testing.T) {
	early := Confirmation{Time: noon, Requests: 20, Alpha: 0.05}
	for i, parts := range [][]string{{"GET /a", "GET /b"}, {"GET /b", "GET /a"}} {
		tally := NewTally(nil)
		for _, route := range []string{"GET /a", "GET /b", "GET /{id}"} {
			c := compared(route, at("body.x", 1, 0))
			c.Latency = LatencyPair{2, 1}
			tally.Add(c)
		}
		for _, c := range []struct {
			route    string
			after    time.Duration
			requests int64
		}{{"GET /{id}", time.Hour, 40}, {parts[0], 0, 20}, {parts[1], 0, 30}} {
			as := Confirmation{noon.Add(c.after), c.requests, 0.05}
			tally.Confirm([]Confirmed{{c.route, "body.x", TestValue, as}, {c.route, "latency", TestDrift, as}})
		}
		tally.Merge("GET /{id}", parts...)
		all, _ := tally.Cut()
		x := field(t, all, "GET /{id}", "body.x")
		for what, got := range map[string]*Confirmation{
			"the field": x.Tests[TestValue].Confirmed, "the latency": all.Routes[0].Latency.Confirmed,
		} {
			if got == nil || *got != early {
				t.Errorf("%d: %s is confirmed as %+v, want %+v", i, what, got, early)
			}
		}
		if x.Tests[TestFormat].Confirmed != nil {
			t.Error("another test is confirmed too")
		}
	}
}

// A run with as many routes as it may have gets room by a merge.
func TestAMergeMakesRoom(t *testing.T) {
	tally := NewTally(nil)
	var slugs []string
	for i := range maxRoutes {
		slugs = append(slugs, fmt.Sprintf("GET /%d", i))
		tally.Add(compared(slugs[i], at("body.x", 1, 0)))
	}
	tally.Merge("GET /{id}", slugs...)
	tally.Add(compared("GET /health"))
	all, _ := tally.Cut()
	same(t, "routes", []string{all.Routes[0].Route, all.Routes[1].Route}, []string{"GET /health", "GET /{id}"})
	same(t, "compared", [2]int64{all.Routes[0].Compared, all.Routes[1].Compared}, [2]int64{1, maxRoutes})
	same(t, "fields", len(all.Fields), 1)
}

// A Watch answers like Judge also where routes were merged since its last look, and forgets those that are gone.
func TestAWatchFollowsAMerge(t *testing.T) {
	tally, watch := NewTally(nil), NewWatch(DefaultConfig())
	name := func(i int, route string) string {
		if n := route[len("GET /"):]; n < strconv.Itoa(i/1000) {
			return "GET /{id}"
		}
		return route
	}
	for i, c := range traffic(6, 4000) {
		if i%10 == 0 {
			c.Fields = append(c.Fields, at("body.z", 2, 0))
		}
		if i%1000 == 0 && i > 0 {
			tally.Merge("GET /{id}", "GET /"+strconv.Itoa(i/1000-1))
		}
		c.Route = name(i, c.Route)
		tally.Add(c)
		if i%100 != 0 {
			continue
		}
		all, _ := tally.Cut()
		watched, fresh := watch.Judge(all)
		pure, freshToo := Judge(all, DefaultConfig())
		if d := cmp.Diff(exact(pure), exact(watched)); d != "" {
			t.Fatalf("after %d requests: %s", i+1, d)
		}
		if !reflect.DeepEqual(fresh, freshToo) {
			t.Fatalf("after %d requests %+v is fresh, or %+v", i+1, fresh, freshToo)
		}
		if len(watch.routes) != len(all.Routes) {
			t.Fatalf("after %d requests the watch knows %d routes of %d", i+1, len(watch.routes), len(all.Routes))
		}
		tally.Confirm(fresh)
	}
}

// What is listed as named are the routes whose names were never given.
func TestGivenNamesAreToldApart(t *testing.T) {
	tally := NewTally(nil)
	for _, route := range []string{"GET /p/a", "GET /p/b", "GET /p/c"} {
		c := compared(route)
		c.Given = route == "GET /p/b"
		same(t, "counted under", tally.Add(c), route)
		c.Given = false
		tally.Add(c)
	}
	tally.Merge("GET /p/{id}", "GET /p/a")
	all, _ := tally.Cut()
	for _, tally := range []*Tally{tally, NewTally(all)} {
		named := tally.Named()
		slices.Sort(named)
		same(t, "named", named, []string{"GET /p/c", "GET /p/{id}"})
		same(t, "known", [3]bool{tally.Knows("GET /p/b"), tally.Knows("GET /p/a"), tally.Knows("")}, [3]bool{true, false, false})
	}
}
