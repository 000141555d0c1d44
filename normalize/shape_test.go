package normalize

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math/big"
	"regexp"
	"testing"
	"unicode/utf8"
)

// shapeRow tells what one shape of strings takes.
type shapeRow struct {
	Shape      Shape
	Least      int      // characters
	Expression string   // RE2, on the whole string
	Also       string   // what the expression cannot say
	Examples   []string // that it takes
	Others     []string // near misses that it does not take
}

// shapeTable lists the shapes of strings in the order in which they are tried: the first that takes a string is its shape.
func shapeTable() []shapeRow {
	return []shapeRow{
		{ShapeEmpty, 0, `^$`, "", []string{""}, []string{" "}},
		{
			ShapeTime, 20,
			`^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?([Zz]|[+-][0-9]{2}:[0-9]{2})$`,
			"month, day, hour, minute and second within their bounds",
			[]string{"2026-11-30T10:41:07Z", "2026-11-30T10:41:07.123456789+01:00", "2016-12-31 23:59:60Z", "1970-01-01t00:00:00z"},
			[]string{"2026-11-30T10:41:07", "2026-13-30T10:41:07Z", "2026-11-30T24:41:07Z", "2026-11-30T10:41:07.Z", "2026-11-30T10:41:07+0100"},
		},
		{
			ShapeDate, 10, `^[0-9]{4}-[0-9]{2}-[0-9]{2}$`, "month and day within their bounds",
			[]string{"2026-11-30", "1999-01-01"},
			[]string{"2026-11-31x", "2026-00-10", "30.11.2026", "2026-11-32"},
		},
		{ShapeEpoch, 10, `^1[4-9][0-9]{8}$`, "from 1420000000 on", []string{"1764499267", "1420000000", "1999999999"}, []string{"1419999999", "2015551234", "764499267"}},
		{ShapeEpochMS, 13, `^1[4-9][0-9]{11}$`, "from 1420000000000 on", []string{"1764499267123"}, []string{"1419999999999", "2764499267123", "17644992671234"}},
		{
			ShapeUUID, 36, `^[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}$`, "",
			[]string{"8f14e45f-ceea-467f-9575-1c2a5d1e3b0a", "8F14E45F-CEEA-467F-9575-1C2A5D1E3B0A"},
			[]string{"8f14e45fceea-467f-9575-1c2a-5d1e3b0ax", "{8f14e45f-ceea-467f-9575-1c2a5d1e3b0a}"},
		},
		{
			ShapeNumeric, 1, `^-?[0-9]+(\.[0-9]+)?$`, "",
			[]string{"0", "-12.50", "007", "9007199254740993", "12345678901234567890"},
			[]string{"1e5", ".5", "+1", "1,000", "12 "},
		},
		{
			ShapeHex, 16, `^([0-9a-f]+|[0-9A-F]+)$`, "",
			[]string{"8f14e45fceea467f", "D41D8CD98F00B204E9800998ECF8427E", "abcdefabcdefabcd"},
			[]string{"8f14e45f", "8f14e45fceea46zz", "8f14e45fCEEA467F"},
		},
		{
			ShapeBase64, 16, `^[0-9A-Za-z+/_-]+={0,2}$`,
			"a capital and a small letter among them; padded to a multiple of 4, or at least 32 long and with a digit, + or /",
			[]string{"q83vEjRWeJCrze8SNFZ4kA==", "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9", "YWJjZGVmZ2hpamtsbW5vcHFyc3R1dnd4eXowMTIz"},
			[]string{"q83vEjRWeJCrze8S", "aVeryLongCamelCaseIdentifierIndeed", "q83vEjRWeJCrze8SNFZ4kA=", "a-very-long-slug-of-a-page-from-2026"},
		},
		{
			ShapeURL, 5, `^[A-Za-z][0-9A-Za-z+.-]*://[^\s]+$`, "at most 31 characters before the colon",
			[]string{"https://example.com/a?b=c", "s3://bucket/key", "http://[::1]:8080/"},
			[]string{"/a/b", "mailto:a@example.com", "https:// example.com", "://x"},
		},
		{
			ShapeEmail, 5, `^[^\s@]+@[^\s@]+\.[^\s@.]+$`, "at most 254 bytes",
			[]string{"ada@example.com", "a.b+c@mail.example.org"},
			[]string{"@example.com", "ada@localhost", "a@b@example.com", "Ada <ada@example.com>"},
		},
		{ShapeText, 1, `^(?s:.+)$`, "whatever is left", []string{"Ada", "hello world", "12 apples", "GET /users/{id}", "d41d8cd9", "\x00"}, []string{""}},
	}
}

