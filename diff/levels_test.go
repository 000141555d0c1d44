package diff

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"shadowdiff/multicast"
	"shadowdiff/normalize"
)

// What one exchange says of levels, places, drift and traits, in odd corners.
func TestLevelsPlacesAndDriftOfOneExchange(t *testing.T) {
	pair := []normalize.RuleConfig{{Pair: "body", By: normalize.By{"id"}}}
	for _, test := range []struct {
		name                          string
		rules                         []normalize.RuleConfig
		primary, secondary, candidate string
		want                          string
	}{
		{
			name: "a field's level is the highest of its places", primary: `["a","b","c"]`, secondary: `["x","b","c"]`, candidate: `["y","2026-11-30",3]`,
			want: "candidate_only raw noise up; body[] 3:1 at 3:1",
		},
		{
			name: "a removal counts above a change, whatever is more", primary: `{"l":[1,2,3,4]}`, secondary: `{"l":[9,8,7,6]}`, candidate: `{}`,
			want: "both raw noise up down; body.l 4:0 at 1:0; body.l[] 0:1 at 0:4 drift +0 trait +1",
		},
		{
			name: "null is there, and is another type", primary: `{"a":"x"}`, secondary: `{"a":null}`, candidate: `{}`,
			want: "candidate_only raw noise up; body.a 4:3 at 1:1",
		},
		{
			name: "an order and a value are of one level", primary: `{"l":["a","b"]}`, secondary: `{"l":["b","a"]}`, candidate: `{"l":["b","a"]}`,
			want: "both raw noise; body.l 1:1 at 1:1",
		},
		{
			name: "an empty text is another form", primary: `{"a":"x"}`, secondary: `{"a":"y"}`, candidate: `{"a":""}`,
			want: "candidate_only raw noise up; body.a 2:1 at 1:1",
		},
		{
			name: "seconds that become milliseconds, in a text", primary: `{"a":"1764499267"}`, secondary: `{"a":"1764499268"}`, candidate: `{"a":"1764499268000"}`,
			want: "candidate_only raw noise up; body.a 2:1 at 1:1",
		},
		{
			name: "places are aligned with the primary's, not with each other", primary: `[{"id":1,"v":5},{"id":2,"v":5}]`,
			secondary: `[{"id":1,"v":6},{"id":2,"v":5}]`, candidate: `[{"id":0,"v":99},{"id":1,"v":5},{"id":2,"v":7}]`,
			want: "candidate_only raw noise up; body 0:0 at 0:0 drift +1 trait +0; body[] 4:0 at 1:0; body[].v 1:1 at 1:1 drift +1 trait +1",
		},
		{
			name: "a drift of pairs that stand elsewhere", rules: pair, primary: `[{"id":1,"v":5},{"id":2,"v":5},{"id":3,"v":5}]`,
			secondary: `[{"id":3,"v":5},{"id":2,"v":6},{"id":1,"v":5}]`, candidate: `[{"id":2,"v":5},{"id":3,"v":2},{"id":1,"v":7}]`,
			want: "both raw noise; body[].v 1:1 at 2:1 drift -1 trait +1", // 2 - 3 against 1
		},
		{
			name: "what one side has lost drifts on neither", rules: pair, primary: `[{"id":1,"v":5},{"id":2,"v":5}]`,
			secondary: `[{"id":2,"v":9},{"id":1,"v":5}]`, candidate: `[{"id":1,"v":6}]`,
			want: "candidate_only raw noise up; body 0:0 at 0:0 drift -1 trait +0; body[] 4:0 at 1:0; body[].v 1:1 at 1:1 drift +1 trait +1",
		},
		{
			name: "the same multiset in another order stands by itself", primary: `{"l":[1,2,3]}`, secondary: `{"l":[1,2,4]}`, candidate: `{"l":[3,2,1]}`,
			want: "both raw noise up down; body.l 1:0 at 1:0; body.l[] 0:1 at 0:1 drift -1 trait +1",
		},
		{
			name: "a sum, not a count of places", primary: `[10,10,10]`, secondary: `[10,10,10]`, candidate: `[11,11,3]`,
			want: "candidate_only raw up; body[] 1:0 at 3:0 drift -1 trait +0",
		},
		{
			name: "a sum of nothing is no drift", primary: `[10,10]`, secondary: `[10,10]`, candidate: `[11,9]`,
			want: "candidate_only raw up; body[] 1:0 at 2:0",
		},
		{
			name: "sums are exact", primary: `[9007199254740993,1e-30]`, secondary: `[9007199254740993,2e-30]`, candidate: `[9007199254740993,3e-30]`,
			want: "both raw noise; body[] 1:1 at 1:1 drift +1 trait +1",
		},
		{
			name: "what a rule takes for equal does not drift", rules: []normalize.RuleConfig{{Tolerate: "body.v", Within: "5"}},
			primary: `{"v":10}`, secondary: `{"v":11}`, candidate: `{"v":14}`, want: "agree",
		},
		{
			name: "beyond a tolerance it does", rules: []normalize.RuleConfig{{Tolerate: "body.v", Within: "5"}},
			primary: `{"v":10}`, secondary: `{"v":11}`, candidate: `{"v":16}`, want: "candidate_only raw up; body.v 1:0 at 1:0 drift +1 trait +0",
		},
		{
			name: "an array that is longer under sort", rules: []normalize.RuleConfig{{Sort: "body.l"}},
			primary: `{"l":[1,2]}`, secondary: `{"l":[2,1]}`, candidate: `{"l":[2,1,1]}`,
			want: "candidate_only raw up; body.l 0:0 at 0:0 drift +1 trait +0; body.l[] 4:0 at 1:0",
		},
		{
			name: "under another key it is another field", primary: `{"m":{"17":1,"x":1}}`, secondary: `{"m":{"17":2,"x":1}}`, candidate: `{"m":{"17":1,"x":3}}`,
			want: "both raw noise up down; body.m.x 1:0 at 1:0 drift +1 trait +0; body.m.{} 0:1 at 0:1 drift -1 trait +1",
		},
		{
			name: "ids that are keys are one field", primary: `{"17":1,"18":1}`, secondary: `{"17":2,"18":1}`, candidate: `{"17":1,"18":5}`,
			want: "both raw noise; body.{} 1:1 at 1:1 drift +1 trait +1",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := comparer(t, test.rules...)
			ex := ofBodies(t, triple{test.primary, test.secondary, test.candidate})
			got := withoutSize(c.Compare(ex))
			if tell(got) != test.want {
				t.Errorf("got  %s\nwant %s", tell(got), test.want)
			}
			ex.Responses[multicast.Secondary], ex.Responses[multicast.Candidate] = ex.Responses[multicast.Candidate], ex.Responses[multicast.Secondary]
			back := withoutSize(c.Compare(ex))
			if back.Raw != got.Noise || back.Noise != got.Raw || back.CandidateUp != got.ControlUp || back.ControlUp != got.CandidateUp {
				t.Errorf("swapped: %s", tell(back))
			}
			for _, f := range got.Fields {
				b := fieldIn(back, f.Field)
				if b.Candidate != f.Control || b.Control != f.Candidate || b.CandidatePlaces != f.ControlPlaces || b.Drift != -f.Drift {
					t.Errorf("swapped: %+v, was %+v", b, f)
				}
			}
		})
	}
}

