package multicast

import (
	"testing"
)

func TestOneExchange(t *testing.T) {
	s := newStage(t, nil, nil)
	res, body := s.get("/a?b=c")
	if res.StatusCode != 200 || body != "hello" {
		t.Fatalf("got %d %q", res.StatusCode, body)
	}
	ex := s.exchange()
	if ex.Request.Target != "/a?b=c" || ex.Unknown != "" || len(ex.ID) != 32 {
		t.Errorf("exchange %+v", ex)
	}
	for role := range ex.Responses {
		if r := ex.Response(Role(role)); r.Outcome != OutcomeOK || string(r.Body) != "hello" || r.Status != 200 {
			t.Errorf("%s: %+v", Role(role), r)
		}
		if n := len(s.upstream[role].requests()); n != 1 {
			t.Errorf("%s was asked %d times", Role(role), n)
		}
	}
	s.counts(Counts{Requests: 1, Exchanged: 1, Compared: 1})
}
