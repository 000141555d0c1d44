package web

import (
	"strings"
	"testing"

	"shadowdiff/diff"
	"shadowdiff/multicast"
	"shadowdiff/normalize"
	"shadowdiff/store"
)

// compared makes a sample of three JSON bodies with the differences that diff finds between them.
func compared(t testing.TB, primary, control, candidate string) *store.Sample {
	t.Helper()
	rules, err := normalize.New(normalize.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	sample := &store.Sample{ID: 1, Route: "GET /x"}
	var docs [3]*normalize.Document
	for side, body := range []string{primary, control, candidate} {
		kind := "application/json"
		if strings.Contains(body, "}\n{") {
			kind = "application/x-ndjson"
		}
		resp := multicast.Response{
			Outcome: multicast.OutcomeOK, Status: 200, Body: []byte(body), Size: int64(len(body)),
			Header: map[string][]string{"Content-Type": {kind}},
		}
		sample.Responses[storedRole[side]] = resp
		docs[side] = rules.Document("GET /x", storedRole[side], &resp, func(int64) bool { return true })
	}
	sample.Control, _ = diff.Compare(docs[0], docs[1], diff.DefaultLimits())
	sample.Candidate, _ = diff.Compare(docs[0], docs[2], diff.DefaultLimits())
	return sample
}

// bodyLines lays out a sample's bodies as its page does at first.
func bodyLines(t testing.TB, sample *store.Sample) *layout {
	t.Helper()
	laid, err := layOut(sample, "")
	if err != nil {
		t.Fatal(err)
	}
	return laid
}

// drawing writes lines as text: the mark's letter, then the three cells.
func drawing(lines []line) string {
	var b strings.Builder
	for _, l := range lines {
		if l.Fold != nil {
			b.WriteString("+ " + l.Label + "\n")
			continue
		}
		letter := map[mark]string{unmarked: " ", markCandidate: "C", markControl: "S", markBoth: "B", markFree: "~"}[l.Mark]
		b.WriteString(letter + " " + strings.Repeat("  ", l.Depth))
		if l.Key != "" {
			b.WriteString(l.Key + ": ")
		}
		for side, c := range l.Cells {
			if side > 0 {
				b.WriteString(" | ")
			}
			if c.Absent {
				b.WriteString("-")
				continue
			}
			b.WriteString(c.Before)
			if c.In != "" {
				b.WriteString("[" + c.In + "]")
			}
			b.WriteString(c.End)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func TestThreeBodiesSideBySide(t *testing.T) {
	for name, c := range map[string]struct{ primary, control, candidate, want string }{
		"a value": {
			`{"a":1,"b":2}`, `{"a":1,"b":2}`, `{"a":1,"b":3}`,
			"  { | { | {\n    a: 1 | 1 | 1\nC   b: 2 | 2 | [3]\n  } | } | }\n",
		},
		"noise, and both": {
			`{"n":"aa1","m":"x"}`, `{"n":"aa2","m":"y"}`, `{"n":"aa1","m":"z"}`,
			"  { | { | {\nS   n: \"aa1\" | \"aa[2]\" | \"aa1\"\nB   m: \"x\" | \"[y]\" | \"[z]\"\n  } | } | }\n",
		},
		"the graver side owns the place": {
			`{"at":"a"}`, `{"at":"b"}`, `{"at":7}`,
			"  { | { | {\nC   at: \"a\" | \"[b]\" | [7]\n  } | } | }\n",
		},
		"missing and extra keys": {
			`{"a":1,"b":null}`, `{"a":1,"b":null}`, `{"a":1,"c":[1]}`,
			"  { | { | {\n    a: 1 | 1 | 1\nC   b: null | null | -\nC   c: - | - | [\n      - | - | 1\n    - | - | ]\n  } | } | }\n",
		},
		"an element more in front moves nothing": {
			`[{"id":1},{"id":2}]`, `[{"id":1},{"id":2}]`, `[{"id":0},{"id":1},{"id":2}]`,
			"  [ | [ | [\nC   - | - | {\n      id: - | - | 0\n    - | - | }\n+ 6 equal lines\n  ] | ] | ]\n",
		},
		"an element less": {
			`["a","b","c"]`, `["a","c"]`, `["a","b","c"]`,
			"  [ | [ | [\n    \"a\" | \"a\" | \"a\"\nS   \"b\" | - | \"b\"\n    \"c\" | \"c\" | \"c\"\n  ] | ] | ]\n",
		},
		"equal parts are folded as wholes": {
			`{"a":{"x":1,"y":[1,2]},"b":1,"z":1}`, `{"a":{"x":1,"y":[1,2]},"b":1,"z":1}`, `{"a":{"x":1,"y":[1,2]},"b":1,"z":2}`,
			"  { | { | {\n+ 8 equal lines: a and b\nC   z: 1 | 1 | [2]\n  } | } | }\n",
		},
		"equal in meaning": {
			`{"a":1.0,"b":1}`, `{"a":1.0,"b":1}`, `{"a":1,"b":2}`,
			"  { | { | {\n~   a: 1.0 | 1.0 | 1\nC   b: 1 | 1 | [2]\n  } | } | }\n",
		},
		"kinds of container": {
			`{"a":{"x":1}}`, `{"a":{"x":1}}`, `{"a":[1]}`,
			"  { | { | {\nC   a: {\"x\": 1} | {\"x\": 1} | [[1]]\n  } | } | }\n",
		},
		"records": {
			"{\"a\":1}\n{\"a\":2}\n", "{\"a\":1}\n{\"a\":2}\n", "{\"a\":1}\n{\"a\":3}\n",
			"  [ | [ | [\n    { | { | {\n      a: 1 | 1 | 1\n    } | } | }\n    { | { | {\nC     a: 2 | 2 | [3]\n    } | } | }\n  ] | ] | ]\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := drawing(bodyLines(t, compared(t, c.primary, c.control, c.candidate)).Lines); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

func TestTextAndBytesSideBySide(t *testing.T) {
	for name, c := range map[string]struct{ primary, control, candidate, want string }{
		"a line more": {
			"up\nall well\n", "up\nall well\n", "up\nnew\nall well\n",
			"  up | up | up\nC - | - | new\n  all well | all well | all well\n",
		},
		"a line less": {
			"up\nold\nall well", "up\nold\nall well", "up\nall well",
			"  up | up | up\nC old | old | -\n  all well | all well | all well\n",
		},
		"an error page instead of JSON": {
			`{"a":1}`, `{"a":1}`, "<h1>502</h1>",
			"C { | { | [<h1>502</h1>]\nC   \"a\": 1 |   \"a\": 1 | -\nC } | } | -\n",
		},
		"bytes": {
			"\x00\x01", "\x00\x01", "\x00\x02",
			"  type: application/json | application/json | application/json\n  length: 2 bytes | 2 bytes | 2 bytes\n" +
				"C sha256: b413f47d13ee2fe6c845b2ee141af81de858df4ec549a58b7970bb96645bc8d2 | b413f47d13ee2fe6c845b2ee141af81de858df4ec549a58b7970bb96645bc8d2 | " +
				"[fcf0a6c700dd13e274b6fba8deea8dd9b26e4eedde3495717cac8408c9c5177f]\n" +
				"C 00000000: 00 01                    .. | 00 01                    .. | 00 0[2]                    ..\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := drawing(bodyLines(t, compared(t, c.primary, c.control, c.candidate)).Lines); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

// A shadow that gave no answer is told of, and nothing is marked in what it did not send.
func TestOneShadowFailed(t *testing.T) {
	sample := compared(t, `{"a":1}`, `{"a":1}`, `{"a":1}`)
	sample.Responses[multicast.Candidate] = multicast.Response{Outcome: multicast.OutcomeReset, Detail: "connection reset"}
	sample.Candidate = []diff.Difference{{Field: "transport", Kind: diff.KindFailed, Left: `"ok"`, Right: `"reset"`}}
	page := samplePageOf(sample, nil)
	if want := "The candidate gave no answer: connection reset."; page.Sentence != want {
		t.Errorf("sentence %q, want %q", page.Sentence, want)
	}
	if page.Legs[candidate].OK || page.Legs[candidate].Status != 0 {
		t.Errorf("leg %+v", page.Legs[candidate])
	}
}

func TestHeadersSideBySide(t *testing.T) {
	sample := compared(t, "{}", "{}", "{}")
	for side, value := range []string{"private", "private", "public"} {
		sample.Responses[storedRole[side]].Header["Cache-Control"] = []string{value}
		sample.Responses[storedRole[side]].Header["Date"] = []string{[]string{"a", "b", "c"}[side]}
	}
	sample.Candidate = []diff.Difference{{Field: "header.cache-control", Kind: diff.KindValue, Left: `"private"`, Right: `"public"`}}
	want := "C Cache-Control: private | private | p[ublic]\n~ Date: a | [b] | [c]\n  Content-Type: application/json | application/json | application/json\n"
	if got := drawing(headerLines(sample)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Whatever three bodies hold, they are laid out, every value of each side once, without a panic.
func FuzzAlignedBodies(f *testing.F) {
	f.Add(`{"a":[1,{"b":2}]}`, `{"a":[{"b":2},1]}`, `{"a":[1]}`)
	f.Add(`[1,2,3]`, `[3,2,1]`, `[]`)
	f.Add(`{"a":1,"a":2}`, `null`, `"x"`)
	f.Add("{}\n{}", "[", "\x00")
	f.Fuzz(func(t *testing.T, primary, control, candidate string) {
		sample := compared(t, primary, control, candidate)
		view := bodyLines(t, sample)
		for side, body := range []string{primary, control, candidate} {
			tree, err := parseTree([]byte(body))
			if err != nil || wholeBody(sample.Control) || wholeBody(sample.Candidate) {
				return // laid out as text
			}
			shown := textOf(view.Lines, side)
			for _, leaf := range leavesOf(tree) {
				if len(leaf) > cellMost {
					continue // of a long value the part is shown in which it differs
				}
				if !strings.Contains(shown, cut(leaf)) {
					t.Errorf("%s: %s is not shown in\n%s", roleWords[side], leaf, shown)
				}
			}
		}
	})
}

// leavesOf lists the scalars that count: of several members with one key, the last.
func leavesOf(n *node) []string {
	if n.open == 0 {
		return []string{n.text}
	}
	var leaves []string
	for i, kid := range n.kids {
		if n.open == '[' || n.member(n.keys[i]) == kid {
			leaves = append(leaves, leavesOf(kid)...)
		}
	}
	return leaves
}

// textOf is everything that one side shows, folded or not.
func textOf(lines []line, side int) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(textOf(laidOpen(l.Fold), side))
		c := l.Cells[side]
		b.WriteString(c.Before + c.In + c.End + "\n")
	}
	return b.String()
}

// An error page against JSON: the candidate's doing, and nothing is claimed of the places that it does not have.
func TestErrorPageAgainstNoise(t *testing.T) {
	sample := compared(t, `{"at":"a"}`, `{"at":"b"}`, "internal error")
	if got, want := drawing(bodyLines(t, sample).Lines), "C { | { | [internal error]\nC   \"at\": \"a\" |   \"at\": \"[b]\" | -\nC } | } | -\n"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for _, p := range placesViewOf(sample) {
		if p.Field == "body.at" && (!p.Absent[candidate] || p.Absent[control] || p.Mark != markControl) {
			t.Errorf("%+v", p)
		}
	}
}

// Below a place that one side does not have, that is not said again line by line, and nothing there is a difference of its
// own.
func TestWhatIsMissingIsSaidOnce(t *testing.T) {
	laid := bodyLines(t, compared(t, `{"a":{"b":{"c":1},"d":[2]},"e":0}`, `{"a":{"b":{"c":1},"d":[2]},"e":0}`, `{"e":0}`))
	marked, hollow, said := 0, 0, 0
	for _, l := range laid.Lines {
		if l.Mark != unmarked {
			marked++
		}
		switch c := l.Cells[candidate]; {
		case c.Hollow:
			hollow++
		case c.Absent:
			said++
		}
		if l.Cells[primary].Hollow || l.Cells[control].Hollow {
			t.Errorf("a side that has it is hollow: %+v", l)
		}
	}
	if marked != 1 || said != 1 || hollow != 7 {
		t.Errorf("%d lines are marked, %d say that nothing is there, and %d are blank:\n%s", marked, said, hollow, drawing(laid.Lines))
	}
}
