package store

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"shadowdiff/diff"
	"shadowdiff/multicast"
)

// month is traffic in simulated time: every route, or of very many a quarter, once a step, with three of its fields
// differing, others each time.
type month struct {
	tb             testing.TB
	db             *DB
	run            int64
	routes, fields int
	body           int // bytes of a response
	at             time.Time
	steps          int
	compared       int64
	differed       int64 // fields, in each request
	random         *rand.Rand

	peak           int64 // bytes of the file and its log, after a sweep
	flushes, sweep []time.Duration
}

func newMonth(tb testing.TB, cfg Config, deps Deps, routes, fields, body int) *month {
	db := openStore(tb, cfg, deps)
	return &month{
		tb: tb, db: db, run: startRun(tb, db, candidateV1).ID, routes: routes, fields: fields, body: body,
		at: noon, random: rand.New(rand.NewPCG(7, 7)),
	}
}

// pass lets so much time go by, in steps.
func (m *month) pass(length, step time.Duration) {
	m.tb.Helper()
	for end := m.at.Add(length); m.at.Before(end); m.at = m.at.Add(step) {
		turn := max(1, m.routes/250)
		for r := m.steps % turn; r < m.routes; r += turn {
			m.record(r, m.steps/turn*3+r, 3, 0)
		}
		m.settle()
	}
}

// settle ends a step: what was recorded is written, and what is too old or too much removed.
func (m *month) settle() {
	m.tb.Helper()
	m.steps++
	began := time.Now()
	if err := m.db.Flush(context.Background()); err != nil {
		m.tb.Fatal(err)
	}
	flushed := time.Now()
	for m.db.sweep(context.Background(), m.at, time.Now().Add(time.Minute)) {
	}
	m.flushes = append(m.flushes, flushed.Sub(began))
	m.sweep = append(m.sweep, time.Since(flushed))
	m.peak = max(m.peak, m.db.file.size())
}

// record counts a request of a route in which so many fields differ, from the nth on: every third on both sides, every third
// with the candidate alone, and every third with the control alone, beginning with one of the three.
func (m *month) record(route, n, count, role int) {
	found := make([]diff.FieldComparison, count)
	for i := range found {
		name := fmt.Sprintf("body.items[].attribute_%d", (n+i)%m.fields)
		switch (i + role) % 3 {
		case 0:
			found[i] = field(name, 1, 1)
		case 1:
			found[i] = field(name, 3, 0)
		case 2:
			found[i] = field(name, 0, 1)
		}
	}
	m.compared++
	m.differed += int64(count)
	c := compared(fmt.Sprintf("GET /service-%d/{id}/items", route), m.at, found...)
	body := make([]byte, m.body)
	for i := range body {
		body[i] = byte(m.random.Uint32())
	}
	c.Exchange.Responses[0].Header.Set("Content-Type", "image/png")
	c.Exchange.Responses[0].Body = body
	m.db.Record(m.run, c)
}

// heap is what is in use once garbage is collected, in bytes.
func heap() int64 {
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc)
}

// A month passes in a file of two mebibytes and in level memory, the run's counts are those of the whole month, and what was
// given up is told.
func TestAMonthStaysUnderTheSize(t *testing.T) {
	cfg := testConfig(t)
	cfg.MaxSize = 2 << 20
	var said bytes.Buffer
	m := newMonth(t, cfg, Deps{Log: slog.New(slog.NewTextHandler(&said, nil))}, 15, 40, 4000)
	m.pass(10*24*time.Hour, 6*time.Hour)
	early := heap()
	m.pass(20*24*time.Hour, 6*time.Hour)
	m.pass(time.Hour, time.Minute)
	late := heap()
	t.Logf("%d steps, at most %d KiB, heap %d KiB after ten days and %d KiB after thirty", m.steps, m.peak>>10, early>>10, late>>10)
	if m.peak > int64(cfg.MaxSize) {
		t.Errorf("%d bytes on the disk", m.peak)
	}
	if late > early+early/4+4<<20 {
		t.Errorf("the heap grew from %d to %d", early, late)
	}
	given := m.db.Health().GivenUp
	if given.Samples == 0 || given != (GivenUp{Samples: given.Samples}) || strings.Count(said.String(), overSamples) != 1 {
		t.Errorf("given up: %+v; said:\n%s", given, &said)
	}
	closeStore(t, m.db)
	db := openStore(t, cfg, Deps{})
	startRun(t, db, candidateV1)
	all := db.Snapshot().Tallies
	if want := int64(m.steps * 15); all.Total.Compared != want || len(all.Fields) != 15*40 {
		t.Errorf("%d compared of %d, %d fields", all.Total.Compared, want, len(all.Fields))
	}
	var inSeries int64
	points, err := db.Series(context.Background(), Filter{})
	for _, p := range points {
		inSeries += p.Compared
	}
	if err != nil || inSeries != all.Total.Compared || points[0].Span != 24*time.Hour || points[len(points)-1].Span != time.Minute {
		t.Errorf("in the series of all routes %d, %v", inSeries, err)
	}
}

