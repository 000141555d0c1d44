package normalize

import (
	"regexp"
	"strings"
	"testing"
)

func TestLikenesses(t *testing.T) {
	const one, other = "8f14e45f-ceea-467f-9575-1c2a5d1e3b0a", "A87FF679-A2F3-471D-9181-A67B7542122C"
	for _, tc := range []struct {
		left, right string // JSON; "" is nothing
		want        Likeness
	}{
		{`true`, `false`, LikeBool},
		{`1`, `2.5`, LikeNumber},
		{`1764499267`, `1764499268`, LikeEpoch},
		{`1764499267`, `1764499268123`, LikeNumber},
		{`"1764499267"`, `"1764499268"`, LikeEpochText},
		{`"1764499267"`, `"17"`, LikeDigits},
		{`"-12.5"`, `"7"`, LikeDigits},
		{`"2026-11-30T10:00:00Z"`, `"2026-11-30T11:00:00.5+01:00"`, LikeTime},
		{`"2026-11-30T10:00:00Z"`, `"2026-11-30"`, AnyText}, // two forms
		{`"2026-11-30"`, `"2026-12-01"`, LikeTime},
		{`"Mon, 30 Nov 2026 10:00:00 GMT"`, `"Tue, 01 Dec 2026 10:00:00 GMT"`, LikeWebTime},
		{`"` + one + `"`, `"` + other + `"`, LikeUUID},
		{`"8f14e45fceea467f"`, `"a87ff679a2f3471d"`, LikeHex},
		{`"8f14e45f"`, `"a87ff679"`, LikeHex},
		{`"8f14e45fceea467f"`, `"a87ff679a2f347"`, AnyText}, // of another length
		{`"facade"`, `"decade"`, AnyText},
		{`"q83vEjRWeJCrze8SNFZ4kA=="`, `"Abc+EjRWeJCrze8SNFZ4kA=="`, LikeBase64},
		{`"aVeryLongWord"`, `"anotherLongWord"`, AnyText},
		{`"req-` + one + `/x"`, `"req-` + other + `/x"`, UUIDInside},
		{`"req-` + one + `/x"`, `"req-` + other + `/y"`, AnyText},
		{`"at 2026-11-30T10:00:00Z"`, `"at 2026-11-30T10:00:07.123+01:00"`, TimeInside},
		{`"key 8f14e45fceea467f"`, `"key a87ff679a2f3471d00"`, HexInside},
		{`"key 8f14e45fceea467f"`, `"key a87ff679"`, AnyText},
		{`"took 12 ms"`, `"took 345 ms"`, DigitsInside},
		{`"took 12 ms"`, `"took 12 s"`, AnyText},
		{`"Grüße 1"`, `"Grüße 22"`, DigitsInside},
		{`"1"`, `1`, Unlike},
		{`null`, `1`, OneNull},
		{`null`, ``, NullMissing},
		{``, `[]`, EmptyMissing},
		{`{}`, ``, EmptyMissing},
		{``, `""`, EmptyMissing},
		{`0`, ``, OneMissing},
		{`[1]`, `[2]`, Unlike},
	} {
		value := func(text string) *Value {
			if text == "" {
				return nil
			}
			return mustParse(t, text)
		}
		l, r := value(tc.left), value(tc.right)
		if got, back := LikenessOf(l, r), LikenessOf(r, l); got != tc.want || back != got {
			t.Errorf("%s and %s: %s, and the other way round %s; want %s", tc.left, tc.right, got, back, tc.want)
		}
	}
}

