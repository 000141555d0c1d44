package diff

import (
	"fmt"
	"strings"
	"testing"

	"shadowdiff/normalize"
)

func redactor(t testing.TB, places ...string) *normalize.Redactor {
	t.Helper()
	r, err := normalize.NewRedactor(places)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// carrying is a comparer whose comparisons carry values.
func carrying(t testing.TB, places []string, rules ...normalize.RuleConfig) *Comparer {
	c := comparer(t, rules...)
	r := redactor(t, places...)
	c.Profile(func() *normalize.Redactor { return r })
	return c
}

// tellValues has one line a field: for each place what primary, secondary and candidate have.
func tellValues(c *Comparison) string {
	var b strings.Builder
	for _, v := range c.Values {
		fmt.Fprintf(&b, "%s %d:%d", v.Field, v.Candidate, v.Control)
		for _, place := range v.Places {
			b.WriteString(" |")
			for _, seen := range place {
				switch {
				case seen.Shape == "":
					b.WriteString(" -")
				case seen.Text == "":
					fmt.Fprintf(&b, " %s(%d)", seen.Shape, seen.Length)
				default:
					b.WriteString(" " + seen.Text)
				}
			}
		}
		if v.More > 0 {
			fmt.Fprintf(&b, " and %d more", v.More)
		}
		if v.Withheld {
			b.WriteString(" withheld")
		}
		b.WriteString("\n")
	}
	return b.String()
}

func TestComparisonsCarryWhatDiffers(t *testing.T) {
	jsons := func(body string) string { return "200\nContent-Type: application/json\n\n" + body }
	for _, tc := range []struct{ name, primary, secondary, candidate, want string }{
		{"nothing differs", jsons(`{"a":1}`), jsons(`{"a":1}`), jsons(`{"a":1}`), ""},
		{"the candidate alone", jsons(`{"a":1}`), jsons(`{"a":1}`), jsons(`{"a":"1"}`), "body.a 3:0 | 1 1 \"1\"\n"},
		{"the secondary alone", jsons(`{"a":1}`), jsons(`{"a":2}`), jsons(`{"a":1}`), "body.a 0:1 | 1 2 1\n"},
		{"both, at one place", jsons(`{"a":1}`), jsons(`{"a":2}`), jsons(`{"a":3}`), "body.a 1:1 | 1 2 3\n"},
		{
			"both, at other places of an array", jsons(`[1,2,3]`), jsons(`[1,20,3]`), jsons(`[1,2,30]`),
			"body[] 1:1 | 3 3 30 | 2 20 2\n",
		},
		{"what is missing", jsons(`{"a":1,"b":2}`), jsons(`{"b":2}`), jsons(`{"a":1,"b":2,"c":[1,2]}`), "body.c 4:0 | missing(-1) missing(-1) array(2)\nbody.a 0:4 | 1 missing(-1) 1\n"},
		{
			"many places", jsons(`[1,2,3,4,5,6]`), jsons(`[1,2,3,4,5,6]`), jsons(`[11,12,13,14,15,16]`),
			"body[] 1:0 | 1 1 11 | 2 2 12 | 3 3 13 | 4 4 14 and 2 more\n",
		},
		{"containers by their size", jsons(`{"a":[1,2]}`), jsons(`{"a":[1,2]}`), jsons(`{"a":{"k":1}}`), "body.a 3:0 | array(2) array(2) object(1)\n"},
		{
			"an array by its length", jsons(`{"a":[1,2]}`), jsons(`{"a":[1,2]}`), jsons(`{"a":[1,2,3]}`),
			"body.a[] 4:0 | missing(-1) missing(-1) 3\nbody.a 0:0 | array(2) array(2) array(3)\n",
		},
		{
			"a header's lines", "200\nCache-Control: no-store", "200\nCache-Control: no-store", "200\nCache-Control: private, max-age=5",
			"header.cache-control 1:0 | \"no-store\" \"no-store\" \"max-age=5, private\"\n",
		},
		{"a header and the status", "200\nX-A: 1", "200\nX-A: 1", "500\nX-A: 2", "header.x-a 1:0 | \"1\" \"1\" \"2\"\nstatus 1:0 | 200 200 500\n"},
		{"headers on both sides", "200\nX-A: 1", "200\nX-A: 2", "200", "header.x-a 4:1 | \"1\" \"2\" missing(-1)\n"},
		{
			"texts", "200\nContent-Type: text/plain\n\nok", "200\nContent-Type: text/plain\n\nok", "200\nContent-Type: text/plain\n\nfailed",
			"body 1:0 | \"ok\" \"ok\" \"failed\"\nsize 0:0 | 2 2 6\n",
		},
		{"long values are cut", jsons(`{"a":"x"}`), jsons(`{"a":"x"}`), jsons(`{"a":"` + strings.Repeat("y", 500) + `"}`), "body.a 1:0 | \"x\" \"x\" \"" + strings.Repeat("y", 112) + "…\"\nsize 0:0 | 9 9 508\n"},
	} {
		got := carrying(t, nil).Compare(exchange(answer(t, tc.primary), answer(t, tc.secondary), answer(t, tc.candidate)))
		said := tellValues(got)
		if !strings.Contains(tc.want, "size ") { // of no interest there
			lines := strings.SplitAfter(said, "\n")
			said = ""
			for _, line := range lines {
				if !strings.HasPrefix(line, "size ") {
					said += line
				}
			}
		}
		if said != tc.want {
			t.Errorf("%s:\n got %swant %s", tc.name, said, tc.want)
		}
		for _, v := range got.Values {
			for _, place := range v.Places {
				for _, seen := range place {
					if len(seen.Text) > valueText {
						t.Errorf("%s: %d bytes of a value are kept", tc.name, len(seen.Text))
					}
				}
			}
		}
	}
	without := comparer(t).Compare(exchange(answer(t, jsons(`{"a":1}`)), answer(t, jsons(`{"a":1}`)), answer(t, jsons(`{"a":2}`))))
	if len(without.Values) != 0 {
		t.Errorf("without a redactor: %v", without.Values)
	}
}
