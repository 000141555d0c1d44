package normalize

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// coerced is a JSON scalar after `coerce: …, to: …`, as type and text.
func coerced(t testing.TB, to, value string) (v *Value, changed bool) {
	t.Helper()
	coerce, err := newCoerce(to)
	if err != nil {
		t.Fatal(err)
	}
	v = mustParse(t, value)
	return v, coerce(v)
}

func TestInstantsHaveOneForm(t *testing.T) {
	const ten = "2024-03-01T10:00:00Z"
	for _, tc := range []struct{ sent, want string }{
		{`"2024-03-01T10:00:00Z"`, ten},
		{`"2024-03-01t10:00:00z"`, ten},
		{`"2024-03-01 10:00:00Z"`, ten},
		{`"2024-03-01T10:00:00+00:00"`, ten},
		{`"2024-03-01T10:00:00-00:00"`, ten},
		{`"2024-03-01T10:00:00+0000"`, ten},
		{`"2024-03-01 10:00:00+00"`, ten},
		{`"2024-03-01 10:00:00 +0000"`, ten},
		{`"2024-03-01 10:00:00 UTC"`, ten},
		{`"2024-03-01T10:00:00GMT"`, ten},
		{`"2024-03-01T12:00:00+02:00"`, ten},
		{`"2024-03-01T04:30:00-05:30"`, ten},
		{`"2024-03-01T10:00Z"`, ten},
		{`"20240301T100000Z"`, ten},
		{`"20240301T1200+0200"`, ten},
		{`"2024-03-01T10:00:00.000000Z"`, ten},
		{`"2024-03-01T10:00:00,0Z"`, ten},
		{`"Fri, 01 Mar 2024 10:00:00 GMT"`, ten},
		{`"Fri, 01-Mar-2024 10:00:00 GMT"`, ten},
		{`"Fri, 1 Mar 2024 11:00:00 +0100"`, ten},
		{`"1 Mar 2024 10:00 UT"`, ten},
		{`1709287200`, ten},
		{`1709287200.0`, ten},
		{`1.7092872e9`, ten},
		{`1709287200000`, ten},
		{`"1709287200"`, ten},
		{`"1709287200000"`, ten},
		{`"1709287200.00"`, ten},
		{`1709287200.125`, "2024-03-01T10:00:00.125Z"},
		{`1709287200125`, "2024-03-01T10:00:00.125Z"},
		{`1709287200120`, "2024-03-01T10:00:00.12Z"},
		{`"1709287200125.50"`, "2024-03-01T10:00:00.1255Z"},
		{`"2022-06-07T18:40:02.250Z"`, "2022-06-07T18:40:02.25Z"},
		{`"2021-02-03T11:12:13.700+0000"`, "2021-02-03T11:12:13.7Z"},
		{`"2024-03-01T00:30:00+02:00"`, "2024-02-29T22:30:00Z"},
		{`"2023-03-01T00:30:00+02:00"`, "2023-02-28T22:30:00Z"},
		{`"2024-12-31T23:30:00.123456789012345678901234567890-02:00"`, "2025-01-01T01:30:00.12345678901234567890123456789Z"},
		{`"2016-12-31T23:59:60Z"`, "2016-12-31T23:59:60Z"},
		{`"2017-01-01T05:29:60.50+05:30"`, "2016-12-31T23:59:60.5Z"},
		{`"0001-01-01T00:00:00Z"`, "0001-01-01T00:00:00Z"},
		{`"0000-01-01T00:00:00Z"`, "0000-01-01T00:00:00Z"},
		{`"0000-01-01T00:00:00+01:00"`, "-0001-12-31T23:00:00Z"},
		{`"9999-12-31T23:59:59.9999999Z"`, "9999-12-31T23:59:59.9999999Z"},
		{`"9999-12-31T23:59:59-01:00"`, "10000-01-01T00:59:59Z"},
		{`1000000000`, "2001-09-09T01:46:40Z"},
		{`9999999999`, "2286-11-20T17:46:39Z"},
	} {
		v, changed := coerced(t, "time", tc.sent)
		if v.Type != String || v.Text != tc.want || changed == (tc.sent == `"`+tc.want+`"`) {
			t.Errorf("%s: got %s %s, changed: %t; want %s", tc.sent, v.Type, v.Text, changed, tc.want)
		}
	}
}

