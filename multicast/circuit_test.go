package multicast

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestCircuitOpensAfterFailuresRunning(t *testing.T) {
	now, f := time.Unix(1000, 0), new(flight)
	for _, outcome := range []Outcome{OutcomeDial, OutcomeTimeout, OutcomeReset, OutcomeProtocol} {
		var c circuit
		for i := range circuitFailures {
			if !c.passes(now) {
				t.Fatalf("%s: paused after %d failures", outcome, i)
			}
			c.ask(f)
			if turned := c.landed(f, outcome, now); turned != (i == circuitFailures-1) {
				t.Errorf("%s: failure %d turned it: %v", outcome, i+1, turned)
			}
		}
		if c.passes(now) || c.passes(now.Add(circuitPause-1)) || !c.passes(now.Add(circuitPause)) {
			t.Errorf("%s: not paused as it should be: %+v", outcome, c.read())
		}
	}
}

// What says nothing of the shadow's health neither opens a circuit nor keeps it from opening; an answer begins anew.
func TestCircuitCountsWhatRuns(t *testing.T) {
	now, f := time.Unix(1000, 0), new(flight)
	var c circuit
	for range circuitFailures - 1 {
		c.landed(f, OutcomeReset, now)
		c.landed(f, OutcomeStale, now)
		c.landed(f, OutcomeCancelled, now)
	}
	for _, outcome := range []Outcome{OutcomeOK, OutcomeOversize} {
		broken := c
		if broken.landed(f, OutcomeReset, now); broken.passes(now) {
			t.Error("not paused after the last failure")
		}
		if c.landed(f, outcome, now); c.failures != 0 {
			t.Errorf("%d failures are left after %s", c.failures, outcome)
		}
		c.failures = circuitFailures - 1
	}
}

// At the end of each pause one exchange tries the shadow; each failure doubles the pause, up to a minute, and what was
// asked before the pause counts no more.
func TestCircuitTries(t *testing.T) {
	now, before := time.Unix(1000, 0), new(flight)
	var c circuit
	for range circuitFailures {
		c.landed(before, OutcomeDial, now)
	}
	for _, pause := range []time.Duration{5, 10, 20, 40, 60, 60} {
		pause *= time.Second
		if c.landed(before, OutcomeOK, now) || c.landed(before, OutcomeDial, now) || c.read().State != "open" || !c.until.Equal(now.Add(pause)) {
			t.Fatalf("wanted a pause of %s, have %+v", pause, c.read())
		}
		if now = now.Add(pause); c.passes(now.Add(-1)) || !c.passes(now) {
			t.Fatalf("no trial after %s", pause)
		}
		undecided := new(flight)
		c.ask(undecided)
		if c.passes(now) || c.read().State != "trial" {
			t.Errorf("two trials at once: %+v", c.read())
		}
		if c.landed(undecided, OutcomeCancelled, now); !c.passes(now) {
			t.Error("a trial that was cancelled is not repeated")
		}
		trial := new(flight)
		c.ask(trial)
		if turned := c.landed(trial, OutcomeTimeout, now); turned || c.passes(now) {
			t.Errorf("a failed trial: turned %v, %+v", turned, c.read())
		}
	}
	now = now.Add(circuitLongest)
	trial := new(flight)
	c.ask(trial)
	if turned := c.landed(trial, OutcomeOK, now); !turned || !c.passes(now) || c.read() != (Circuit{State: "closed"}) {
		t.Errorf("after a good trial: turned %v, %+v", turned, c.read())
	}
	for range circuitFailures {
		c.landed(trial, OutcomeDial, now)
	}
	if !c.until.Equal(now.Add(circuitPause)) {
		t.Errorf("the next pause is %s", c.until.Sub(now))
	}
}

// elapse brings a shadow's pause to its end.
func (s *stage) elapse(role Role) {
	d := &s.proxy.dispatcher
	d.mu.Lock()
	defer d.mu.Unlock()
	s.proxy.setup.Load().shadows[role].circuit.until = time.Now()
}