// Every example of the table has its shape, and no near miss has.
func TestShapesOfExamples(t *testing.T) {
	for _, row := range shapeTable() {
		re := regexp.MustCompile(row.Expression)
		for _, example := range row.Examples {
			if got := ShapeOfText(example); got != row.Shape {
				t.Errorf("%q is %s, want %s", example, got, row.Shape)
			}
			if !re.MatchString(example) || utf8.RuneCountInString(example) < row.Least {
				t.Errorf("%q does not fit its own row: %s, at least %d", example, row.Expression, row.Least)
			}
		}
		for _, other := range row.Others {
			if ShapeOfText(other) == row.Shape {
				t.Errorf("%q was taken for %s", other, row.Shape)
			}
		}
	}
}

func TestShapesOfValues(t *testing.T) {
	for body, want := range map[string]string{
		`null`: "null", `true`: "bool", `1764499267`: "number", `[]`: "array", `{}`: "object", `"1764499267"`: "epoch in s",
		`"2026-11-30T10:41:07Z"`: "time", `"\u0041da"`: "text", `""`: "empty",
	} {
		if got := ShapeOf(mustParse(t, body)); got.String() != want {
			t.Errorf("%s is %s, want %s", body, got, want)
		}
	}
}

// Random tokens of one kind change their class rarely.
func TestNoiseRarelyChangesAShape(t *testing.T) {
	random := func(n int) []byte {
		b := make([]byte, n)
		_, _ = rand.Read(b)
		return b
	}
	alphabet := "0123456789abcdefghijklmnopqrstuvwxyz"
	kinds := map[string]func() string{
		"hex of 8":          func() string { return hex.EncodeToString(random(4)) },
		"hex of 16":         func() string { return hex.EncodeToString(random(8)) },
		"hex of 32":         func() string { return hex.EncodeToString(random(16)) },
		"base64 of 16":      func() string { return base64.StdEncoding.EncodeToString(random(16)) },
		"base64 of 24":      func() string { return base64.StdEncoding.EncodeToString(random(24)) },
		"raw base64 of 16":  func() string { return base64.RawURLEncoding.EncodeToString(random(16)) },
		"raw base64 of 32":  func() string { return base64.RawURLEncoding.EncodeToString(random(32)) },
		"letters, digits 8": func() string { return pick(alphabet, 8) },
		"letters, digits 20": func() string {
			return pick(alphabet, 20)
		},
		"digits, 19": func() string {
			n, _ := rand.Int(rand.Reader, big.NewInt(9_000_000_000_000_000_000))
			return fmt.Sprint(n.Int64() + 1_000_000_000_000_000_000)
		},
	}
	for name, token := range kinds {
		counts := map[Shape]int{}
		const draws = 5_000
		for range draws {
			counts[ShapeOfText(token())]++
		}
		most := 0
		for _, n := range counts {
			most = max(most, n)
		}
		if odd := draws - most; odd > draws/25 {
			t.Errorf("%s: %d of %d fall out of their class: %v", name, odd, draws, counts)
		}
	}
}

func pick(alphabet string, n int) string {
	out := make([]byte, n)
	for i := range out {
		k, _ := rand.Int(rand.Reader, big.NewInt(int64(len(alphabet))))
		out[i] = alphabet[k.Int64()]
	}
	return string(out)
}

// The tests written by hand agree with the table's expressions.
func FuzzShape(f *testing.F) {
	for _, row := range shapeTable() {
		for _, s := range append(row.Examples, row.Others...) {
			f.Add(s)
		}
	}
	rows := shapeTable()
	expressions := make([]*regexp.Regexp, len(rows))
	for i, row := range rows {
		expressions[i] = regexp.MustCompile(row.Expression)
	}
	f.Fuzz(func(t *testing.T, s string) {
		shape := ShapeOfText(s)
		for i, row := range rows {
			if row.Shape == shape && (!expressions[i].MatchString(s) || len(s) < row.Least) {
				t.Errorf("%q was taken for %s", s, shape)
			}
			if row.Shape == shape {
				return
			}
			if row.Also == "" && expressions[i].MatchString(s) && utf8.RuneCountInString(s) >= row.Least {
				t.Errorf("%q is %s, want %s", s, shape, row.Shape)
			}
		}
	})
}
