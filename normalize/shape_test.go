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

// Every example of the table has its shape, and no near miss has.
func TestShapesOfExamples(t *testing.T) {
	for _, row := range ShapeTable() {
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
	for _, row := range ShapeTable() {
		for _, s := range append(row.Examples, row.Others...) {
			f.Add(s)
		}
	}
	rows := ShapeTable()
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