// What is said to be alike but for tokens is equal once a mask has replaced them: the masks match the tokens that the
// likeness is made of.
func FuzzLikenessesAreMasked(f *testing.F) {
	for _, seed := range [][2]string{
		{"8f14e45f-ceea-467f-9575-1c2a5d1e3b0a", "a87ff679-a2f3-471d-9181-a67b7542122c"},
		{"x8f14e45f-ceea-467f-9575-1c2a5d1e3b0a/1", "xa87ff679-a2f3-471d-9181-a67b7542122c/1"},
		{"at 2026-11-30T10:00:00Z", "at 2026-11-30 10:00:07.123+01:00"},
		{"2026-11-30T10:00:00Z", "2026-11-30 10:00:07,123 +0100"},
		{"20261130T100000Z", "20261130T100001Z"},
		{"2026-11-30T10:00", "2026-11-30T10:01"},
		{"Mon, 30 Nov 2026 10:00:00 GMT", "Tue, 01-Dec-2026 10:00 +0000"},
		{"30 Nov 2026 10:00:00 GMT", "1 Dec 2026 10:00:00 GMT"},
		{"8f14e45fceea467f", "a87ff679a2f3471d"},
		{"q83vEjRWeJCrze8SNFZ4kA==", "Abc+EjRWeJCrze8SNFZ4kA"},
		{"k8f14e45fceea467fz", "ka87ff679a2f3471d00z"},
		{"1764499267", "1764499268"},
		{"1764499267.5", "1764499268.25"},
		{"-1.5", "22"},
		{"took 12 ms", "took 345 ms"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, left, right string) {
		l, r := &Value{Type: String, Text: textOf(left)}, &Value{Type: String, Text: textOf(right)}
		k := LikenessOf(l, r)
		if left == right || k < LikeTime {
			return
		}
		lengths := [2]int{k.TokenLength(l), k.TokenLength(r)}
		pattern, with := k.Mask(min(lengths[0], lengths[1]), max(lengths[0], lengths[1]))
		if pattern == "" {
			return
		}
		mask := regexp.MustCompile(pattern)
		a, b := mask.ReplaceAllLiteralString(l.Text, with), mask.ReplaceAllLiteralString(r.Text, with)
		if a != b {
			t.Errorf("%q and %q are %s, and %s makes them %q and %q", left, right, k, pattern, a, b)
		}
	})
}

// Rungs hold what they say, the bound included, and each is the least that does.
func TestLadders(t *testing.T) {
	number := func(text string) *Value { return mustParse(t, text) }
	within := func(l Ladder, a, b string) string {
		if i := l.Reach(number(a), number(b), 0); i < len(l) {
			return l[i].Within
		}
		return "beyond"
	}
	for _, l := range []Ladder{NumberLadder(), ShareLadder(), TimeLadder()} {
		for i, rung := range l {
			if rung.tolerance == nil || strings.Contains(rung.Within, "e") {
				t.Errorf("rung %d, %q, is none", i, rung.Within)
			}
		}
	}
	for _, tc := range []struct {
		ladder     Ladder
		a, b, want string
	}{
		{NumberLadder(), "10", "10.1", "0.1"},
		{NumberLadder(), "10", "10.10000001", "0.2"},
		{NumberLadder(), "9007199254740993", "9007199254740992", "1"},
		{NumberLadder(), "-1", "1", "2"},
		{NumberLadder(), "1e18", "-5e17", "2000000000000000000"},
		{NumberLadder(), "1e30", "0", "beyond"},
		{ShareLadder(), "100", "101", "1%"},
		{ShareLadder(), "100", "300", "beyond"},
		{TimeLadder(), "1764499267000", "1764499268200", "2s"},
		{TimeLadder(), `"2026-11-30T10:00:00Z"`, `"2026-11-30T10:00:00.000001Z"`, "1us"},
		{TimeLadder(), `"2026-11-30T10:00:00Z"`, `"2026-11-30T11:00:01Z"`, "beyond"},
		{TimeLadder(), `"2026-11-30T10:00:00Z"`, `"soon"`, "beyond"},
	} {
		if got := within(tc.ladder, tc.a, tc.b); got != tc.want {
			t.Errorf("%s and %s are within %s, want %s", tc.a, tc.b, got, tc.want)
		}
	}
	l := NumberLadder()
	if from := l.Reach(number("10"), number("10.1"), 60); from != 60 {
		t.Errorf("a wider rung that holds is left for %d", from)
	}
}

func BenchmarkLikenessOf(b *testing.B) {
	text := func(s string) *Value { return &Value{Type: String, Text: s} }
	pairs := [][2]*Value{
		{text("8f14e45f-ceea-467f-9575-1c2a5d1e3b0a"), text("a87ff679-a2f3-471d-9181-a67b7542122c")},
		{text("2026-11-30T10:00:00Z"), text("2026-11-30T10:00:01Z")},
		{text("a text of some words, as titles are"), text("another text of some words, as titles are")},
		{text("#000123-0xc000123456"), text("#000124-0xc000123456")},
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, p := range pairs {
			LikenessOf(p[0], p[1])
		}
	}
}
