package multicast

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// again asks, and answers the exchange as it was when it was delivered.
func (s *stage) again(req *Request) *Exchange {
	s.t.Helper()
	var got *Exchange
	if err := s.proxy.Ask(s.t.Context(), req, func(ex *Exchange) { got = keep(ex) }); err != nil {
		s.t.Fatal(err)
	}
	return got
}

// notAsked asks what must be refused for this reason.
func (s *stage) notAsked(req *Request, want Reason) {
	s.t.Helper()
	err := s.proxy.Ask(s.t.Context(), req, func(*Exchange) { s.t.Error("delivered") })
	var no *NotAsked
	if !errors.As(err, &no) || no.Reason != want || no.Detail == "" {
		s.t.Errorf("want %s, got %v", want, err)
	}
	for _, u := range s.upstream {
		if u != nil && len(u.requests()) > 0 {
			s.t.Fatalf("somebody was asked: %+v", u.requests()[0])
		}
	}
}

func TestARequestIsAskedAgainOfAllThree(t *testing.T) {
	says := func(word string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			w.Header().Set("X-Word", word)
			fmt.Fprintf(w, "%s heard %q", word, body)
		}
	}
	s := newStage(t, map[Role]http.HandlerFunc{Primary: says("p"), Secondary: says("s"), Candidate: says("c")}, func(cfg *Config) {
		cfg.Methods = append(cfg.Methods, "PUT")
		cfg.Shadow.SetHeaders = map[string]string{"X-Copy": "yes"}
		cfg.Shadow.RemoveHeaders = []string{"X-Secret"}
		cfg.Routes = []RouteConfig{{Match: "PUT /things/{id}", Name: "things"}}
	})
	ex := s.again(&Request{
		Method: "PUT", Target: "/things/7?a=%2F&b", Host: "shop.example", Body: []byte("hello"),
		Header:  http.Header{"X-Secret": {"s"}, "Traceparent": {"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}, "Connection": {"close"}, "Expect": {"100-continue"}, "X-Shadow-Id": {"mine"}, "X_shadow_request": {"0"}},
		Trailer: http.Header{"X-Sum": {"9"}},
	})
	if ex.Unknown != "" || ex.Route != "things" || !ex.Configured || len(ex.ID) != 32 {
		t.Errorf("exchange %+v", ex)
	}
	for role, word := range []string{"p", "s", "c"} {
		res := ex.Response(Role(role))
		if res.Outcome != OutcomeOK || string(res.Body) != word+` heard "hello"` || res.Header.Get("X-Word") != word {
			t.Errorf("%s: %+v %q", Role(role), res, res.Body)
		}
		asked := s.upstream[role].requests()
		if len(asked) != 1 {
			t.Fatalf("%s was asked %d times", Role(role), len(asked))
		}
		got := asked[0]
		if got.method != "PUT" || got.target != "/things/7?a=%2F&b" || got.host != "shop.example" || got.trailer.Get("X-Sum") != "9" {
			t.Errorf("%s got %+v", Role(role), got)
		}
		shadow := Role(role) != Primary
		if (got.header.Get("X-Copy") == "yes") != shadow || (got.header.Get("X-Secret") == "") != shadow {
			t.Errorf("%s got header %v", Role(role), got.header)
		}
		if got.header["Expect"] != nil || got.header["X_shadow_request"] != nil || len(got.header["X-Shadow-Id"]) != 1 {
			t.Errorf("%s got header %v", Role(role), got.header)
		}
		if got.header.Get("X-Shadow-Request") != "1" || got.header.Get("X-Shadow-Id") != ex.ID ||
			!strings.HasSuffix(got.header.Get("Traceparent"), "-00") {
			t.Errorf("%s does not know that it is a copy: %v", Role(role), got.header)
		}
	}
	s.counts(Counts{})
	if len(s.exchanges) > 0 {
		t.Error("it was delivered as if a client had asked")
	}
}

func TestWhatIsNotShadowedIsNotAskedAgain(t *testing.T) {
	s := newStage(t, nil, func(cfg *Config) {
		cfg.Shadow.MaxRequestBody = 4
		no := false
		cfg.Routes = []RouteConfig{{Match: "/login", Shadow: &no}}
	})
	get := &Request{Method: "GET", Target: "/x", Header: http.Header{}}
	s.notAsked(&Request{Method: "POST", Target: "/x"}, ReasonMethod)
	s.notAsked(&Request{Method: "GET", Target: "/x", Header: http.Header{"X-Http-Method-Override": {"DELETE"}}}, ReasonMethod)
	s.notAsked(&Request{Method: "GET", Target: "/login?a"}, ReasonRoute)
	s.notAsked(&Request{Method: "GET", Target: "/x", Body: []byte("12345")}, ReasonBodyTooLarge)
	s.notAsked(&Request{Method: "GET", Target: "x y"}, ReasonRequestIncomplete)
	s.notAsked(&Request{Method: "CONNECT", Target: "/x"}, ReasonConnect)

	s.proxy.setGuarded(true)
	s.notAsked(get, ReasonGuard)
	s.proxy.setGuarded(false)
	d := &s.proxy.dispatcher
	d.mu.Lock()
	circuit := &s.proxy.setup.Load().shadows[Candidate].circuit
	circuit.pause, circuit.until = time.Hour, time.Now().Add(time.Hour)
	d.mu.Unlock()
	s.notAsked(get, ReasonCircuit)
	d.mu.Lock()
	circuit.pause = 0
	d.mu.Unlock()
	off := false
	s.proxy.SetShadowing(&off, nil)
	s.notAsked(get, ReasonDisabled)
	s.stop()
	on := true
	s.proxy.SetShadowing(&on, nil)
	s.notAsked(get, ReasonShutdown)
}

func TestWithoutACandidateNothingIsAskedAgain(t *testing.T) {
	s := newStage(t, nil, func(cfg *Config) { cfg.Candidate = "" })
	s.notAsked(&Request{Method: "GET", Target: "/x"}, ReasonDisabled)
}

func TestAPrimaryThatRefusesIsNothingToCompareWith(t *testing.T) {
	s := newStage(t, map[Role]http.HandlerFunc{Primary: answer(503, "not now")}, nil)
	if ex := s.again(&Request{Method: "GET", Target: "/x"}); ex.Unknown != ReasonPrimaryRefused || ex.Response(Candidate).Status != 200 {
		t.Errorf("exchange %+v", ex)
	}
	s.upstream[Primary].server.Close()
	if ex := s.again(&Request{Method: "GET", Target: "/x"}); ex.Unknown != ReasonPrimaryFailed && ex.Unknown != ReasonStale {
		t.Errorf("exchange %+v", ex)
	}
	if ex := s.again(&Request{Method: "GET", Target: "/x"}); ex.Unknown != ReasonPrimaryFailed || ex.Response(Primary).Outcome != OutcomeDial {
		t.Errorf("exchange %+v", ex)
	}
	if strings.Contains(s.log.String(), "role=primary") {
		t.Errorf("the primary is called a shadow:\n%s", s.log)
	}
}

func TestOnlyTwoAreAskedAgainAtOneTime(t *testing.T) {
	var now, most atomic.Int64
	arrived, free := make(chan struct{}, 10), make(chan struct{})
	s := newStage(t, map[Role]http.HandlerFunc{Primary: func(w http.ResponseWriter, _ *http.Request) {
		for n := now.Add(1); n > most.Load(); {
			most.Store(n)
		}
		arrived <- struct{}{}
		<-free
		now.Add(-1)
	}}, nil)
	done := make(chan error, 5)
	for range 5 {
		go func() {
			done <- s.proxy.Ask(t.Context(), &Request{Method: "GET", Target: "/x"}, func(*Exchange) {})
		}()
	}
	<-arrived
	<-arrived
	late, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.proxy.Ask(late, &Request{Method: "GET", Target: "/x"}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("one that waits ends with %v", err)
	}
	close(free)
	for range 5 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if most.Load() > maxAsks {
		t.Errorf("%d were asked at one time", most.Load())
	}
}

func TestAskingAgainEndsWhenItIsToEnd(t *testing.T) {
	for name, end := range map[string]func(s *stage, cancel context.CancelFunc){
		"the caller goes": func(_ *stage, cancel context.CancelFunc) { cancel() },
		"the switch goes off": func(s *stage, _ context.CancelFunc) {
			off := false
			s.proxy.SetShadowing(&off, nil)
		},
		"the process ends": func(s *stage, _ context.CancelFunc) { s.cancel() },
	} {
		t.Run(name, func(t *testing.T) {
			arrived := make(chan struct{}, 10)
			s := newStage(t, map[Role]http.HandlerFunc{Candidate: func(_ http.ResponseWriter, r *http.Request) {
				arrived <- struct{}{}
				<-r.Context().Done()
			}}, func(cfg *Config) { cfg.Shadow.Timeout = time.Hour })
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			done := make(chan error)
			var unknown Reason
			go func() {
				done <- s.proxy.Ask(ctx, &Request{Method: "GET", Target: "/x"}, func(ex *Exchange) { unknown = ex.Unknown })
			}()
			<-arrived
			end(s, cancel)
			select {
			case err := <-done:
				if err != nil && !errors.Is(err, context.Canceled) || err == nil && unknown == "" {
					t.Errorf("ended with %v, %q", err, unknown)
				}
			case <-time.After(patience):
				t.Fatal("it goes on")
			}
		})
	}
}

func TestAskingAgainLeavesTheCountsAndTheClientsAlone(t *testing.T) {
	s := newStage(t, map[Role]http.HandlerFunc{Candidate: answer(500, "broken")}, func(cfg *Config) { cfg.Shadow.MaxResponseBody = 3 })
	for range circuitFailures + 5 {
		s.get("/x")
		if ex := s.again(&Request{Method: "GET", Target: "/x"}); !ex.Response(Primary).Over || ex.Response(Primary).Size != 5 {
			t.Fatalf("primary %+v", ex.Response(Primary))
		}
		s.exchange()
	}
	n := int64(circuitFailures + 5)
	s.counts(Counts{Requests: n, Exchanged: n, Compared: n})
	s.outcomes(Candidate, map[Outcome]int64{OutcomeOK: n})
	if got := s.proxy.Counts().InFlight; !maps.Equal(got, map[string]int64{"secondary": 0, "candidate": 0}) {
		t.Errorf("in flight %v", got)
	}
}

func TestAPanicInComparingWhatWasAskedAgainIsAnError(t *testing.T) {
	s := newStage(t, nil, nil)
	err := s.proxy.Ask(t.Context(), &Request{Method: "GET", Target: "/x"}, func(*Exchange) { panic("odd") })
	if !errors.Is(err, errPanic) {
		t.Errorf("got %v", err)
	}
	if bytes := s.proxy.Counts().CapturedBytes; bytes != 0 {
		t.Errorf("%d bytes are held", bytes)
	}
	s.log.mu.Lock()
	s.log.b.Reset() // what was logged is no request's that is counted
	s.log.mu.Unlock()
}

func TestAskingAgainSpeaksTLSAndNeedsNoSecondary(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Proto) }))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	s := newRawStage(t, server.URL, "", server.URL, func(cfg *Config) {
		cfg.Upstream.TLS.InsecureSkipVerify, cfg.Shadow.Candidate.TLS.InsecureSkipVerify = true, true
	})
	for range 2 {
		ex := s.again(&Request{Method: "GET", Target: "/x", Host: "shop.example"})
		for _, role := range []Role{Primary, Candidate} {
			if res := ex.Response(role); string(res.Body) != "HTTP/2.0" || res.Outcome != OutcomeOK {
				t.Errorf("%s: %+v %q", role, res, res.Body)
			}
		}
		if ex.Unknown != "" || ex.Response(Secondary).Outcome != "" {
			t.Errorf("exchange %+v", ex)
		}
	}
}
