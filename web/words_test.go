package web

import (
	"testing"
	"time"

	"shadowdiff/multicast"
)

func TestWords(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{count(0), "0"},
		{count(999), "999"},
		{count(12840), "12,840"},
		{count(-1234567), "−1,234,567"},
		{rate(0.99984, 0.0015), "99.98\u202f%"},
		{rate(0.5, 0.2), "50\u202f%"},
		{rate(0.00016, 0.0026), "0.02\u202f%"},
		{rate(0.999999, 0.2), "99.9999\u202f%"},
		{rate(1, 0.2), "100\u202f%"},
		{rate(-0.0004, 0.1), "−0.04\u202f%"},
		{rate(0, 0), "0.00\u202f%"},
		{between(0.9985, 1), "99.85 … 100.00\u202f%"},
		{between(0.9957, 0.99999999), "99.57 … 100.00\u202f%"},
		{between(-0.02, 0.07), "−2 … 7\u202f%"},
		{plain(0.001), "0.1\u202f%"},
		{plain(0.05), "5\u202f%"},
		{plain(1), "100\u202f%"},
		{plain(0.00001), "0.001\u202f%"},
		{share(0, 0), "–"},
		{share(0, 12), "0\u202f%"},
		{share(12, 12), "100\u202f%"},
		{share(9, 4100), "0.22\u202f%"},
		{share(1, 3), "33\u202f%"},
		{odds(-4), "no evidence"},
		{odds(8.95), "7,700 to 1"},
		{odds(3), "20 to 1"},
		{odds(400), "over a million to 1"},
		{took(0), "–"},
		{took(640 * time.Microsecond), "640\u202fµs"},
		{took(38130 * time.Microsecond), "38.1\u202fms"},
		{took(1240 * time.Millisecond), "1.24\u202fs"},
		{size(312), "312\u202fB"},
		{size(1229), "1.20\u202fKiB"},
		{size(64 << 20), "64.0\u202fMiB"},
		{size(3 << 30), "3.00\u202fGiB"},
		{things(1, "request"), "1 request"},
		{things(2100, "request"), "2,100 requests"},
		{listed(nil, 3), ""},
		{listed([]string{"a"}, 3), "a"},
		{listed([]string{"a", "b"}, 3), "a and b"},
		{listed([]string{"a", "b", "c", "d"}, 2), "a, b and 2 more"},
		{moreRequests(1), "1 more request"},
		{moreRequests(3381), "3,400 more requests"},
		{moreRequests(2_633_107), "2,700,000 more requests"},
		{clock(time.Date(2026, 11, 30, 10, 41, 7, 0, time.UTC)), "10:41:07 UTC"},
		{moment(time.Date(2026, 11, 30, 10, 41, 7, 0, time.UTC)), "30 Nov 10:41:07 UTC"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

// Every reason has its sentence: a count without one explains nothing.
func TestEveryReasonHasItsMeaning(t *testing.T) {
	for _, r := range []multicast.Reason{
		multicast.ReasonDisabled, multicast.ReasonConnect, multicast.ReasonUpgrade, multicast.ReasonSignedIn, multicast.ReasonLoop, multicast.ReasonRoute,
		multicast.ReasonMethod, multicast.ReasonNotSampled, multicast.ReasonClientAborted, multicast.ReasonPrimaryFailed,
		multicast.ReasonPrimaryRefused, multicast.ReasonRequestIncomplete, multicast.ReasonBodyTooLarge, multicast.ReasonStream,
		multicast.ReasonQueue, multicast.ReasonMemory, multicast.ReasonPrimaryIncomplete, multicast.ReasonShadowsFailed,
		multicast.ReasonStale, multicast.ReasonOversize, multicast.ReasonCancelled, multicast.ReasonShutdown, multicast.ReasonPanic,
	} {
		if reasonMeaning(r) == "" {
			t.Errorf("%s has none", r)
		}
	}
}

func TestAddressesReadBack(t *testing.T) {
	for _, name := range []string{"GET /users/{id}", "POST host.example/a b?", "(other)", "GET /ü/\xff"} {
		if got, ok := readRouteID(routeID(name)); !ok || got != name {
			t.Errorf("route %q read back as %q", name, got)
		}
		if route, field, ok := readFieldID(fieldID(name, `body["a.b"][]`)); !ok || route != name || field != `body["a.b"][]` {
			t.Errorf("field of %q read back as %q %q", name, route, field)
		}
	}
	for _, bad := range []string{"", "!", "R0VU=", routeID("GET /x")} {
		if _, _, ok := readFieldID(bad); ok {
			t.Errorf("%q is taken for a field", bad)
		}
	}
	for path, want := range map[string]bool{
		"/": true, "/routes/x?y#z": true, "//evil.example": false, "/\\evil.example": false, "https://evil.example": false, "": false, "/a\r\nb": false,
	} {
		if local(path) != want {
			t.Errorf("local(%q) is %t", path, !want)
		}
	}
}

// A reason is read as a sentence, but a field is written as a rule takes it.
func TestReasonsAreSentences(t *testing.T) {
	for reason, want := range map[string]string{
		"the interval reaches 0.5%, over the budget of 0.1%":                                  "The interval reaches 0.5%, over the budget of 0.1%.",
		"1,000 requests are to be compared, so far it is 7":                                   "1,000 requests are to be compared, so far it is 7.",
		"body.price on GET /a differs":                                                        "body.price on GET /a differs.",
		`body["a b"].c on GET /a differs`:                                                     `body["a b"].c on GET /a differs.`,
		"status on GET /a differs":                                                            "status on GET /a differs.",
		"at body.a on GET /a the control alone differs; is the secondary the primary's twin?": "At body.a on GET /a the control alone differs; is the secondary the primary's twin?",
		"different by themselves: GET /on on a":                                               "Different by themselves: GET /on on a.",
		"beside the verdict: body.a on GET /a is slow":                                        "Beside the verdict: body.a on GET /a is slow.",
	} {
		if got := reasonOf(reason); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