// The names of fields, which are most of what their series take, go with these: the series of routes stay.
func TestNamesOfFieldsGoBeforeSeriesOfRoutes(t *testing.T) {
	cfg := testConfig(t)
	db := openStore(t, cfg, Deps{})
	run := startRun(t, db, candidateV1)
	for i := range 3000 {
		c := compared(fmt.Sprintf("GET /a%d", i%5), noon.Add(time.Duration(i)*time.Minute), field(fmt.Sprintf("body.f%d", i), 1, 1))
		c.Exchange = nil
		db.Record(run.ID, c)
	}
	flush(t, db)
	later := noon.Add(100 * time.Hour)
	sweepAll(db, later)
	pages, free, err := db.pages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	before, err := db.Series(t.Context(), Filter{Route: "GET /a1"})
	if err != nil {
		t.Fatal(err)
	}
	cfg.MaxSize = multicast.Size((pages-free)*95/100+2*32) * pageBytes
	if err := db.Reconfigure(cfg, diff.DefaultConfig(), 0); err != nil {
		t.Fatal(err)
	}
	sweepAll(db, later)
	if given := db.Health().GivenUp; given.Fields.IsZero() || given != (GivenUp{Fields: given.Fields}) {
		t.Errorf("given up: %+v", given)
	}
	var names, ofRoutes int
	err = db.file.read.QueryRow(`SELECT count(*), sum(field = '') FROM series_name`).Scan(&names, &ofRoutes)
	if err != nil || names >= 3000 || ofRoutes != 5 {
		t.Errorf("%d names are left, %d of routes, %v", names, ofRoutes, err)
	}
	if after, err := db.Series(t.Context(), Filter{Route: "GET /a1"}); err != nil || len(before) == 0 || len(after) != len(before) {
		t.Errorf("the series of a route had %d points and has %d, %v", len(before), len(after), err)
	}
}

// Only once nothing else is left do runs that are over lose what they know of fields; what is confirmed, and all totals,
// stay and can be read.
func TestRunsThatAreOverGiveWayLast(t *testing.T) {
	cfg := testConfig(t)
	cfg.MaxSize = 1 << 20
	db := openStore(t, cfg, Deps{})
	former := startRun(t, db, candidateV1)
	for i := range 3000 {
		at := noon.Add(time.Duration(i) * time.Second)
		c := compared(fmt.Sprintf("GET /a%d", i%5), at, field("body.broken", 1, 0), field(fmt.Sprintf("body.f%d", i), 1, 1))
		c.Exchange = nil
		db.Record(former.ID, c)
	}
	flush(t, db)
	before := db.Snapshot()
	startRun(t, db, Fingerprint{Candidate: "http://candidate:2"})
	flush(t, db)
	db.ledgers.retire(time.Now().Add(time.Hour))
	cfg.MaxSize = 512 << 10
	if err := db.Reconfigure(cfg, diff.DefaultConfig(), 0); err != nil {
		t.Fatal(err)
	}
	sweepAll(db, noon.Add(time.Hour))
	if size := db.file.size(); size > int64(cfg.MaxSize) {
		t.Errorf("%d bytes", size)
	}
	if given := db.Health().GivenUp; given.Samples > 0 || !given.Fields.After(noon) || !given.Routes.After(noon) || !given.Details {
		t.Errorf("given up: %+v", given)
	}
	after, err := db.RunSnapshot(context.Background(), former.ID)
	if err != nil {
		t.Fatal(err)
	}
	if after.Tallies.Total.Compared != 3000 || len(after.Tallies.Routes) != 5 || len(after.Tallies.Fields) >= len(before.Tallies.Fields) {
		t.Errorf("left: %d compared, %d routes, %d fields", after.Tallies.Total.Compared, len(after.Tallies.Routes), len(after.Tallies.Fields))
	}
	if b, a := confirmationsOf(before.Tallies), confirmationsOf(after.Tallies); len(a) == 0 || len(a) != len(b) {
		t.Errorf("%d confirmations of %d are left", len(a), len(b))
	}
	if before.Verdict.Word != after.Verdict.Word {
		t.Errorf("it was %s and is %s", before.Verdict.Word, after.Verdict.Word)
	}
}
