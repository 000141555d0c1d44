package web

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"
)

// forgive forgets all wrong tokens.
func (g *guesses) forgive() {
	g.mu.Lock()
	defer g.mu.Unlock()
	clear(g.from)
}

// Whoever tries tokens waits longer for each answer; others do not wait for it, nor does the right token from the same
// address, and who gives none is not counted.
func TestAGuesserWaitsAndNobodyElse(t *testing.T) {
	const token = "correct-horse-battery"
	r := newRig(t, shop("1"), shop("2"), func(c *Config) { c.Token = token })
	right := "Authorization: Bearer " + token
	for i := range freeGuesses {
		if a := r.knock("GET", "/api/v1/counters", http.NoBody, fmt.Sprintf("Authorization: Bearer guess-%d", i)); a.status != http.StatusUnauthorized {
			t.Fatalf("a guess is answered %d", a.status)
		}
	}
	for range 20 {
		if a := r.knock("GET", "/", http.NoBody); a.status != http.StatusUnauthorized {
			t.Fatalf("without a token: %d", a.status)
		}
	}
	if a := r.knock("GET", "/metrics", http.NoBody, right); !strings.Contains(a.body, fmt.Sprintf("shadowdiff_wrong_tokens_total %d\n", freeGuesses)) {
		t.Error("the metric does not count them")
	}
	here := netip.MustParseAddr("127.0.0.1")
	for r.server.guesses.wrong(here, time.Now()) < longestWait { // many more
	}
	for _, path := range []string{"/readyz", "/nowhere", "/api/v1/counters"} {
		ctx, leave := context.WithCancel(t.Context())
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.admin.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer guess")
		left, began := make(chan error, 1), time.Now()
		go func() {
			res, err := http.DefaultTransport.RoundTrip(req)
			if err == nil {
				res.Body.Close()
			}
			left <- err
		}()
		if a := r.knock("GET", "/api/v1/counters", http.NoBody, right); a.status != http.StatusOK {
			t.Errorf("the right token meanwhile: %d", a.status)
		}
		leave()
		if err := <-left; err == nil && time.Since(began) < longestWait {
			t.Errorf("a guess at %s was answered after %s", path, time.Since(began))
		}
	}
}

// The waits grow to their bound, are of one address each, and are forgotten after a while; so are addresses when there are
// too many.
func TestWaitsOfGuessers(t *testing.T) {
	var g guesses
	now := time.Unix(0, 0)
	one, other := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	var waits []time.Duration
	for range freeGuesses + 8 {
		waits = append(waits, g.wrong(one, now))
	}
	want := "[0s 0s 0s 0s 0s 100ms 200ms 400ms 800ms 1.6s 3.2s 5s 5s]"
	if got := fmt.Sprint(waits); got != want {
		t.Errorf("they wait %s, want %s", got, want)
	}
	if wait := g.wrong(other, now); wait != 0 {
		t.Errorf("another address waits %s", wait)
	}
	if wait := g.wrong(netip.MustParseAddr("::ffff:192.0.2.1"), now.Add(guessedFor)); wait != longestWait {
		t.Errorf("the same within ten minutes: %s", wait)
	}
	if wait := g.wrong(one, now.Add(2*guessedFor+time.Second)); wait != 0 {
		t.Errorf("after more than ten minutes: %s", wait)
	}
	for i := range freeGuesses + 1 {
		wait := g.wrong(netip.MustParseAddr(fmt.Sprintf("2001:db8::%x", i)), now)
		if i == freeGuesses && wait != firstWait {
			t.Errorf("one network of IPv6 waits %s", wait)
		}
	}
	for i := range 2 * mostGuessers {
		g.wrong(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), now.Add(time.Duration(i)*time.Second))
	}
	if len(g.from) != mostGuessers {
		t.Errorf("%d addresses are remembered", len(g.from))
	}
	g.wrong(netip.Addr{}, now) // what is no address of IP
	if at := time.Now(); !g.news(at) || g.news(at.Add(time.Second)) || !g.news(at.Add(time.Minute)) {
		t.Error("the log is not told once a minute")
	}
}
