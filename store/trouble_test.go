package store

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"time"

	"shadowdiff/diff"
)

// While the disk takes nothing, counting, judging and publishing go on in memory; the trouble is in Health and in the
// log once; and when the disk is back everything reaches it, once.
func TestTroubleWithTheDisk(t *testing.T) {
	for _, c := range []struct {
		name       string
		begin, end string // pragmas of the writing connection
		want       string
	}{
		{"full", `max_page_count = 1`, `max_page_count = 1000000`, "database or disk is full"},
		{"read-only", `query_only = 1`, `query_only = 0`, "readonly"},
	} {
		t.Run(c.name, func(t *testing.T) {
			trouble(t, testConfig(t), c.want,
				func(db *DB) { pragma(t, db, c.begin) },
				func(db *DB) { pragma(t, db, c.end) })
		})
	}
	t.Run("locked by another program", func(t *testing.T) {
		var lock func() error
		trouble(t, testConfig(t), "locked",
			func(db *DB) {
				pragma(t, db, `busy_timeout = 20`)
				tx, err := rawOpen(t, db.cfg.Path).Begin()
				if err != nil {
					t.Fatal(err)
				}
				if _, err := tx.Exec(`UPDATE run SET name = name`); err != nil {
					t.Fatal(err)
				}
				lock = tx.Rollback
			},
			func(*DB) {
				if err := lock(); err != nil {
					t.Fatal(err)
				}
			})
	})
}

func pragma(t *testing.T, db *DB, text string) {
	t.Helper()
	if _, err := db.file.write.Exec(`PRAGMA ` + text); err != nil {
		t.Fatal(err)
	}
}

func trouble(t *testing.T, cfg Config, want string, begin, end func(*DB)) {
	t.Helper()
	var log bytes.Buffer
	db := openStore(t, cfg, Deps{Log: slog.New(slog.NewTextHandler(&log, nil))})
	run := startRun(t, db, candidateV1)
	// So long that the counts alone find no room in what the file has to spare.
	name := func(i int) string { return fmt.Sprintf("body.%s.f%d", strings.Repeat("long", 50), i) }
	record := func(from, n int) {
		for i := from; i < from+n; i++ {
			at := noon.Add(time.Duration(i) * time.Second)
			db.Record(run.ID, compared("GET /a", at, field("body.x", 1, 1), field(name(i), 1, 0)))
		}
	}
	record(0, 40)
	flush(t, db)

	begin(db)
	for i := range 3 {
		record(40+40*i, 40)
		if err := db.Flush(context.Background()); err == nil || !strings.Contains(err.Error(), want) {
			t.Fatalf("flushed with %v, want %q", err, want)
		}
	}
	if s := db.Snapshot(); s.Tallies.Total.Compared != 160 || s.Verdict.Compared != 160 {
		t.Errorf("in memory %d compared, %d judged", s.Tallies.Total.Compared, s.Verdict.Compared)
	}
	if h := db.Health(); h.Failures != 3 || !strings.Contains(h.Err, want) {
		t.Errorf("health: %+v", h)
	}
	if n := strings.Count(log.String(), "\n"); n != 1 {
		t.Errorf("logged %d lines:\n%s", n, &log)
	}

	end(db)
	flush(t, db)
	if h := db.Health(); h.Err != "" || h.Failures != 3 || h.SamplesLost != 0 {
		t.Errorf("health when the disk is back: %+v", h)
	}
	if n := strings.Count(log.String(), "\n"); n != 2 || !strings.Contains(log.String(), "written again") {
		t.Errorf("logged %d lines:\n%s", n, &log)
	}
	closeStore(t, db)

	db = openStore(t, cfg, Deps{})
	startRun(t, db, candidateV1)
	if s := db.Snapshot(); s.Tallies.Total.Compared != 160 || len(s.Tallies.Fields) != 161 {
		t.Errorf("on the disk %d compared, %d fields", s.Tallies.Total.Compared, len(s.Tallies.Fields))
	}
	var inSeries int64
	points, err := db.Series(context.Background(), Filter{Route: "GET /a"})
	for _, p := range points {
		inSeries += p.Compared
	}
	if err != nil || inSeries != 160 {
		t.Errorf("in the series %d, %v", inSeries, err)
	}
	if items, _, err := db.Samples(context.Background(), Filter{Field: name(159)}); err != nil || len(items) != 1 {
		t.Errorf("a sample of the troubled time: %v, %v", items, err)
	}
}

