package diff

import (
	"fmt"
	"testing"

	"shadowdiff/multicast"
	"shadowdiff/normalize"
)

// asked is an exchange of one target in which the candidate's price differs.
func asked(target string) *multicast.Exchange {
	answer := func(price int) *multicast.Response {
		return &multicast.Response{Outcome: multicast.OutcomeOK, Status: 200, Body: fmt.Appendf(nil, `{"price":%d}`, price)}
	}
	ex := exchange(answer(1), answer(1), answer(2))
	ex.Route, ex.Request.Method, ex.Request.Target = "", "GET", target
	return ex
}

// What is compared does not depend on what was learnt of names: a rule for one product, and one for all of them, hold
// before and after the products have become one route.
func TestRulesDoNotDependOnWhatWasLearnt(t *testing.T) {
	comparer := comparer(t, normalize.RuleConfig{Route: "GET /products/red-shoes", Drop: "body.price"},
		normalize.RuleConfig{Route: "GET /hats/{id}", Drop: "body.price"})
	for round := range 2 {
		for target, want := range map[string]Result{
			"/products/red-shoes": Agree, "/products/blue-shoes": CandidateOnly, "/hats/panama": Agree, "/hats/17": Agree,
		} {
			c := comparer.Compare(asked(target))
			if c.Result != want || c.Given {
				t.Errorf("round %d: %s is %s, want %s", round, target, c.Result, want)
			}
			if got, want := c.Route, "GET "+target; round == 0 && target != "/hats/17" && got != want {
				t.Errorf("%s is counted under %s", target, got)
			}
			if round == 1 && c.Route != "GET /products/{id}" && c.Route != "GET /hats/{id}" {
				t.Errorf("%s is counted under %s after the fold", target, c.Route)
			}
		}
		for i := range 300 {
			comparer.Compare(asked(fmt.Sprintf("/products/p-%d", i)))
			comparer.Compare(asked(fmt.Sprintf("/hats/h-%d", i)))
		}
	}
}

// A route that was given a name has that name, whatever was learnt; of too many names the rules still hold.
func TestGivenRoutesAreNotLearnt(t *testing.T) {
	comparer := comparer(t, normalize.RuleConfig{Route: "quiet", Drop: "body.price"})
	given := func(name string) *Comparison {
		ex := asked("/products/red-shoes")
		ex.Route = name
		return comparer.Compare(ex)
	}
	for i := range 100 {
		comparer.Compare(asked(fmt.Sprintf("/products/p-%d", i)))
	}
	if c := given("GET /products/red-shoes"); c.Route != "GET /products/red-shoes" || !c.Given {
		t.Errorf("counted under %s, given %v", c.Route, c.Given)
	}
	other := 0
	for i := range 2_000 {
		if given(fmt.Sprintf("made up %d", i)).Route == Other {
			other++
		}
	}
	if c := given("quiet"); c.Route != Other || c.Result != Agree || other < 1_000 {
		t.Errorf("one name too many is counted under %s, and is %s; %d were over the bound", c.Route, c.Result, other)
	}
}

// A flood of names that clients make up takes nothing from the routes of the configuration, though they come later.
func TestConfiguredRoutesKeepTheirRows(t *testing.T) {
	comparer, tally := comparer(t), NewTally(nil)
	count := func(name string, configured bool) string {
		ex := asked("/products/red-shoes")
		ex.Route, ex.Configured = name, configured
		return tally.Add(comparer.Compare(ex))
	}
	for i := range 2_000 {
		count(fmt.Sprintf("made up %d", i), false)
	}
	for i := range maxRoutes {
		tally.Add(compared(fmt.Sprintf("GET /%d", i)))
	}
	if got := count("made up by the last client", false); got != Other {
		t.Errorf("one name too many is counted under %s", got)
	}
	for i := range 50 {
		name := fmt.Sprintf("GET /configured/%d", i)
		if got := count(name, true); got != name {
			t.Errorf("%s is counted under %s", name, got)
		}
	}
	all, _ := tally.Cut()
	all, _ = NewTally(all).Cut()
	if n := len(all.Routes); n != maxRoutes+50 { // Other is among them
		t.Errorf("%d routes", n)
	}
	if f := field(t, all, "GET /configured/49", "body.price"); f.Tests[TestValue].CandidateOnly != 1 {
		t.Errorf("the last one's counts are %+v", f.Tests[TestValue])
	}
}
