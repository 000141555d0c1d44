package diff

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"shadowdiff/multicast"
	"shadowdiff/normalize"
)

// threeBodies is an exchange with a JSON body each.
func threeBodies(primary, secondary, candidate string) *multicast.Exchange {
	answer := func(body string) *multicast.Response {
		return &multicast.Response{
			Outcome: multicast.OutcomeOK, Status: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: []byte(body), Size: int64(len(body)),
		}
	}
	return exchange(answer(primary), answer(secondary), answer(candidate))
}

func preview(before, after *Comparer, all ...*multicast.Exchange) *Preview {
	p := NewPreview(before, after)
	for i, ex := range all {
		p.Add(int64(i+1), "GET /items/{id}", ex)
	}
	return p
}

func TestAPreviewTellsWhatARuleWouldDo(t *testing.T) {
	all := []*multicast.Exchange{
		threeBodies(`{"at":1,"price":5}`, `{"at":2,"price":5}`, `{"at":3,"price":5}`), // noise
		threeBodies(`{"at":1,"price":5}`, `{"at":2,"price":5}`, `{"at":1,"price":6}`), // noise, and a fault
		threeBodies(`{"at":1,"price":5}`, `{"at":1,"price":5}`, `{"at":2,"price":5}`), // noise that fell on one side
		threeBodies(`{"at":1,"price":5}`, `{"at":1,"price":5}`, `{"at":1,"price":5}`),
	}
	p := preview(comparer(t), comparer(t, normalize.RuleConfig{Drop: "body.at"}), all...)
	c := p.Counts()
	if c.Compared != 4 || c.Changed != 3 || fmt.Sprint(c.Before) != "map[agree:1 both:2 candidate_only:1]" ||
		fmt.Sprint(c.After) != "map[agree:3 candidate_only:1]" {
		t.Errorf("%+v", c)
	}
	fields := p.Fields()
	if len(fields) != 1 {
		t.Fatalf("%+v", fields)
	}
	f := fields[0]
	if f.Field != "body.at" || f.Route != "GET /items/{id}" || f.Changed != 3 || f.Candidate != (PreviewCount{Before: 2, Vanish: 2}) ||
		f.Control != (PreviewCount{Before: 2, Vanish: 2}) || f.Drift.Vanish != 3 || f.Hides != 1 || f.Shows != 0 || !slices.Equal(f.Samples, []int64{1, 2, 3}) {
		t.Errorf("%+v", f)
	}
}

func TestAPreviewTellsWhatWouldAppearAndChange(t *testing.T) {
	all := []*multicast.Exchange{
		threeBodies(`{"p":"A"}`, `{"p":"a"}`, `{"p":"b"}`),
		threeBodies(`{"p":" A"}`, `{"p":" A"}`, `{"p":"a"}`),
	}
	lower := normalize.RuleConfig{Lower: "body.p"}
	p := preview(comparer(t, lower), comparer(t), all...) // the rule taken away
	f := p.Fields()
	if len(f) != 1 || f[0].Control != (PreviewCount{Appear: 1}) || f[0].Candidate.Before != 2 || f[0].Candidate.After() != 2 || f[0].Hides != 1 {
		t.Errorf("%+v", f)
	}
	if p := preview(comparer(t), comparer(t), all...); len(p.Fields()) != 0 || p.Counts().Changed != 0 || p.Counts().Compared != 2 {
		t.Errorf("the same rules: %+v, %+v", p.Counts(), p.Fields())
	}
	lost := exchange(all[0].Response(multicast.Primary), &multicast.Response{Outcome: multicast.OutcomeDial}, &multicast.Response{Outcome: multicast.OutcomeDial})
	if p := preview(comparer(t), comparer(t, lower), lost); p.Counts().Unknown != 1 || p.Counts().Compared != 0 || lost.Unknown != "" {
		t.Errorf("%+v, %q", p.Counts(), lost.Unknown)
	}
}

// What a preview says is what comes of it: the counts under the rules in force, with what it says of them, are those under
// the others.
func TestAPreviewEqualsWhatThenHappens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all []*multicast.Exchange
		for range rapid.IntRange(1, 5).Draw(t, "exchanges") {
			body := func() string { return copied(t, drawJSON(t, 3)) }
			primary := body()
			secondary, candidate := primary, primary
			if rapid.Bool().Draw(t, "noisy") {
				secondary = body()
			}
			if rapid.Bool().Draw(t, "faulty") {
				candidate = body()
			}
			all = append(all, threeBodies(primary, secondary, candidate))
		}
		had, more := drawRules(t), drawRules(t)
		with := func(rules []normalize.RuleConfig) *Comparer {
			n, err := normalize.New(normalize.Config{Rules: rules})
			if err != nil {
				t.Fatal(err)
			}
			return NewComparer(n, &normalize.Names{}, DefaultLimits())
		}
		both := append(slices.Clone(had), more...)
		p := preview(with(had), with(both), all...)

		// counted is how many exchanges differ in a field, by side, and how they end.
		counted := func(c *Comparer) (map[string]int, map[Result]int) {
			fields, results := map[string]int{}, map[Result]int{}
			for _, ex := range all {
				one := *ex
				compared := c.Compare(&one)
				results[compared.Result]++
				for _, f := range compared.Fields {
					for side, differs := range map[string]bool{"candidate": f.Candidate > 0, "control": f.Control > 0, "drift": f.Drift != 0} {
						if differs {
							fields[side+" "+f.Field]++
						}
					}
				}
			}
			return fields, results
		}
		said, before := counted(with(had))
		then, after := counted(with(both))
		if fmt.Sprint(before) != fmt.Sprint(p.Counts().Before) || fmt.Sprint(after) != fmt.Sprint(p.Counts().After) {
			t.Fatalf("said %+v; were %v and %v", p.Counts(), before, after)
		}
		for _, f := range p.Fields() {
			for side, c := range map[string]PreviewCount{"candidate": f.Candidate, "control": f.Control, "drift": f.Drift} {
				key := side + " " + f.Field
				if said[key] != c.Before {
					t.Errorf("%s: said to differ in %d, differs in %d", key, c.Before, said[key])
				}
				if said[key] += c.Appear - c.Vanish; said[key] == 0 {
					delete(said, key)
				}
			}
		}
		if fmt.Sprint(said) != fmt.Sprint(then) {
			t.Fatalf("said %v, then %v", said, then)
		}
	})
}
