package multicast

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// panicking is a way on which something is always wrong.
type panicking struct{ inner way }

func (w panicking) close() { w.inner.close() }

func (w panicking) forget() { w.inner.forget() }

func (w panicking) ask(f *flight, deadline time.Time, on *progress) (*http.Response, error) {
	if f.ex.Request.Target == "/panic" {
		panic("by a test")
	}
	return w.inner.ask(f, deadline, on)
}

// A panic on the shadow side loses one exchange, which is counted, and nothing else: the client has its answer, no leg is
// in flight for ever, and the next exchange is as any other.
func TestPanicOnTheShadowSide(t *testing.T) {
	for name, spoil := range map[string]func(s *stage){
		"asking": func(s *stage) {
			for _, role := range [...]Role{Secondary, Candidate} {
				shadow := s.proxy.setup.Load().shadows[role]
				shadow.way = panicking{shadow.way}
			}
		},
		"observing": func(s *stage) {
			first := true
			s.proxy.deps.ObserveShadow = func(role Role, _ Outcome, _ time.Duration) {
				if role == Candidate && first {
					first = false
					panic("by a test")
				}
			}
		},
		"comparing": func(s *stage) {
			inner := s.proxy.deps.Deliver
			s.proxy.deps.Deliver = func() Deliver {
				return func(ex *Exchange) {
					if inner()(ex); ex.Request.Target == "/panic" && ex.Unknown == "" {
						panic("by a test")
					}
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, nil, func(c *Config) { c.Shadow.Concurrency, c.Shadow.Queue = 1, 10 })
			spoil(s)
			for i, target := range []string{"/panic", "/b", "/c"} {
				if res, body := s.get(target); res.StatusCode != 200 || body != "hello" {
					t.Fatalf("the client got %d %q", res.StatusCode, body)
				}
				ex := s.exchange()
				if i > 0 && (ex.Unknown != "" || ex.Response(Candidate).Outcome != OutcomeOK) || name != "comparing" && i == 0 && ex.Unknown != ReasonPanic {
					t.Errorf("%s: the exchange is %q, the candidate %s", target, ex.Unknown, ex.Response(Candidate).Outcome)
				}
			}
			s.counts(Counts{Requests: 3, Exchanged: 3, Compared: 2, Unknown: map[Reason]int64{ReasonPanic: 1}})
			if !strings.Contains(s.log.String(), "panicked") {
				t.Error("nothing was logged")
			}
		})
	}
}
