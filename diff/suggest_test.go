package diff

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"shadowdiff/multicast"
	"shadowdiff/normalize"
)

// triple is three answers: of primary, secondary and candidate.
type triple [3]string

// suggested compares triples of bodies and answers what is suggested.
func suggested(t *testing.T, triples []triple, rules ...normalize.RuleConfig) []Suggestion {
	t.Helper()
	c := comparer(t, rules...)
	for _, bodies := range triples {
		c.Compare(ofBodies(t, bodies))
	}
	return c.Suggestions()
}

func ofBodies(t *testing.T, bodies triple) *multicast.Exchange {
	t.Helper()
	const head = "200\nContent-Type: application/json\n\n"
	return exchange(answer(t, head+bodies[0]), answer(t, head+bodies[1]), answer(t, head+bodies[2]))
}

// ruleText is a rule as its file has it.
func ruleText(t *testing.T, rule normalize.RuleConfig) string {
	t.Helper()
	text, err := yaml.Marshal(rule)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(strings.Split(strings.TrimSpace(string(text)), "\n"), ", ")
}

// noisy draws answers whose field v is noise, the candidate's like the others'.
func noisy(n int, draw func(*rand.Rand) string) []triple {
	rnd := rand.New(rand.NewPCG(1, 2))
	list := make([]triple, n)
	for i := range list {
		for role := range list[i] {
			list[i][role] = `{"v":` + draw(rnd) + `}`
		}
	}
	return list
}

func uuid(rnd *rand.Rand) string {
	return fmt.Sprintf("%08x-%04x-4%03x-8%03x-%012x", rnd.Uint32(), rnd.Uint32()>>16, rnd.Uint32()>>20, rnd.Uint32()>>20, rnd.Uint64()>>16)
}

func TestSuggestionsForTheUsualKindsOfNoise(t *testing.T) {
	quoted := func(draw func(*rand.Rand) string) func(*rand.Rand) string {
		return func(rnd *rand.Rand) string { return fmt.Sprintf("%q", draw(rnd)) }
	}
	for _, test := range []struct {
		name string
		draw func(*rand.Rand) string
		rule string // without its route
		why  string
	}{
		{
			"a time within seconds", quoted(func(rnd *rand.Rand) string {
				return fmt.Sprintf("2026-11-30T10:00:0%d.%03dZ", 3+rnd.IntN(2), rnd.IntN(1000))
			}),
			"tolerate: body.v, within: 2s", "both sides are times, at most 2s apart",
		},
		{"an epoch", func(rnd *rand.Rand) string { return fmt.Sprint(1764499267000 + rnd.IntN(900)) }, "tolerate: body.v, within: 1s", "times"},
		{"a date, any day", quoted(func(rnd *rand.Rand) string { return fmt.Sprintf("20%02d-01-01", rnd.IntN(90)+10) }), "mask: body.v, pattern: ", "times"},
		{"a UUID", quoted(uuid), "mask: body.v, pattern: ^[0-9A-Fa-f]{8}-", "UUIDs"},
		{"hex digits", quoted(func(rnd *rand.Rand) string { return fmt.Sprintf("%016x%016x", rnd.Uint64(), rnd.Uint64()) }), "mask: body.v, pattern: ^[0-9A-Fa-f]{32}$, with: <hex>", "both sides are 32 hex digits"},
		{"a short id of hex digits", quoted(func(rnd *rand.Rand) string { return fmt.Sprintf("%08x", rnd.Uint32()|1<<28&^(6<<28)) }), "mask: body.v, pattern: ^[0-9A-Fa-f]{8}$", "8 hex digits"},
		{"digits", quoted(func(rnd *rand.Rand) string { return fmt.Sprint(rnd.Uint32()) }), `mask: body.v, pattern: ^-?[0-9]+(\.[0-9]+)?$`, "numbers in strings"},
		{"a token in a text", quoted(func(rnd *rand.Rand) string { return "/files/" + uuid(rnd) + "/raw" }), "mask: body.v, pattern: '[0-9A-Fa-f]{8}-", "UUIDs alone"},
		{"a number in a text", quoted(func(rnd *rand.Rand) string { return fmt.Sprintf("took %d ms", rnd.IntN(1000)) }), "mask: body.v, pattern: '[0-9]+', with: <number>", "digits alone"},
		{"a number that jitters", func(rnd *rand.Rand) string { return fmt.Sprintf("10.%03d", rnd.IntN(150)) }, "tolerate: body.v, within: ", "numbers, at most "},
		{"a number between 1 and 9", func(rnd *rand.Rand) string { return fmt.Sprint(1 + rnd.IntN(9)) }, "tolerate: body.v, within: \"10\"", "numbers, at most 10 apart"},
		{"any number", func(rnd *rand.Rand) string { return fmt.Sprint(rnd.Uint64() >> rnd.IntN(40)) }, "present: body.v", "numbers, far apart"},
		{"a boolean", func(rnd *rand.Rand) string { return fmt.Sprint(rnd.IntN(2) == 0) }, "present: body.v", "booleans"},
		{"any text", quoted(func(rnd *rand.Rand) string { return strings.Repeat("ab cd ", 1+rnd.IntN(9)) }), "present: body.v", "nothing in common"},
		{"an order", func(rnd *rand.Rand) string { return []string{`["a","b"]`, `["b","a"]`}[rnd.IntN(2)] }, "sort: body.v", "another order"},
		{"a value, at times null", func(rnd *rand.Rand) string { return []string{`"a b"`, `null`}[rnd.IntN(2)] }, "drop: body.v", "last resort"},
	} {
		t.Run(test.name, func(t *testing.T) {
			list := suggested(t, noisy(60, test.draw))
			if len(list) != 1 {
				t.Fatalf("%d suggestions: %+v", len(list), list)
			}
			s := list[0]
			if text := ruleText(t, s.Rule); !strings.HasPrefix(text, test.rule) || !strings.HasSuffix(text, "route: GET /items/{id}") {
				t.Errorf("rule %s, want %s", text, test.rule)
			}
			if !strings.Contains(s.Reason, test.why) || s.Compared != 60 || s.Noise < 10 || s.Quiets != s.Noise || s.LastResort != (s.Rule.Drop != "") {
				t.Errorf("%+v", s)
			}
		})
	}
}

