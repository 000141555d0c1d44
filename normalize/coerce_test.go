package normalize

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestCoercedScalars(t *testing.T) {
	for _, tc := range []struct {
		to, sent string
		typ      Type
		text     string
	}{
		{"number", `"1"`, Number, "1"},
		{"number", `"1.50"`, Number, "1.5"},
		{"number", `"-0"`, Number, "0"},
		{"number", `"1e3"`, Number, "1000"},
		{"number", `"1E+3"`, Number, "1000"},
		{"number", `"1e1000000"`, Number, "1e1000000"},
		{"number", `"9007199254740993"`, Number, "9007199254740993"},
		{"string", `1`, String, "1"},
		{"string", `1.50`, String, "1.5"},
		{"string", `1e3`, String, "1000"},
		{"string", `-0`, String, "0"},
		{"string", `1e1000000`, String, "1e1000000"},
		{"string", `true`, String, "true"},
		{"string", `false`, String, "false"},
		{"bool", `"true"`, Bool, "true"},
		{"bool", `"false"`, Bool, "false"},
		{"bool", `"1"`, Bool, "true"},
		{"bool", `"0"`, Bool, "false"},
		{"bool", `1`, Bool, "true"},
		{"bool", `1.0`, Bool, "true"},
		{"bool", `0`, Bool, "false"},
		{"bool", `-0`, Bool, "false"},
	} {
		v, changed := coerced(t, tc.to, tc.sent)
		if !changed || v.Type != tc.typ || v.Text != tc.text {
			t.Errorf("%s to %s: got %s %q, changed: %t", tc.sent, tc.to, v.Type, v.Text, changed)
		}
	}
}

// A wrong coercion would hide a difference.
func TestWhatIsNotWhollyOfAKindStays(t *testing.T) {
	for to, values := range map[string][]string{
		"number": {
			`""`, `" "`, `" 1"`, `"1 "`, `"\t1"`, `"+1"`, `".5"`, `"1."`, `"01"`, `"007"`, `"-01"`, `"0x10"`, `"1,000"`, `"1_000"`, `"1e"`, `"1e+"`, `"NaN"`, `"Infinity"`, `"-"`, `"--1"`,
			`"１"`, `"1\u0000"`, `"\ud8001"`, `"true"`, `"null"`, `"1 2"`, `"0b1"`, `"1n"`, `1`, `true`, `null`, `[]`, `["1"]`, `{}`,
		},
		"string": {`"1.50"`, `""`, `null`, `[]`, `[1]`, `{"a":1}`},
		"bool": {
			`"True"`, `"TRUE"`, `"yes"`, `"no"`, `"on"`, `"t"`, `" true"`, `"true "`, `""`, `"2"`, `2`, `-1`, `0.1`, `"1.0"`, `"01"`, `"-0"`, `"null"`, `true`, `false`, `null`, `[]`, `[true]`, `{}`,
		},
	} {
		for _, sent := range values {
			before := mustParse(t, sent)
			if v, changed := coerced(t, to, sent); changed || !v.Equal(before) {
				t.Errorf("%s to %s became %s %q", sent, to, v.Type, v.Text)
			}
		}
	}
}

func TestCoercionsAreNamed(t *testing.T) {
	for _, to := range []string{"", "Number", "int", "null", "array", "date"} {
		if _, err := newCoerce(to); err == nil || !strings.Contains(err.Error(), "number, string, bool and time") {
			t.Errorf("%q: %v", to, err)
		}
	}
}

// Coercing twice changes nothing more, and two numbers agree as strings exactly when they agree as numbers.
func TestCoercionsSettle(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		a, b := numbers().Draw(rt, "a"), numbers().Draw(rt, "b")
		for _, to := range []string{"number", "string", "bool", "time"} {
			coerce, _ := newCoerce(to)
			for _, sent := range []string{a, `"` + a + `"`} {
				v, _ := coerced(t, to, sent)
				once := *v
				if coerce(v) || v.Type != once.Type || v.Text != once.Text {
					t.Fatalf("%s to %s became %q and then %q", sent, to, once.Text, v.Text)
				}
			}
		}
		x, _ := coerced(t, "number", `"`+a+`"`)
		y, _ := coerced(t, "string", a)
		z, _ := coerced(t, "string", b)
		if x.Text != y.Text || (y.Text == z.Text) != (ratOf(t, a).Cmp(ratOf(t, b)) == 0) {
			t.Fatalf("%s and %s: %q, %q, %q", a, b, x.Text, y.Text, z.Text)
		}
	})
}

func FuzzCoerce(f *testing.F) {
	for _, sent := range []string{`"1e3"`, `1.50`, `"true"`, `0`, `null`, `"2024-03-01T12:00:00+02:00"`, `1709287200`, `"\ud800"`, "\"\xff\"", `[1]`} {
		f.Add(sent)
	}
	f.Fuzz(func(t *testing.T, sent string) {
		for _, to := range []string{"number", "string", "bool", "time"} {
			v, _ := parseJSON(t, sent)
			if v == nil {
				return
			}
			coerce, _ := newCoerce(to)
			before := *v
			changed := coerce(v)
			if changed != (v.Type != before.Type || v.Text != before.Text) || string(v.Raw) != string(before.Raw) {
				t.Fatalf("%s to %s became %s %q: changed is %t", sent, to, v.Type, v.Text, changed)
			}
			if v.Type == Number {
				checkCanonical(t, v.Text)
			}
			if once := *v; coerce(v) || v.Text != once.Text {
				t.Fatalf("%s to %s became %q and then %q", sent, to, once.Text, v.Text)
			}
		}
	})
}