// withoutSize leaves out the sizes of bodies, which inform only.
func withoutSize(c *Comparison) *Comparison {
	c.Fields = slices.DeleteFunc(c.Fields, func(f FieldComparison) bool { return f.Field == FieldSize })
	return c
}

// The word that many exchanges of one kind come to: what no budget covers decides, what informs does not.
func TestWhatManyExchangesComeTo(t *testing.T) {
	const n = 40
	body := func(format string, args ...any) string { return fmt.Sprintf(format, args...) }
	for _, test := range []struct {
		name     string
		exchange func(i int) triple
		word     Word
		confirms string // field and kind that is confirmed; empty: none
	}{
		{
			name: "a format under a value that is always noise",
			exchange: func(i int) triple {
				return triple{body(`{"v":"a%dx"}`, i), body(`{"v":"b%dx"}`, i), body(`{"v":"2026-11-%02d"}`, 1+i%28)}
			},
			word: Different, confirms: "body.v format",
		},
		{
			name: "thirty-seven places against one",
			exchange: func(i int) triple {
				wrong := strings.Repeat(`"w",`, 37)
				right := strings.Repeat(`"r",`, 37)
				return triple{`[` + right + `"a"]`, `[` + right + `"b"]`, `[` + wrong + `"a"]`}
			},
			word: Different, confirms: "body[] extent",
		},
		{
			name: "as many places on both sides",
			exchange: func(i int) triple {
				return triple{`["a","b"]`, `["x","b"]`, `["a","y"]`}
			},
			word: Undecided,
		},
		{
			name: "a number that is always noise, and a little more",
			exchange: func(i int) triple {
				trait := i%2*2 - 1 // the secondary is above the primary as often as below
				return triple{`{"v":100}`, body(`{"v":%d}`, 100+trait), body(`{"v":%d}`, 110+trait)}
			},
			word: Different, confirms: "body.v drift",
		},
		{
			name: "an instance's own number says nothing",
			exchange: func(i int) triple {
				return triple{body(`{"pid":%d}`, 100), body(`{"pid":%d}`, 200), body(`{"pid":%d}`, 300)}
			},
			word: Undecided,
		},
		{
			name: "a body that is longer for its white space alone",
			exchange: func(i int) triple {
				return triple{`{"v":1}`, `{"v":1}`, `{ "v": 1 }`}
			},
			word: Undecided, confirms: "size drift",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, tally := comparer(t), NewTally(nil)
			for i := range n {
				tally.Add(c.Compare(ofBodies(t, test.exchange(i))))
			}
			all, _ := tally.Cut()
			verdict, confirmed := Judge(all, DefaultConfig())
			if verdict.Word != test.word {
				t.Errorf("%s: %v", verdict.Word, verdict.Reasons)
			}
			var got []string
			for _, one := range confirmed {
				got = append(got, one.Field+" "+one.Test.String())
			}
			if test.confirms != "" && !slices.Contains(got, test.confirms) || test.confirms == "" && len(got) > 0 {
				t.Errorf("confirmed: %v", got)
			}
		})
	}
}