// Presence is quieted where what is there says nothing, and otherwise by nothing: a field that comes and goes is no noise
// to get used to.
func TestSuggestionsForWhatIsNotAlwaysThere(t *testing.T) {
	for body, want := range map[string]string{
		`{"v":null}`: "absent: body.v, when: null, route: GET /items/{id}",
		`{"v":[]}`:   "absent: body.v, when: empty, route: GET /items/{id}",
		`{"v":""}`:   "absent: body.v, when: empty, route: GET /items/{id}",
		`{"v":"a"}`:  "",
	} {
		list := suggested(t, []triple{{body, `{}`, body}, {`{}`, body, body}, {body, `{}`, `{}`}})
		switch {
		case want == "" && len(list) > 0:
			t.Errorf("%s: %s", body, ruleText(t, list[0].Rule))
		case want != "" && (len(list) != 1 || ruleText(t, list[0].Rule) != want):
			t.Errorf("%s: %+v", body, list)
		}
	}
}

func TestNothingIsSuggestedForTheCandidatesOwn(t *testing.T) {
	one := triple{`{"v":"8f14e45f-ceea-467f-9575-1c2a5d1e3b0a"}`, `{"v":"8f14e45f-ceea-467f-9575-1c2a5d1e3b0a"}`, `{"v":"a87ff679-a2f3-471d-9181-a67b7542122c"}`}
	if list := suggested(t, []triple{one, one, one, one}); len(list) != 0 {
		t.Errorf("%+v", list)
	}
	rare := triple{one[0], one[2], one[0]}
	if list := suggested(t, []triple{rare, rare}); len(list) != 0 {
		t.Errorf("twice is no noise yet: %+v", list)
	}
}