// A candidate that is down is asked twenty times, each a difference, and then left alone together with the secondary; once
// it is up again, one exchange finds out.
func TestCandidateIsDownAndComesBack(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	_ = listener.Close()
	secondary := newUpstream(nil)
	t.Cleanup(secondary.server.Close)
	good := newHandlerServer(t, answer(200, "hello"))
	s := newRawStage(t, good, secondary.server.URL, "http://"+address, nil)
	get := func(n int) {
		t.Helper()
		for range n {
			if _, body := s.get("/a"); body != "hello" {
				t.Fatalf("the client got %q", body)
			}
			s.eventually("every request has its place", func() bool { return s.proxy.Counts().Open == 0 })
		}
	}
	get(50)
	for range circuitFailures {
		if ex := s.exchange(); ex.Unknown != "" || ex.Response(Candidate).Outcome != OutcomeDial || ex.Response(Secondary).Outcome != OutcomeOK {
			t.Errorf("the exchange is %q: %s, %s", ex.Unknown, ex.Response(Candidate).Outcome, ex.Response(Secondary).Outcome)
		}
	}
	if c := s.proxy.Counts().Circuit; c["candidate"].State != "open" || c["candidate"].Failures != circuitFailures ||
		c["candidate"].Until == nil || c["secondary"] != (Circuit{State: "closed"}) {
		t.Errorf("the circuits are %+v", c)
	}
	s.counts(Counts{Requests: 50, Exchanged: 20, Compared: 20, Dropped: map[Reason]int64{ReasonCircuit: 30}})

	s.elapse(Candidate) // still down
	get(5)
	s.exchange()
	s.counts(Counts{Requests: 55, Exchanged: 21, Compared: 21, Dropped: map[Reason]int64{ReasonCircuit: 34}})

	if listener, err = net.Listen("tcp", address); err != nil {
		t.Fatal(err)
	}
	back := httptest.NewUnstartedServer(answer(200, "hello"))
	_ = back.Listener.Close()
	back.Listener = listener
	back.Start()
	t.Cleanup(back.Close)
	s.elapse(Candidate)
	get(5)
	for range 5 {
		if ex := s.exchange(); ex.Response(Candidate).Outcome != OutcomeOK {
			t.Errorf("the candidate has %s", ex.Response(Candidate).Outcome)
		}
	}
	s.counts(Counts{Requests: 60, Exchanged: 26, Compared: 26, Dropped: map[Reason]int64{ReasonCircuit: 34}})
	if legs := s.proxy.Counts().Shadow; legs["candidate"].Paused != 34 || legs["secondary"].Paused != 0 {
		t.Errorf("whose pauses they were: %+v", legs)
	}
	if n := len(secondary.requests()); n != 26 {
		t.Errorf("the secondary was asked %d times", n)
	}
	log := s.log.String()
	if strings.Count(log, "shadow fails and is paused") != 1 || strings.Count(log, "shadow answers again") != 1 || strings.Contains(log, "hello") {
		t.Errorf("logged:\n%s", log)
	}
}

// Only one of a flock of requests is the trial, and while it is under way none of the others is asked about.
func TestOneTrialAtATime(t *testing.T) {
	release, asked := make(chan struct{}), make(chan struct{}, 100)
	s := newStage(t, map[Role]http.HandlerFunc{Candidate: hanging(release, asked)}, func(c *Config) { c.Shadow.Timeout = patience })
	d := &s.proxy.dispatcher
	d.mu.Lock()
	c := &s.proxy.setup.Load().shadows[Candidate].circuit
	for range circuitFailures {
		c.landed(new(flight), OutcomeDial, time.Now().Add(-time.Minute))
	}
	d.mu.Unlock()
	for range 10 {
		s.get("/a")
	}
	<-asked
	s.eventually("the others are dropped", func() bool { return s.proxy.Counts().Dropped[ReasonCircuit] == 9 })
	if state := s.proxy.Counts().Circuit["candidate"].State; state != "trial" {
		t.Errorf("the circuit is in state %s", state)
	}
	close(release)
	s.eventually("the circuit is closed", func() bool { return s.proxy.Counts().Circuit["candidate"].State == "closed" })
	s.counts(Counts{Requests: 10, Exchanged: 1, Compared: 1, Dropped: map[Reason]int64{ReasonCircuit: 9}})
}

// What waits when a shadow is paused is dropped at once: it would find nobody.
func TestPauseEmptiesTheQueue(t *testing.T) {
	release, asked := make(chan struct{}), make(chan struct{}, 100)
	refuse := func(w http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-release
		panic(http.ErrAbortHandler)
	}
	s := newStage(t, map[Role]http.HandlerFunc{Candidate: refuse}, func(c *Config) {
		c.Shadow.Concurrency, c.Shadow.Queue, c.Shadow.Timeout = circuitFailures, 30, patience
	})
	for range circuitFailures + 30 {
		s.get("/a")
	}
	for range circuitFailures {
		<-asked
	}
	s.eventually("the others wait", func() bool { return s.proxy.Counts().Queue == 30 })
	close(release)
	s.eventually("every request has its place", func() bool { return s.proxy.Counts().Open == 0 })
	c := s.proxy.Counts()
	if n := c.Exchanged; n < circuitFailures || n >= 2*circuitFailures || c.Dropped[ReasonCircuit] != circuitFailures+30-n {
		t.Errorf("counts are %+v", c)
	}
}