func TestWhatIsNoInstantStays(t *testing.T) {
	for _, sent := range []string{
		`""`, `" "`, `"Z"`, `"T"`, `"2024"`, `"now"`, `"2024-03-01"`, `"20240301"`, `"2024-03-01T10:00:00"`, `"2024-03-01 10:00:00"`,
		`"2024-02-30T10:00:00Z"`, `"2023-02-29T10:00:00Z"`, `"2024-13-01T10:00:00Z"`, `"2024-00-01T10:00:00Z"`, `"2024-03-00T10:00:00Z"`, `"2024-03-32T10:00:00Z"`,
		`"2024-03-01T24:00:00Z"`, `"2024-03-01T10:60:00Z"`, `"2024-03-01T10:00:61Z"`, `"2024-03-01T10:00:60Z"`, `"2024-03-01T23:59:60Z"`, `"2016-12-31T23:59:60+01:00"`,
		`"2024-03-01T10:00:00+24:00"`, `"2024-03-01T10:00:00+01:60"`, `"2024-03-01T10:00:00+1"`, `"2024-03-01T10:00:00+010"`, `"2024-03-01T10:00:00+01:"`,
		`"2024-03-01T10:00:00.Z"`, `"2024-03-01T10:00:00Zx"`, `" 2024-03-01T10:00:00Z"`, `"2024-03-01T10:00:00Z "`, `"2024-03-01T10:00:00  Z"`, `"2024-3-1T10:00:00Z"`,
		`"2024-03-01T10:00:00 EST"`, `"2024-03-01T10:00:00+01:00[Europe/Paris]"`, `"02024-03-01T10:00:00Z"`, `"2024-0301T10:00:00Z"`, `"202403-01T10:00:00Z"`,
		`"２０24-03-01T10:00:00Z"`, `"2024-03-01T10:00:00-"`, `"2024-03-01T"`, `"20240301T"`, `"20240301T100000"`,
		`"Thu, 01 Mar 2024 10:00:00 GMT"`, `"Fri, 01 Mar 2024 10:00:00"`, `"Fri, 01 mar 2024 10:00:00 GMT"`, `"Fri 01 Mar 2024 10:00:00 GMT"`, `"Fri, 01 Mar 2024"`,
		`"Friday, 01-Mar-24 10:00:00 GMT"`, `"Fri Mar  1 10:00:00 2024"`, `"Fri, 31 Feb 2024 10:00:00 GMT"`, `"Fri, 01 Mar-2024 10:00:00 GMT"`, `"Fri, 01 Mar 2024 10:00:00 EST"`,
		`0`, `-1709287200`, `170928720`, `17092872000`, `170928720000`, `17092872000000`, `1709287200000000`, `"0709287200"`, `"1709287200."`, `"1709287200.x"`, `"-1709287200"`, `"+1709287200"`,
		`null`, `true`, `[]`, `{}`, `["2024-03-01T12:00:00+02:00"]`,
	} {
		before := mustParse(t, sent)
		if v, changed := coerced(t, "time", sent); changed || !v.Equal(before) {
			t.Errorf("%s became %s", sent, v.Text)
		}
	}
}

