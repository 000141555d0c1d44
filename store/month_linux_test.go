package store

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"shadowdiff/diff"
	"shadowdiff/multicast"
)

// The month that is measured.
const (
	monthRoutes = 1_000
	monthFields = 200 // that differ, of each route
)

// BenchmarkMonth is a month of 1,000 routes with 200 differing fields each. In the first days all of them are met and the
// reservoirs of samples fill, so that from then on the memory has to stay level: requests come four times a day, then every
// half hour, and in the last hours every three minutes. It says how large the file becomes, what the memory holds, and how long flushing, sweeping
// and reading take.
func BenchmarkMonth(b *testing.B) {
	for b.Loop() {
		m := monthOf(b, 512<<20, nil)
		m.live(b)
		m.sizes(b)
		m.read(b)
		m.whole(b)
	}
}

// BenchmarkMonthPressed is the same month in a file that has no room for it: it stays under its size by giving up samples
// and old series, and says so; the counts are whole.
func BenchmarkMonthPressed(b *testing.B) {
	for b.Loop() {
		var said bytes.Buffer
		m := monthOf(b, 176<<20, slog.New(slog.NewTextHandler(&said, nil)))
		m.live(b)
		m.sizes(b)
		m.whole(b)
		b.Logf("given up: %+v", m.db.Health().GivenUp)
		if given := m.db.Health().GivenUp; given.Samples == 0 || given.Fields.IsZero() {
			b.Errorf("given up: %+v", given)
		}
		for _, line := range []string{overSamples, overFields} {
			if n := strings.Count(said.String(), line); n != 1 {
				b.Errorf("%q was said %d times in\n%s", line, n, said.String())
			}
		}
	}
}

func monthOf(b *testing.B, size multicast.Size, log *slog.Logger) *month {
	cfg := DefaultConfig()
	cfg.Path, cfg.MaxSize = b.TempDir()+"/month.db", size
	cfg.KeepSamples = 60 * 24 * time.Hour // so that a reservoir that is full once stays so
	return newMonth(b, cfg, Deps{Log: log}, monthRoutes, monthFields, 500)
}

// live lets the month go by, and holds memory and file to their bounds.
func (m *month) live(b *testing.B) {
	const day = 24 * time.Hour
	m.acquaint(5 * day)
	early := m.measure(b, 5)
	m.pass(5*day, 6*time.Hour)
	m.measure(b, 10)
	m.pass(10*day, 6*time.Hour)
	m.measure(b, 20)
	m.pass(9*day, 6*time.Hour)
	m.pass(21*time.Hour, 30*time.Minute)
	m.pass(3*time.Hour, 3*time.Minute)
	late := m.measure(b, 30)
	if late.heap > early.heap+early.heap/10 || late.resident > early.resident+early.resident/10 {
		b.Errorf("the memory grew: %d MiB of heap and then %d, %d MiB resident and then %d",
			early.heap>>20, late.heap>>20, early.resident>>20, late.resident>>20)
	}
	if m.peak > int64(m.db.cfg.MaxSize) {
		b.Errorf("%d bytes on the disk, where %d may be", m.peak, m.db.cfg.MaxSize)
	}
}

// acquaint lets so much time go by in which every field of every route is met three times, each time in another role; and
// those of some routes, enough of them to have all reservoirs, as often as it takes to fill these.
func (m *month) acquaint(length time.Duration) {
	const rounds, atOnce = 30, 40
	filling := maxReservoirs/(2*m.fields) + 1 // each field differs on two levels
	for round := range rounds {
		routes := m.routes
		if round >= 3 {
			routes = min(routes, filling)
		}
		for r := range routes {
			for first := 0; first < m.fields; first += atOnce {
				m.record(r, first, atOnce, round)
			}
		}
		m.settle()
		m.at = m.at.Add(length / rounds)
	}
}

// held is what the process holds, in bytes.
type held struct{ heap, resident int64 }

// measure says how the store fares at the end of a day, and begins to time anew.
func (m *month) measure(b *testing.B, day int) held {
	now := held{heap: heap()}
	debug.FreeOSMemory()
	now.resident = resident(b)
	b.Logf("day %d: %d MiB of heap, %d MiB resident, %d MiB on the disk (at most %d); flush %v, at most %v; sweep %v, at most %v", day,
		now.heap>>20, now.resident>>20, m.db.file.size()>>20, m.peak>>20,
		median(m.flushes), slices.Max(m.flushes), median(m.sweep), slices.Max(m.sweep))
	m.flushes, m.sweep = nil, nil
	return now
}

// resident is what the process has of the machine's memory, in bytes.
func resident(b *testing.B) int64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		b.Fatal(err)
	}
	pages, err := strconv.ParseInt(strings.Fields(string(text))[1], 10, 64)
	if err != nil {
		b.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}

func median(d []time.Duration) time.Duration { return slices.Sorted(slices.Values(d))[len(d)/2] }

// sizes says how many rows the tables have, and how much of the file they take with their indexes.
func (m *month) sizes(b *testing.B) {
	for _, table := range []string{"run_series", "route_series", "field_series", "series_name", "sample", "sample_field", "field_tally", "test_tally"} {
		var rows, bytes int64
		err := m.db.file.read.QueryRow(`SELECT (SELECT count(*) FROM `+table+`), sum(pgsize) FROM dbstat
			WHERE name IN (SELECT name FROM sqlite_schema WHERE tbl_name = ?)`, table).Scan(&rows, &bytes)
		if err != nil {
			b.Fatal(err)
		}
		b.Logf("%s: %d rows, %d KiB", table, rows, bytes>>10)
	}
}

// whole holds the counts, and the series of the whole run, to what was recorded, in memory and on the disk.
func (m *month) whole(b *testing.B) {
	ctx := context.Background()
	flush(b, m.db)
	var compared int64
	points, err := m.db.Series(ctx, Filter{})
	for _, p := range points {
		compared += p.Compared
	}
	if err != nil || compared != m.compared {
		b.Errorf("%d in the series of all routes, of %d: %v", compared, m.compared, err)
	}
	all := m.db.Snapshot().Tallies
	read, err := loadTallies(ctx, m.db.file.read, m.run)
	if err != nil {
		b.Fatal(err)
	}
	for what, t := range map[string]*diff.Tallies{"in memory": all, "on the disk": read} {
		var ofRoutes, ofFields int64
		for _, r := range t.Routes {
			ofRoutes += r.Compared
		}
		for _, f := range t.Fields {
			value := &f.Tests[diff.TestValue]
			ofFields += value.CandidateOnly + value.ControlOnly + value.Both
		}
		if t.Total.Compared != m.compared || ofRoutes != m.compared || len(t.Fields) != m.routes*m.fields || ofFields != m.differed {
			b.Errorf("%s: %d compared, %d on the routes, of %d; %d fields that differed %d times of %d", what, t.Total.Compared, ofRoutes,
				m.compared, len(t.Fields), ofFields, m.differed)
		}
	}
}

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
