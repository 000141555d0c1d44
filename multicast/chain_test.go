package multicast

import (
	"net"
	"strings"
	"testing"
)

// asks are the requests that an upstream has had, as it got them.
func asks(heads <-chan string) (all []string) {
	for {
		select {
		case head := <-heads:
			all = append(all, head)
		default:
			return all
		}
	}
}

// headerOf is the one value of this name in a head, which must be there once at most.
func headerOf(t *testing.T, head, name string) (value string) {
	t.Helper()
	for i, line := range strings.Split(head, "\r\n"+name+": ")[1:] {
		if i > 0 {
			t.Errorf("%s more than once: %q", name, head)
		}
		value, _, _ = strings.Cut(line, "\r\n")
	}
	return value
}

// A proxy whose candidate is another proxy: the second one serves the copy from its primary, mark and all, and asks nobody
// else, whatever the way between the two.
func TestChainEndsAtTheSecondProxy(t *testing.T) {
	for _, scheme := range []string{"http://", "h2c://"} {
		t.Run(scheme, func(t *testing.T) {
			far, farShadows := make(chan string, 10), make(chan string, 10)
			second := newRawStage(t, echoRaw(t, far), echoRaw(t, farShadows), echoRaw(t, farShadows), nil)
			near, control := make(chan string, 10), make(chan string, 10)
			first := newRawStage(t, echoRaw(t, near), echoRaw(t, control), scheme+second.addr, nil)
			if res, body := first.get("/a%2Fb?c"); res.StatusCode != 200 || body != "ok" {
				t.Errorf("the client got %d %q", res.StatusCode, body)
			}
			ex := first.exchange()
			if got := ex.Response(Candidate); ex.Unknown != "" || got.Outcome != OutcomeOK || string(got.Body) != "ok" {
				t.Errorf("the exchange is %q, the candidate %s %q", ex.Unknown, got.Outcome, got.Body)
			}
			first.counts(Counts{Requests: 1, Exchanged: 1, Compared: 1})
			second.counts(Counts{Requests: 1, Skipped: map[Reason]int64{ReasonLoop: 1}})
			got := asks(far)
			if len(got) != 1 || !strings.HasPrefix(got[0], "GET /a%2Fb?c HTTP/1.1\r\nHost: shop.example\r\n") ||
				headerOf(t, got[0], "X-Shadow-Request") != "1" || headerOf(t, got[0], "X-Shadow-Id") != ex.ID {
				t.Errorf("the second proxy's primary got %q, the exchange is %s", got, ex.ID)
			}
			if got := asks(farShadows); len(got) > 0 {
				t.Errorf("the second proxy's shadows got %q", got)
			}
			if a, b := asks(near), asks(control); len(a) != 1 || len(b) != 1 || strings.Contains(a[0], "X-Shadow") {
				t.Errorf("the first proxy's primary got %q, its secondary %q", a, b)
			}
			first.stop()
			second.stop()
		})
	}
}

// A proxy that is its own candidate, or both of its own shadows, has one request more for each, and no more.
func TestOwnShadow(t *testing.T) {
	for _, both := range []bool{false, true} {
		asked, control := make(chan string, 100), make(chan string, 100)
		primary, secondary := echoRaw(t, asked), echoRaw(t, control)
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		self, copies := "http://"+listener.Addr().String(), 1
		if both {
			secondary, copies = self, 2
		}
		s := newRawStage(t, primary, secondary, self, nil)
		server, served := s.proxy.Server(), make(chan struct{})
		go func() {
			defer close(served)
			_ = server.Serve(listener)
		}()
		t.Cleanup(func() {
			_ = server.Close()
			<-served
		})
		const requests = 5
		for range requests {
			if res, body := s.get("/a"); res.StatusCode != 200 || body != "ok" {
				t.Errorf("the client got %d %q", res.StatusCode, body)
			}
			if ex := s.exchange(); ex.Unknown != "" || ex.Response(Candidate).Outcome != OutcomeOK {
				t.Errorf("the exchange is %q, the candidate %s", ex.Unknown, ex.Response(Candidate).Outcome)
			}
		}
		looped := int64(requests * copies)
		s.counts(Counts{
			Requests: requests + looped, Exchanged: requests, Compared: requests, Skipped: map[Reason]int64{ReasonLoop: looped},
		})
		got, marked := asks(asked), 0
		for _, head := range got {
			if headerOf(t, head, "X-Shadow-Request") == "1" {
				marked++
			}
		}
		if len(got) != requests*(1+copies) || marked != requests*copies {
			t.Errorf("the primary was asked %d times, %d of them as a shadow", len(got), marked)
		}
	}
}