// A rule that would hide what the candidate does says so, and a narrow one leaves it to be seen.
func TestSuggestionsTellWhatTheyHide(t *testing.T) {
	at := func(second int) string { return fmt.Sprintf(`{"v":"2026-11-30T10:%02d:%02dZ"}`, second/60, second%60) }
	triples := []triple{
		{at(0), at(1), at(0)},
		{at(0), at(2), at(1)},
		{at(1), at(0), at(1)},   // noise of two seconds at most
		{at(0), at(0), at(1)},   // the candidate alone, no farther
		{at(0), at(0), at(600)}, // and far
		{at(0), at(1), at(600)}, // far under noise
		{at(0), at(0), `{"v":1764499267}`},
		{at(0), at(0), `{"v":null}`},
	}
	list := suggested(t, triples)
	if len(list) != 1 || list[0].Rule.Tolerate != "body.v" || list[0].Rule.Within != "2s" {
		t.Fatalf("%+v", list)
	}
	s := list[0]
	if s.Noise != 4 || s.Quiets != 4 || s.CandidateOnly != 4 || s.Hides != 1 || s.ControlOnly != 2 || s.Both != 2 || s.Shows != 1 {
		t.Errorf("%+v", s)
	}
	want := "quiets 4 of 4; would also hide 1 of the 4 in which the candidate alone differs, as the secondary alone does in 2; would show 1 in which the noise hides that the candidate differs"
	if s.Effect != want || s.Reason != "differs in 4 of 8 between primary and secondary; both sides are times, at most 2s apart" {
		t.Errorf("%s\n%s", s.Reason, s.Effect)
	}
}

// What is said of a rule is what it does: the rule read back from its text, over the same exchanges.
func TestSuggestionsDoWhatTheySay(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	values := map[string]func() string{
		"time":   func() string { return fmt.Sprintf(`"2026-11-30T10:00:%02dZ"`, rnd.IntN(4)) },
		"far":    func() string { return fmt.Sprintf(`"20%02d-11-30T10:00:00Z"`, 10+rnd.IntN(80)) },
		"uuid":   func() string { return `"` + uuid(rnd) + `"` },
		"hex":    func() string { return fmt.Sprintf(`"%016x"`, rnd.Uint64()) },
		"digits": func() string { return fmt.Sprintf(`"%d"`, rnd.IntN(1e9)) },
		"text":   func() string { return fmt.Sprintf(`"took %d ms"`, rnd.IntN(1e6)) },
		"bool":   func() string { return fmt.Sprint(rnd.IntN(2) == 0) },
		"number": func() string { return fmt.Sprintf("%d.%d", 100+rnd.IntN(5), rnd.IntN(10)) },
		"big":    func() string { return fmt.Sprint(rnd.Uint64()) },
		"list":   func() string { return []string{"[1,2,3]", "[2,1,3]", "[3,2,1]"}[rnd.IntN(3)] },
		"each":   func() string { return fmt.Sprintf(`[{"n":%d},{"n":%d}]`, rnd.IntN(4), 10+rnd.IntN(4)) },
	}
	odd := []string{`"x"`, "7", "null", "true", `"2031-01-01T00:00:00Z"`, `"` + uuid(rnd) + `"`, "1e9", `""`, "[]"}
	for name, draw := range values {
		t.Run(name, func(t *testing.T) {
			var triples []triple
			for range 150 {
				base := draw()
				bodies := [3]string{base, base, base}
				for role := 1; role < 3; role++ {
					if rnd.IntN(2) == 0 {
						bodies[role] = draw()
					}
				}
				if rnd.IntN(5) == 0 {
					bodies[multicast.Candidate] = odd[rnd.IntN(len(odd))]
				}
				triples = append(triples, triple{`{"v":` + bodies[0] + `}`, `{"v":` + bodies[1] + `}`, `{"v":` + bodies[2] + `}`})
			}
			list := suggested(t, triples)
			if len(list) == 0 {
				t.Fatal("nothing is suggested")
			}
			s := list[0]
			text, err := yaml.Marshal(s.Rule)
			if err != nil {
				t.Fatal(err)
			}
			var rule normalize.RuleConfig
			if err := yaml.Unmarshal(text, &rule); err != nil {
				t.Fatalf("%s\n%v", text, err)
			}
			checkEffect(t, &s, rule, triples)
		})
	}
}