// Confirmations and orders are those of the counts they rest on, also when the flush that made them failed.
func TestConfirmationOutlivesTrouble(t *testing.T) {
	cfg := testConfig(t)
	db := openStore(t, cfg, Deps{})
	run := startRun(t, db, candidateV1)
	pragma(t, db, `query_only = 1`)
	for i := range 40 {
		db.Record(run.ID, compared("GET /a", noon.Add(time.Duration(i)*time.Millisecond), field("body.x", 1, 0)))
	}
	if db.Flush(context.Background()) == nil {
		t.Fatal("written to a disk that takes nothing")
	}
	confirmed := db.Snapshot().Verdict.Differences[0]
	if !confirmed.Confirmed || confirmed.Kind != diff.TestValue {
		t.Fatalf("judged %+v", confirmed)
	}
	pragma(t, db, `query_only = 0`)
	closeStore(t, db)

	db = openStore(t, cfg, Deps{})
	startRun(t, db, candidateV1)
	again := db.Snapshot().Verdict.Differences[0]
	if !again.Confirmed || again.ConfirmedOn != confirmed.ConfirmedOn || !again.ConfirmedAt.Equal(*confirmed.ConfirmedAt) {
		t.Errorf("confirmed as %+v, after a restart %+v", confirmed, again)
	}
}

// While the writer waits for a disk that another program keeps from it, recording and reading the snapshot do not wait.
func TestRecordingDoesNotWaitForTheDisk(t *testing.T) {
	db := openStore(t, testConfig(t), Deps{})
	run := startRun(t, db, candidateV1)
	recordMixture(db, run.ID, 1)
	flush(t, db)
	pragma(t, db, `busy_timeout = 600000`)
	other := rawOpen(t, db.cfg.Path)
	if _, err := other.Exec(`BEGIN EXCLUSIVE`); err != nil {
		t.Fatal(err)
	}
	recordMixture(db, run.ID, 1)
	flushed := make(chan error, 1)
	go func() { flushed <- db.Flush(context.Background()) }()
	for db.file.write.now.Load().Stats().InUse == 0 { // until the flush has the connection
		runtime.Gosched()
	}
	recordMixture(db, run.ID, 2000)
	if n := db.Snapshot().Tallies.Total.Compared; n != 2 {
		t.Errorf("%d are shown while the flush is under way", n)
	}
	select {
	case err := <-flushed:
		t.Errorf("the flush did not wait: %v", err)
	default:
	}
	if _, err := other.Exec(`ROLLBACK`); err != nil {
		t.Fatal(err)
	}
	if err := <-flushed; err != nil {
		t.Errorf("the flush that waited: %v", err)
	}
	flush(t, db)
	if n := db.Snapshot().Tallies.Total.Compared; n != 4004 {
		t.Errorf("%d compared", n)
	}
}

// A disk that is away for days costs a bounded number of minutes in memory, and no count: they are laid together.
func TestMinutesThatWaitAreLaidTogether(t *testing.T) {
	cfg := testConfig(t)
	db := openStore(t, cfg, Deps{})
	run := startRun(t, db, candidateV1)
	begin := time.Now().Add(-60 * time.Hour)
	record := func(at time.Time) {
		c := compared("GET /a", at, field("body.x", 1, 0))
		c.Exchange = nil
		db.Record(run.ID, c)
	}
	record(begin)
	record(time.Now().Add(-30 * time.Minute))
	flush(t, db) // these minutes are on the disk before it goes
	pragma(t, db, `query_only = 1`)
	most := 0
	for at := begin; at.Before(time.Now()); at = at.Add(time.Minute) {
		record(at)
		if at.Minute()%20 == 0 {
			if db.Flush(context.Background()) == nil {
				t.Fatal("written to a disk that takes nothing")
			}
			most = max(most, len(db.ledgers.current().series.minutes))
		}
	}
	if most > 100 {
		t.Errorf("%d minutes in memory", most)
	}
	pragma(t, db, `query_only = 0`)
	flush(t, db)
	want := db.Snapshot().Tallies.Total.Compared
	closeStore(t, db)
	db = openStore(t, cfg, Deps{})
	startRun(t, db, candidateV1)
	for what, f := range map[string]Filter{"all": {}, "the route": {Route: "GET /a"}, "the field": {Route: "GET /a", Field: "body.x"}} {
		points, err := db.Series(context.Background(), f)
		var n int64
		for _, p := range points {
			n += p.Raw
		}
		if err != nil || n != want {
			t.Errorf("series of %s: %d of %d, %v", what, n, want, err)
		}
	}
}
