package store

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"shadowdiff/diff"
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
	random         *rand.Rand

	peak           int64 // bytes of the file and its log, after a sweep
	flushes, sweep []time.Duration
}

func newMonth(tb testing.TB, cfg Config, routes, fields, body int) *month {
	db := openStore(tb, cfg, Deps{})
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
			m.record(fmt.Sprintf("GET /service-%d/{id}/items", r), m.steps/turn*3+r)
		}
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
}

func (m *month) record(route string, n int) {
	name := func(i int) string { return fmt.Sprintf("body.items[].attribute_%d", (n+i)%m.fields) }
	c := compared(route, m.at, field(name(0), 1, 1), field(name(1), 3, 0), field(name(2), 0, 1))
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

// A month passes in a file of two mebibytes and in level memory, and the run's counts are those of the whole month.
func TestAMonthStaysUnderTheSize(t *testing.T) {
	cfg := testConfig(t)
	cfg.MaxSize = 2 << 20
	m := newMonth(t, cfg, 15, 40, 4000)
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

// A month of 1,000 routes with 200 differing fields each: four times a day for four weeks, then every three minutes for a
// day. It says how large the file becomes, what the memory holds, and how long flushing, sweeping and reading take.
func BenchmarkMonth(b *testing.B) {
	for b.Loop() {
		cfg := DefaultConfig()
		cfg.Path, cfg.MaxSize = b.TempDir()+"/month.db", 512<<20
		m := newMonth(b, cfg, 1000, 200, 500)
		for day := range 29 {
			m.pass(24*time.Hour, 6*time.Hour)
			if day%7 == 6 || day == 28 {
				b.Logf("day %d: %d MiB on the disk, %d MiB of heap, flush %v, sweep %v", day+1, m.db.file.size()>>20, heap()>>20,
					median(m.flushes), median(m.sweep))
			}
		}
		m.flushes, m.sweep = nil, nil
		m.pass(26*time.Hour, 3*time.Minute)
		b.Logf("by the minute: %d MiB on the disk (at most %d), %d MiB of heap, flush %v, at most %v, sweep %v", m.db.file.size()>>20,
			m.peak>>20, heap()>>20, median(m.flushes), slices.Max(m.flushes), median(m.sweep))
		for _, table := range []string{"run_series", "route_series", "field_series", "series_name", "sample", "field_tally", "test_tally"} {
			var rows int
			if err := m.db.file.read.QueryRow(`SELECT count(*) FROM ` + table).Scan(&rows); err != nil {
				b.Fatal(err)
			}
			b.Logf("%s: %d rows", table, rows)
		}
		m.read(b)
	}
}

func median(d []time.Duration) time.Duration { return slices.Sorted(slices.Values(d))[len(d)/2] }

// read says how long reads of the series take.
func (m *month) read(b *testing.B) {
	for what, f := range map[string]Filter{
		"all routes": {}, "a route": {Route: "GET /service-17/{id}/items"},
		"a field":               {Route: "GET /service-17/{id}/items", Field: "body.items[].attribute_20"},
		"a test":                {Route: "GET /service-17/{id}/items", Field: "body.items[].attribute_21", Test: diff.TestType},
		"other fields":          {Route: "GET /service-17/{id}/items", Field: diff.Other},
		"a field of all routes": {Field: "body.items[].attribute_20"},
		"a day of a field":      {Route: "GET /service-17/{id}/items", Field: diff.Other, Since: m.at.Add(-24 * time.Hour)},
	} {
		began := time.Now()
		points, err := m.db.Series(context.Background(), f)
		if err != nil {
			b.Fatal(err)
		}
		b.Logf("series of %s: %d points in %v", what, len(points), time.Since(began))
	}
}
