package diff

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestExcerptsOfSmallValuesAreTheValues(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		body := drawJSON(rt, 3)
		x := excerptOf(documentOf(t, body).Body.Root, 2<<10)
		if !refEqual(parseAny(t, body), parseAny(t, string(x))) {
			rt.Fatalf("%s is shown as %s", body, x)
		}
	})
}

func TestExcerptsAreBoundedAndStayJSON(t *testing.T) {
	long := strings.Repeat("é", 5000)
	var members strings.Builder
	for i := range 20 {
		fmt.Fprintf(&members, `"%d%s":{"b":[]},`, i, long[:300])
	}
	for name, body := range map[string]string{
		"string":  `"` + long + `"`,
		"number":  strings.Repeat("7", 5000),
		"array":   "[" + strings.Repeat(`{"a":[1,2,"x"]},`, 5000) + "1]",
		"object":  "{" + members.String() + `"z":1}`,
		"key":     `{"` + long + `":1}`,
		"nesting": strings.Repeat(`[{"k":`, 3000) + "1" + strings.Repeat("}]", 3000),
		"escapes": `"` + strings.Repeat(`\u0001\ud800`, 2000) + `"`,
		"bytes":   `["` + strings.Repeat("\xff", 3000) + `"]`,
	} {
		t.Run(name, func(t *testing.T) {
			root := documentOf(t, body).Body.Root
			if root == nil {
				t.Fatal("not JSON")
			}
			for _, limit := range []int{256, 2 << 10} {
				x := string(excerptOf(root, limit))
				if len(x) > limit || !json.Valid([]byte(x)) || !utf8.ValidString(x) || !strings.Contains(x, "…") {
					t.Errorf("limit %d: %d bytes: %s", limit, len(x), x)
				}
				if limit > 256 && len(x) < 1000 && name != "key" && name != "nesting" {
					t.Errorf("only %d of %d bytes are used: %s", len(x), limit, x)
				}
			}
		})
	}
}

func TestLongTextsAreShownWhereTheyDiffer(t *testing.T) {
	same := strings.Repeat("abc ", 5000)
	l, r, note := texts(same+"left "+same, same+"right "+same, 2<<10)
	if note != "from character 20001 on" || !strings.Contains(string(l), "abc left abc") || !strings.HasPrefix(string(r), `"…`) {
		t.Errorf("%s\n%.200s\n%.200s", note, l, r)
	}
}

func TestTextBodiesAreShownAtTheirFirstDifferingLine(t *testing.T) {
	for _, test := range []struct{ left, right, l, r, note string }{
		{"one\ntwo\nthree\n", "one\n2\n3\n", `"two\n"`, `"2\n"`, "line 2 of 3 is the first that differs"},
		{"one\r\ntwo\r\n", "one\ntwo\n", `"one\r\n"`, `"one\n"`, "line 1 of 2 is the first that differs; only the line ends differ: CRLF against LF"},
		{"done", "done\n", `"done"`, `"done\n"`, "line 1 of 1 is the first that differs; only what ends the text differs"},
		{"a\nb", "a\nb\nc", `"b"`, `"b\n"`, "line 2 of 2 against 3 is the first that differs"},
	} {
		l, r, note := lines(test.left, test.right, 2<<10)
		if string(l) != test.l || string(r) != test.r || note != test.note {
			t.Errorf("%q against %q: %s, %s, %q", test.left, test.right, l, r, note)
		}
	}
}
