package normalize

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"shadowdiff/multicast"
)

// showCookies is what is compared of cookies, on one line.
func showCookies(cookies []Cookie) string {
	var all []string
	for _, c := range cookies {
		text := c.Name
		for _, a := range c.Attributes {
			if text += " " + a.Name; a.Value != "" {
				text += "=" + a.Value
			}
		}
		all = append(all, text)
	}
	return strings.Join(all, "; ")
}

func TestCookiesAreReadAsBrowsersDo(t *testing.T) {
	for line, want := range map[string]string{
		"sid=1; Path=/; Secure":        "sid path=/ secure",
		" sid = 1 ;path=/":             "sid path=/",
		"bare":                         "",
		"=v; Path=/":                   " path=/",
		"__Host-sid=1; Secure; Path=/": "__Host-sid path=/ secure",
		"__host-sid=1":                 "__host-sid", // names have case, prefixes too
		"a=1; SAMESITE=StRiCt; HTTPOnly=x; Priority=High":    "a httponly priority=high samesite=strict",
		"a=1; Domain=.Example.COM; Path=/A":                  "a domain=example.com path=/A",
		"a=1; Path=/a; Path=/b; ; =x":                        "a path=/b",
		"a=1; Max-Age=3600; Expires=tomorrow":                "a expires=tomorrow max-age=3600",
		"a=1; Expires=Wed, 02 Dec 2026 10:00:00 GMT":         "a expires=in 48h0m0s",
		"a=1; Expires=Wed, 02-Dec-26 10:00:00 GMT":           "a expires=in 48h0m0s",
		"a=1; Expires=Wed Dec 02 2026 10:00:00 GMT+0000 (Z)": "a expires=in 48h0m0s",
		"a=1; Expires=Mon, 30 Nov 2026 10:00:00 GMT":         "a expires=past",
		"a=1; Expires=Thu, 01 Jan 1970 00:00:00 UTC":         "a expires=past",
		"a=1; Expires=Thu, 31 Feb 2027 00:00:00 GMT":         "a expires=Thu, 31 Feb 2027 00:00:00 GMT",
		"a=1; Expires=0":                   "a expires=0",
		"n\xe9=1; Partitioned; Extra=\xff": "n\xe9 extra=\xff partitioned",
	} {
		d := mustNew(t).Document("", multicast.Primary, &multicast.Response{Header: http.Header{
			"Date": {"Mon, 30 Nov 2026 10:00:00 GMT"}, "Set-Cookie": {line},
		}}, nil)
		if got := showCookies(d.Cookies); got != want {
			t.Errorf("%s\ngot  %q\nwant %q", line, got, want)
		}
	}
}

// The order of lines matters where one takes the place of another.
func TestCookiesOfOneNameKeepTheirOrder(t *testing.T) {
	read := func(lines ...string) string {
		return showCookies(mustNew(t).Document("", multicast.Primary, &multicast.Response{Header: http.Header{"Set-Cookie": lines}}, nil).Cookies)
	}
	if a, b := read("a=1; Path=/x", "b=1", "a=2; Path=/"), read("a=2; Path=/", "a=1; Path=/x", "b=1"); a != b {
		t.Errorf("two cookies of one name: %s, and %s", a, b)
	}
	if a, b := read("a=; Max-Age=0", "a=1; Max-Age=60"), read("a=1; Max-Age=60", "a=; Max-Age=0"); a == b {
		t.Errorf("set after it was deleted, and deleted after it was set: %s", a)
	}
}

func TestCookiesLiveAsLong(t *testing.T) {
	sent := time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC)
	at := func(life time.Duration) Attribute {
		return expires(sent.Add(life).Format(http.TimeFormat), sent)
	}
	undated := expires(sent.Add(time.Hour).Format(http.TimeFormat), time.Time{})
	for _, tc := range []struct {
		a, b  Attribute
		alike bool
	}{
		{at(time.Hour), at(time.Hour + time.Minute), true},
		{at(time.Hour), at(time.Hour + time.Minute + time.Second), false},
		{at(365 * 24 * time.Hour), at(362 * 24 * time.Hour), true},
		{at(365 * 24 * time.Hour), at(24 * time.Hour), false},
		{at(time.Hour), at(-time.Hour), false},
		{at(time.Hour), undated, true},
		{undated, undated, true},
		{at(-time.Hour), undated, false},
		{at(time.Hour), Attribute{Name: "expires", Value: "soon"}, false},
		{Attribute{Name: "path", Value: "/"}, Attribute{Name: "path", Value: "set"}, false},
	} {
		if tc.a.Alike(tc.b) != tc.alike || tc.b.Alike(tc.a) != tc.alike {
			t.Errorf("%v and %v are to be alike: %t", tc.a, tc.b, tc.alike)
		}
	}
}

// What net/http writes and reads as a date is read as the same one, and nothing crashes.
func FuzzParseDate(f *testing.F) {
	for _, seed := range []string{
		"Mon, 30 Nov 2026 10:00:00 GMT", "Monday, 30-Nov-26 10:00:00 GMT", "Mon Nov 30 10:00:00 2026", "30 nov 69 1:2:3", "10:00:00 1 Jan 1601", "\x7f\xff:::", "",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		at, ok := parseDate(text)
		if known, err := time.Parse(http.TimeFormat, text); err == nil && known.Year() > 1600 && (!ok || !at.Equal(known)) {
			t.Errorf("%q: %v, %t", text, at, ok)
		}
		if ok && at.Year() < 9999 {
			if again, ok := parseDate(at.Format(http.TimeFormat)); !ok || !again.Equal(at) {
				t.Errorf("%q is %v, and that is %v", text, at, again)
			}
		}
	})
}