// checkEffect compares with and without a rule.
func checkEffect(t *testing.T, s *Suggestion, rule normalize.RuleConfig, triples []triple) {
	t.Helper()
	without, with := comparer(t), comparer(t, rule)
	var quiets, hides, shows int64
	seen := false // a field's candidate-only differences are counted from its first noise on
	for _, bodies := range triples {
		was, is := fieldIn(without.Compare(ofBodies(t, bodies)), s.Field), fieldIn(with.Compare(ofBodies(t, bodies)), s.Field)
		seen = seen || was.Control > 0
		switch {
		case was.Control > 0 && is.Control == 0:
			quiets++
			fallthrough
		case was.Control > 0:
			if was.Candidate > 0 && is.Candidate > 0 {
				shows++
			}
		case was.Candidate > 0 && is.Candidate == 0 && seen:
			hides++
		}
	}
	if quiets != s.Quiets || hides > s.Hides || shows < s.Shows || s.Hides-hides > s.CandidateOnly/10 || shows-s.Shows > s.Both/10 {
		t.Errorf("%s: it quiets %d, hides %d, shows %d\n%+v", ruleText(t, rule), quiets, hides, shows, *s)
	}
}

func fieldIn(c *Comparison, name string) FieldComparison {
	for _, f := range c.Fields {
		if f.Field == name {
			return f
		}
	}
	return FieldComparison{}
}

// Headers are texts: there is no distance between them. The rules leave nothing of their noise.
func TestSuggestionsForHeadersAndCookies(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	draw := func() *multicast.Response {
		return answer(t, fmt.Sprintf("200\nX-Version: %s\nExpires: Mon, 30 Nov 2026 10:00:%02d GMT\nX-Word: %s\nEtag: W/\"%016x\"\nX-Took: %d\nSet-Cookie: a=1; Max-Age=%d\n\n{}",
			uuid(rnd), rnd.IntN(60), strings.Repeat("w ", 1+rnd.IntN(9))+"w", rnd.Uint64(), rnd.IntN(900), rnd.IntN(900)))
	}
	var exchanges []*multicast.Exchange
	c := comparer(t)
	for range 20 {
		exchanges = append(exchanges, exchange(draw(), draw(), draw()))
		c.Compare(exchanges[len(exchanges)-1])
	}
	got, rules := map[string]string{}, []normalize.RuleConfig{}
	for _, s := range c.Suggestions() {
		got[s.Field], rules = ruleText(t, s.Rule), append(rules, s.Rule)
	}
	for field, want := range map[string]string{
		"header.x-version": "mask: header.x-version, pattern: ^[0-9A-F", "header.expires": "mask: header.expires, pattern: ^([A-Z][a-z]{2}, ?)?",
		"header.etag": "mask: header.etag, pattern: '[0-9a-f]{16,}'", "header.x-took": "mask: header.x-took, pattern: ^-?[0-9]+",
		"header.x-word": "present: header.x-word", "cookie.a.max-age": "mask: cookie.a.max-age, pattern: ^-?[0-9]+",
	} {
		if !strings.HasPrefix(got[field], want) {
			t.Errorf("%s: %s", field, got[field])
		}
	}
	quiet := comparer(t, rules...)
	for _, ex := range exchanges {
		if got := quiet.Compare(ex); got.Result != Agree {
			t.Fatalf("with the rules: %s", tell(got))
		}
	}
}

// Noise may take any number of forms, on any number of fields: what is remembered of it stays small.
func TestNoiseIsBounded(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 8))
	c := comparer(t)
	for i := range 300 {
		body := func() string {
			var b strings.Builder
			b.WriteString(`{"v":`)
			fmt.Fprintf(&b, `"%s"`, strings.Repeat("ab12", 5+rnd.IntN(60)))
			for k := range 20 {
				fmt.Fprintf(&b, `,"k%c%c":%d`, 'a'+i%26, 'a'+(i/26+k)%26, rnd.IntN(1000))
			}
			return b.String() + "}"
		}
		c.Compare(ofBodies(t, triple{body(), body(), body()}))
	}
	if c.noise.fields > noisyFields {
		t.Errorf("%d fields", c.noise.fields)
	}
	for _, r := range c.noise.routes {
		for name, f := range r.fields {
			if len(f.control.seen) > cellsKept {
				t.Errorf("%s: %d sights", name, len(f.control.seen))
			}
		}
	}
}