// The standard library reads the same instants, as far as it can hold them.
func TestInstantsAgreeWithTheStandardLibrary(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		sent := fmt.Sprintf("%04d-%02d-%02dT%02d:%02d:%02d%s%s", rapid.IntRange(0, 9999).Draw(rt, "year"),
			rapid.IntRange(0, 13).Draw(rt, "month"), rapid.IntRange(0, 32).Draw(rt, "day"), rapid.IntRange(0, 24).Draw(rt, "hour"),
			rapid.IntRange(0, 60).Draw(rt, "minute"), rapid.IntRange(0, 59).Draw(rt, "second"),
			rapid.StringMatching(`(\.[0-9]{1,9})?`).Draw(rt, "fraction"), rapid.StringMatching(`Z|[+-][01][0-9]:[0-5][0-9]`).Draw(rt, "zone"))
		want, err := time.Parse(time.RFC3339Nano, sent)
		got, ok := readTime(&Value{Type: String, Text: sent})
		if ok != (err == nil) {
			t.Fatalf("%s is a time: %t, for the standard library: %v", sent, ok, err)
		}
		if !ok {
			return
		}
		// Written by way of its parts, for RFC3339Nano's years have four digits.
		date := want.UTC()
		text := fmt.Sprintf("%04d", date.Year()) + date.Format("-01-02T15:04:05.999999999Z")
		if date.Year() < 0 {
			text = fmt.Sprintf("-%04d", -date.Year()) + date.Format("-01-02T15:04:05.999999999Z")
		}
		if canonical := string(got.append(nil)); canonical != text {
			t.Fatalf("%s: got %s, want %s", sent, canonical, text)
		}
	})
}

func TestHTTPDatesAgreeWithTheStandardLibrary(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		at := time.Unix(rapid.Int64Range(-62_167_219_200, 253_402_300_799).Draw(rt, "second"), 0).UTC()
		for _, layout := range []string{time.RFC1123Z, "Mon, 02 Jan 2006 15:04:05 GMT", "Mon, 2 Jan 2006 15:04:05 +0000", "Mon, 02-Jan-2006 15:04:05 GMT"} {
			sent := at.Format(layout)
			got, ok := readTime(&Value{Type: String, Text: sent})
			if !ok || got.second != at.Unix() || got.form != formHTTP {
				t.Fatalf("%s: got %+v, %t", sent, got, ok)
			}
		}
	})
}

// Who looks at all digits again for each of them does not end.
func TestTimesTakeTimeByTheirLength(t *testing.T) {
	digits := strings.Repeat("9", 1<<20)
	for sent, want := range map[string]string{
		digits:                                digits,
		"2024-03-01T10:00:00." + digits + "Z": "2024-03-01T10:00:00." + digits + "Z",
		"1709287200." + digits:                "2024-03-01T10:00:00." + digits + "Z",
		"2024-03-01T10:00:00Z" + digits:       "2024-03-01T10:00:00Z" + digits,
		"Fri, " + digits:                      "Fri, " + digits,
	} {
		v := &Value{Type: String, Text: sent}
		if changed := toTime(v); v.Text != want || changed != (sent != want) {
			t.Errorf("%.30s… became %.30s… of %d bytes: changed is %t", sent, v.Text, len(v.Text), changed)
		}
	}
}

func FuzzCoerceTime(f *testing.F) {
	for _, text := range []string{
		"2024-03-01T10:00:00Z", "2024-03-01 10:00:00.250+0000", "20240301T1000-05", "2016-12-31T23:59:60.5Z", "9999-12-31T23:59:59-01:00", "0000-01-01T00:00:00+01:00",
		"Fri, 01 Mar 2024 10:00:00 GMT", "1 Mar 2024 10:00 +0100", "1709287200.5", "1709287200125", "2024-03-01", "2024-03-01T10:00:00", "\xED\xA0\x80", "\xFF\x80",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v := &Value{Type: String, Text: text}
		changed := toTime(v)
		if changed == (v.Text == text) || v.Type != String {
			t.Fatalf("%q became %q: changed is %t", text, v.Text, changed)
		}
		once := v.Text
		if toTime(v) {
			t.Fatalf("%q became %q, and then %q", text, once, v.Text)
		}
		want, err := time.Parse(time.RFC3339Nano, text) // which also takes hours of one digit, and offsets that there are not
		if err == nil && strings.HasSuffix(text, "Z") && fits(text[:19], "0000-00-00T00:00:00") {
			got, ok := readTime(&Value{Type: String, Text: text})
			if !ok || got.second != want.Unix() {
				t.Fatalf("%q is %s, not %+v", text, want, got)
			}
		}
	})
}
