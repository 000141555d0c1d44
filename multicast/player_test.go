package multicast

import (
	"context"
	"io"
	"net/http"
	"testing"
)

// TestARecordedRequestIsPlayed: asked of all three and counted as a client's; with a recorded answer the primary is left
// alone; what may not be shadowed is not asked at all.
func TestARecordedRequestIsPlayed(t *testing.T) {
	s := newStage(t, map[Role]http.HandlerFunc{Candidate: func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/hang" {
			<-r.Context().Done()
			return
		}
		_, _ = io.WriteString(w, "other")
	}}, func(cfg *Config) {
		shadow := false
		cfg.Sample = 0 // which is clients'
		cfg.Routes = []RouteConfig{{Match: "/secret", Shadow: &shadow}}
	})
	req := func(path string) *Request {
		return &Request{Method: "GET", Target: path, Host: "shop.example", Header: http.Header{"X-A": {"b"}}}
	}
	if reason := s.proxy.Play(t.Context(), req("/live"), nil); reason != "" {
		t.Errorf("not compared: %s", reason)
	}
	ex := <-s.exchanges
	for role, want := range []string{"hello", "hello", "other"} {
		if got := ex.Response(Role(role)); string(got.Body) != want || len(s.upstream[role].requests()) != 1 {
			t.Errorf("%s: %q, asked %d times", Role(role), got.Body, len(s.upstream[role].requests()))
		}
	}
	recorded := &Response{Outcome: OutcomeOK, Status: 200, Header: http.Header{"X-Old": {"1"}}, Body: []byte("then"), Size: 4}
	if reason := s.proxy.Play(t.Context(), req("/recorded"), recorded); reason != "" {
		t.Errorf("not compared: %s", reason)
	}
	if ex = <-s.exchanges; string(ex.Response(Primary).Body) != "then" || len(s.upstream[Primary].requests()) != 1 || len(s.upstream[Secondary].requests()) != 2 {
		t.Errorf("against recorded: %+v, the primary is asked %d times", ex.Response(Primary), len(s.upstream[Primary].requests()))
	}
	if reason := s.proxy.Play(t.Context(), req("/secret"), nil); reason != ReasonRoute {
		t.Errorf("a route that is not shadowed: %q", reason)
	}
	refused := &Response{Outcome: OutcomeOK, Status: 503}
	if reason := s.proxy.Play(t.Context(), req("/refused"), refused); reason != ReasonPrimaryRefused {
		t.Errorf("a primary that refused: %q", reason)
	}
	<-s.exchanges
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan Reason)
	go func() { done <- s.proxy.Play(ctx, req("/hang"), nil) }()
	s.eventually("the candidate is asked", func() bool { return len(s.upstream[Candidate].requests()) == 4 })
	cancel()
	if reason := <-done; reason != ReasonCancelled {
		t.Errorf("cancelled: %q", reason)
	}
	<-s.exchanges
	s.counts(Counts{
		Requests: 5, Skipped: map[Reason]int64{ReasonRoute: 1}, Exchanged: 4, Compared: 2,
		Unknown: map[Reason]int64{ReasonPrimaryRefused: 1, ReasonCancelled: 1},
	})
}

// A client may send what no URL has; it is asked again byte for byte.
func TestWhatIsPlayedIsAskedAsItWasSent(t *testing.T) {
	s := newStage(t, nil, nil)
	for i, target := range []string{"/a?b#c", "/a#b?c", "//a/%2f?%zz"} {
		if reason := s.proxy.Play(t.Context(), &Request{Method: "GET", Target: target, Host: "a"}, nil); reason != "" {
			t.Fatalf("%s: %s", target, reason)
		}
		<-s.exchanges
		for role := range s.upstream {
			if got := s.upstream[role].requests()[i].target; got != target {
				t.Errorf("the %s was asked for %s, want %s", Role(role), got, target)
			}
		}
	}
}
