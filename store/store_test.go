package store

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"shadowdiff/diff"
	"shadowdiff/multicast"
)

// noon is when the exchanges of most stories happen: long ago, by any clock.
var noon = time.Date(2025, 6, 2, 12, 0, 0, 0, time.UTC)

// candidateV1 is the run of most stories.
var candidateV1 = Fingerprint{Candidate: "http://candidate:1", Rules: "drop body.generated_at"}

func testConfig(t *testing.T) Config {
	cfg := DefaultConfig()
	cfg.Path = filepath.Join(t.TempDir(), "shadowdiff.db")
	return cfg
}

// openStore opens a store that is closed with the test.
func openStore(t testing.TB, cfg Config, deps Deps) *DB {
	t.Helper()
	if deps.Judge.Alpha == 0 {
		deps.Judge = diff.DefaultConfig()
	}
	db, err := Open(cfg, deps)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// startRun begins or continues the run of the story.
func startRun(t testing.TB, db *DB, fp Fingerprint) Run {
	t.Helper()
	run, err := db.StartRun("", fp)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// flush writes everything that was recorded, whatever time the samples take.
func flush(t testing.TB, db *DB) {
	t.Helper()
	db.flushing.Lock()
	defer db.flushing.Unlock()
	if err := db.finish(context.Background()); err != nil {
		t.Fatal(err)
	}
}

func closeStore(t testing.TB, db *DB) {
	t.Helper()
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// field says on which side a field differs in one exchange, at which level.
func field(name string, candidate, control diff.Level) diff.FieldComparison {
	places := func(l diff.Level) int { return int(min(l, 1)) }
	return diff.FieldComparison{
		Field: name, Candidate: candidate, Control: control,
		CandidatePlaces: places(candidate), ControlPlaces: places(control),
	}
}

// compared is what comparing one exchange of a route found.
func compared(route string, at time.Time, fields ...diff.FieldComparison) *diff.Comparison {
	c := &diff.Comparison{
		Time: at, Route: route, Result: diff.Agree, Fields: fields,
		Latency:  diff.LatencyPair{Candidate: 12 * time.Millisecond, Secondary: 10 * time.Millisecond},
		Exchange: exchange(route, at),
	}
	for _, f := range fields {
		c.Raw = c.Raw || f.Candidate > 0
		c.Noise = c.Noise || f.Control > 0
		c.CandidateUp = c.CandidateUp || f.Candidate > f.Control
		c.ControlUp = c.ControlUp || f.Control > f.Candidate
		if f.Candidate > 0 {
			c.Candidate = append(c.Candidate, difference(f.Field, f.Candidate))
		}
		if f.Control > 0 {
			c.Control = append(c.Control, difference(f.Field, f.Control))
		}
	}
	switch {
	case c.CandidateUp && !c.ControlUp:
		c.Result = diff.CandidateOnly
	case c.ControlUp && !c.CandidateUp:
		c.Result = diff.ControlOnly
	case c.Raw || c.Noise:
		c.Result = diff.Both
	}
	return c
}

func difference(name string, level diff.Level) diff.Difference {
	kind := [...]diff.Kind{"", diff.KindValue, diff.KindFormat, diff.KindType, diff.KindMissing}[level]
	return diff.Difference{Field: name, Kind: kind, Left: `"old"`, Right: `"new"`}
}

// unknown is an exchange that could not be judged.
func unknown(route string, at time.Time, reason multicast.Reason) *diff.Comparison {
	ex := exchange(route, at)
	ex.Unknown = reason
	return &diff.Comparison{Time: at, Route: route, Unknown: reason, Exchange: ex}
}

func exchange(route string, at time.Time) *multicast.Exchange {
	response := func(who string) multicast.Response {
		body := fmt.Sprintf(`{"who":%q,"at":%d}`, who, at.UnixMicro())
		return multicast.Response{
			Outcome: multicast.OutcomeOK, Status: 200, Duration: 10 * time.Millisecond, Size: int64(len(body)),
			Header: http.Header{"Content-Type": {"application/json"}}, Body: []byte(body),
		}
	}
	return &multicast.Exchange{
		ID: fmt.Sprintf("%032x", at.UnixMicro()), Time: at, Route: route,
		Request: multicast.Request{
			Method: "GET", Target: "/products/17?currency=EUR", Host: "shop.example",
			Header: http.Header{"Accept": {"application/json"}},
		},
		Responses: [3]multicast.Response{
			multicast.Primary: response("primary"), multicast.Secondary: response("secondary"),
			multicast.Candidate: response("candidate"),
		},
	}
}
