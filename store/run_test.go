package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"shadowdiff/diff"
	"shadowdiff/multicast"
)

// beginRun begins a run, whatever is in force.
func beginRun(t testing.TB, db *DB, name string) Run {
	t.Helper()
	run, begun, err := db.BeginRun(context.Background(), Beginning{Fingerprint: candidateV1, New: true, Name: name, By: "api"})
	if err != nil || !begun {
		t.Fatalf("begin %q: %t, %v", name, begun, err)
	}
	return run
}

func snapshotOf(t testing.TB, db *DB, id int64) *Snapshot {
	t.Helper()
	s, err := db.RunSnapshot(context.Background(), id)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// recordPrices records n exchanges of which the candidate differs in every step-th, and the control never.
func recordPrices(db *DB, run int64, n, step int) {
	for i := range n {
		at := noon.Add(time.Duration(i) * time.Millisecond)
		if i%step == 0 {
			db.Record(run, compared("GET /products/{id}", at, field("body.price", 1, 0)))
		} else {
			db.Record(run, compared("GET /products/{id}", at))
		}
	}
}

// A run that is over is read as it was when it ended: from memory at first, and from the disk after.
func TestARunThatIsOverIsReadAsItWas(t *testing.T) {
	cfg := testConfig(t)
	proxy := multicast.Counts{}
	db := openStore(t, cfg, Deps{Counters: func() multicast.Counts { return proxy }})
	first := beginRun(t, db, "v1")
	proxy.Requests, proxy.Shadow = 120, map[string]multicast.ShadowLegs{"candidate": {Sent: 80, Paused: 3}}
	recordMixture(db, first.ID, 40)
	flush(t, db)
	was := db.Snapshot()
	if was.Verdict.Word != diff.Different || was.Run.Ended != nil {
		t.Fatalf("it is %s, ended %v", was.Verdict.Word, was.Run.Ended)
	}
	second := beginRun(t, db, "v2")
	proxy.Requests = 200
	db.Record(first.ID, compared("GET /late", noon)) // it was under way
	flush(t, db)
	if now := db.Snapshot(); now.Run != second || now.Tallies.Total.Compared != 0 || now.Counters.Requests != 80 {
		t.Errorf("in force: %+v with %d compared of %d requests", now.Run, now.Tallies.Total.Compared, now.Counters.Requests)
	}
	over := snapshotOf(t, db, first.ID)
	if over.Run.Ended == nil || over.Run.Ended.Before(second.Started) || over.Tallies.Total.Compared != 81 || over.Counters.Requests != 120 {
		t.Errorf("over: %+v with %d compared of %d requests", over.Run, over.Tallies.Total.Compared, over.Counters.Requests)
	}
	if ids := over.SampleIDs("GET /products/{id}", "body.price"); len(ids) != 10 {
		t.Errorf("its samples: %v", ids)
	}
	closeStore(t, db)

	db = openStore(t, cfg, Deps{})
	if again := startRun(t, db, candidateV1); again.ID != second.ID {
		t.Fatalf("it goes on as %+v", again)
	}
	read := snapshotOf(t, db, first.ID)
	if d := cmp.Diff(over.Run, read.Run) + cmp.Diff(over.Tallies, read.Tallies, bySketch()) + cmp.Diff(over.Verdict, read.Verdict) +
		cmp.Diff(over.Counters, read.Counters); d != "" {
		t.Errorf("read from the disk (-memory +disk):\n%s", d)
	}
	if again := snapshotOf(t, db, first.ID); again != read {
		t.Error("it was read twice")
	}
	if _, err := db.RunSnapshot(context.Background(), 17); !errors.Is(err, ErrNotFound) {
		t.Errorf("a run that is not there: %v", err)
	}
}

// A changed budget judges the past anew: the run that is over, its line in the list, and the one in force.
func TestABudgetJudgesRunsThatAreOver(t *testing.T) {
	cfg := testConfig(t)
	db := openStore(t, cfg, Deps{})
	first := beginRun(t, db, "v1")
	recordPrices(db, first.ID, 4000, 100)
	flush(t, db)
	second := beginRun(t, db, "v2")
	flush(t, db)
	closeStore(t, db)
	db = openStore(t, cfg, Deps{})
	startRun(t, db, candidateV1)

	words := func() string {
		list, _, err := db.Runs(context.Background(), 0, "")
		if err != nil || len(list) != 2 || list[1].ID != first.ID || list[0].ID != second.ID {
			t.Fatalf("%+v, %v", list, err)
		}
		s := list[1].Summary
		if word := snapshotOf(t, db, first.ID).Verdict.Word; word != s.Word {
			t.Errorf("it is %s, and %s in the list", word, s.Word)
		}
		return fmt.Sprintf("%s %d of %d", s.Word, s.Confirmed, s.Compared)
	}
	if got := words(); got != "different 2 of 4000" {
		t.Errorf("at first: %s", got)
	}
	judge := diff.DefaultConfig()
	judge.Budget = multicast.Whole / 10
	if err := db.Reconfigure(cfg, judge, 0); err != nil {
		t.Fatal(err)
	}
	flush(t, db)
	if got := words(); got != "equivalent 2 of 4000" { // what was confirmed stays so, the latency too, and is within the budget
		t.Errorf("under a budget of 10%%: %s", got)
	}
}

// To begin again under the same name, or to give and take names, makes an attempt neither the first again nor cheaper.
func TestAttemptsAreCounted(t *testing.T) {
	cfg := testConfig(t)
	db := openStore(t, cfg, Deps{})
	ctx := context.Background()
	rename := func(run Run, name string) Run {
		t.Helper()
		changed, err := db.ChangeRun(ctx, run.ID, RunChange{Name: &name})
		if err != nil || changed.Name != name {
			t.Fatalf("%+v, %v", changed, err)
		}
		return changed
	}
	first := beginRun(t, db, "v1")
	second := beginRun(t, db, "v1")
	if first.Attempt != 1 || second.Attempt != 2 {
		t.Errorf("attempts %d and %d", first.Attempt, second.Attempt)
	}
	second = rename(second, "other") // 2 of v1, 1 of other
	rename(first, "v0")
	third := beginRun(t, db, "v1")
	if second.Attempt != 2 || third.Attempt != 3 {
		t.Errorf("after renaming: %d, and the next is %d", second.Attempt, third.Attempt)
	}
	if fourth := beginRun(t, db, "other"); fourth.Attempt != 2 {
		t.Errorf("the second of that name: %d", fourth.Attempt)
	}
	if back := rename(second, "v1"); back.Attempt != 2 {
		t.Errorf("what it was before, it is again: %d", back.Attempt)
	}
	if raised := rename(rename(first, "v1"), "other"); raised.Attempt != 3 {
		t.Errorf("a run that takes a name tried twice: %d", raised.Attempt)
	}
	flush(t, db)
	third = snapshotOf(t, db, third.ID).Run
	if alpha := snapshotOf(t, db, third.ID).Verdict.Alpha; alpha != 0.05/12 {
		t.Errorf("the third attempt is judged at %v", alpha)
	}
	closeStore(t, db)

	db = openStore(t, cfg, Deps{})
	startRun(t, db, candidateV1)
	if s := snapshotOf(t, db, third.ID); s.Run.Attempt != 3 || s.Verdict.Alpha != 0.05/12 {
		t.Errorf("after a restart: %+v at %v", s.Run, s.Verdict.Alpha)
	}
	if next := beginRun(t, db, "v1"); next.Attempt != 4 {
		t.Errorf("after a restart the next is %d", next.Attempt)
	}
}

// The run in force takes another name at once, and is judged as what it is then.
func TestTheRunInForceIsRenamed(t *testing.T) {
	cfg := testConfig(t)
	db := openStore(t, cfg, Deps{})
	beginRun(t, db, "v1")
	run := beginRun(t, db, "v2")
	recordPrices(db, run.ID, 100, 10)
	flush(t, db)
	name, notes := "v1", "after the index\nwas rebuilt"
	changed, err := db.ChangeRun(context.Background(), run.ID, RunChange{Name: &name, Notes: &notes})
	if err != nil {
		t.Fatal(err)
	}
	s := db.Snapshot()
	if s.Run != changed || changed.Attempt != 2 || changed.Notes != notes || s.Verdict.Alpha != 0.05/6 || s.Verdict.Compared != 100 {
		t.Errorf("%+v at %v", s.Run, s.Verdict.Alpha)
	}
	for _, c := range []RunChange{
		{Name: new("")},
		{Name: new(" v3")},
		{Name: new("12")},
		{Name: new("current")},
		{Name: new("a\x00b")},
		{Name: new("a\nb")},
		{Name: new(strings.Repeat("x", 101))},
		{Name: new("\xff")},
		{Notes: new(strings.Repeat("x", 4001))},
		{Notes: new("\x1b[31m")},
	} {
		if _, err := db.ChangeRun(context.Background(), run.ID, c); !errors.Is(err, ErrRunText) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if _, err := db.ChangeRun(context.Background(), 99, RunChange{Name: &name}); !errors.Is(err, ErrNotFound) {
		t.Errorf("a run that is not there: %v", err)
	}
	if after := db.Snapshot().Run; after != changed {
		t.Errorf("a fault changed it: %+v", after)
	}
	if _, err := db.ChangeRun(context.Background(), run.ID, RunChange{Name: new(strings.Repeat("ü", 100))}); err != nil {
		t.Errorf("100 characters: %v", err)
	}
}

// A run is found by its id, by its name, the latest of that name, and as the current one.
func TestFindRun(t *testing.T) {
	db := openStore(t, testConfig(t), Deps{})
	ctx := context.Background()
	if _, err := db.FindRun(ctx, "current"); !errors.Is(err, ErrNotFound) {
		t.Errorf("before there is one: %v", err)
	}
	beginRun(t, db, "v1")
	beginRun(t, db, "v1")
	third := startRun(t, db, Fingerprint{Candidate: "http://candidate:2"})
	for ref, want := range map[string]int64{"1": 1, "2": 2, "v1": 2, "run 3": 3, "current": 3, "3": third.ID, "": 0, "v2": 0, "4": 0, "0": 0, "-1": 0} {
		run, err := db.FindRun(ctx, ref)
		if run.ID != want || (err != nil) != (want == 0) || err != nil && !errors.Is(err, ErrNotFound) {
			t.Errorf("%q: %+v, %v", ref, run, err)
		}
	}
	names, err := db.RunNames(ctx)
	if err != nil || strings.Join(names, ",") != "run 3,v1,v1" {
		t.Errorf("%q, %v", names, err)
	}
}

// Pages of runs miss none and repeat none while others begin.
func TestRunsAreListedInPages(t *testing.T) {
	db := openStore(t, testConfig(t), Deps{})
	for i := range 5 {
		beginRun(t, db, fmt.Sprintf("v%d", i))
	}
	var got []string
	cursor := ""
	for range 3 {
		list, next, err := db.Runs(context.Background(), 2, cursor)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range list {
			got = append(got, fmt.Sprintf("%s %t", r.Name, r.Ended == nil))
		}
		cursor = next
		beginRun(t, db, "later")
	}
	if want := "v4 true,v3 false,v2 false,v1 false,v0 false"; strings.Join(got, ",") != want || cursor != "" {
		t.Errorf("%q, then %q", got, cursor)
	}
	for _, bad := range []string{"?", "0", "-4"} {
		if _, _, err := db.Runs(context.Background(), 2, bad); !errors.Is(err, ErrCursor) {
			t.Errorf("cursor %q: %v", bad, err)
		}
	}
}

// What the configuration asks for begins a run once, over restarts, and whatever the run is called since.
func TestTheConfigurationNamesTheRun(t *testing.T) {
	cfg := testConfig(t)
	ctx := context.Background()
	ask := func(db *DB, name string) string {
		t.Helper()
		run, begun, err := db.BeginRun(ctx, Beginning{Fingerprint: candidateV1, Asked: name})
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%d %s %d %t", run.ID, run.Name, run.Attempt, begun)
	}
	db := openStore(t, cfg, Deps{})
	if got := ask(db, "v1"); got != "1 v1 1 true" {
		t.Errorf("the first: %s", got)
	}
	if got := ask(db, "v1"); got != "1 v1 1 false" {
		t.Errorf("the same: %s", got)
	}
	if _, err := db.ChangeRun(ctx, 1, RunChange{Name: new("renamed")}); err != nil {
		t.Fatal(err)
	}
	closeStore(t, db)
	db = openStore(t, cfg, Deps{})
	for _, step := range []struct{ ask, want string }{
		{"v1", "1 renamed 1 false"}, {"v2", "2 v2 1 true"}, {"", "2 v2 1 false"}, {"v2", "2 v2 1 false"}, {"v1", "3 v1 2 true"},
	} {
		if got := ask(db, step.ask); got != step.want {
			t.Errorf("asked for %q: %s, want %s", step.ask, got, step.want)
		}
	}
	if _, _, err := db.BeginRun(ctx, Beginning{Fingerprint: candidateV1, Asked: "7"}); !errors.Is(err, ErrRunText) {
		t.Errorf("a number: %v", err)
	}
}

// Whatever moment the process is killed at, a run that was begun is there, the one before it has ended, and nothing that
// was on the disk is lost.
func TestABegunRunOutlivesAKill(t *testing.T) {
	cfg := testConfig(t)
	db := openStore(t, cfg, Deps{})
	first := beginRun(t, db, "v1")
	recordMixture(db, first.ID, 10)
	flush(t, db)
	second := beginRun(t, db, "v2")
	if _, err := db.ChangeRun(context.Background(), second.ID, RunChange{Name: new("v3")}); err != nil {
		t.Fatal(err)
	}
	killed := image(t, cfg)
	db = openStore(t, killed, Deps{})
	again := startRun(t, db, candidateV1)
	if again.ID != second.ID || again.Name != "v3" || again.Ended != nil {
		t.Errorf("after the kill it is %+v", again)
	}
	if s := snapshotOf(t, db, first.ID); s.Tallies.Total.Compared != 20 || s.Run.Ended == nil {
		t.Errorf("the first: %+v, %d compared", s.Run, s.Tallies.Total.Compared)
	}
}

// image copies the files of an open store as a kill would leave them.
func image(t *testing.T, cfg Config) Config {
	t.Helper()
	copied := testConfig(t)
	for _, end := range []string{"", "-wal"} {
		b, err := os.ReadFile(cfg.Path + end)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(copied.Path+end, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if filepath.Dir(copied.Path) == filepath.Dir(cfg.Path) {
		t.Fatal("the copy is the original")
	}
	return copied
}

// A database from before runs were named has its runs, in their order, each ended by the next.
func TestRunsOfBeforeAreMigrated(t *testing.T) {
	cfg := testConfig(t)
	var text strings.Builder
	for _, step := range []string{"0001_first.sql", "0002_route_fold.sql"} {
		b, err := migrations.ReadFile("migrations/" + step)
		if err != nil {
			t.Fatal(err)
		}
		text.Write(b)
	}
	for i, name := range []string{"run 1", "v2", "v2"} {
		fmt.Fprintf(&text, "INSERT INTO run VALUES (%d, '%s', %d, '%s', '%s', '{\"requests\":%d}');", i+1, name, micros(noon)+int64(i),
			candidateV1.Candidate, candidateV1.Rules, 10*i)
	}
	execOn(t, cfg.Path, text.String()+"PRAGMA user_version = 2")
	db := openStore(t, cfg, Deps{})
	if run := startRun(t, db, candidateV1); run.ID != 3 || run.Attempt != 2 || run.Ended != nil {
		t.Errorf("the run in force: %+v", run)
	}
	list, _, err := db.Runs(context.Background(), 0, "")
	if err != nil || len(list) != 3 {
		t.Fatalf("%+v, %v", list, err)
	}
	for i, want := range []struct {
		name    string
		attempt int
	}{{"v2", 2}, {"v2", 1}, {"run 1", 1}} {
		r := list[i]
		if r.Name != want.name || r.Attempt != want.attempt || r.Counters.Requests != int64(10*(2-i)) || r.Summary.Word != diff.Undecided {
			t.Errorf("%d: %+v", i, r)
		}
		if i > 0 && (r.Ended == nil || !r.Ended.Equal(list[i-1].Started)) {
			t.Errorf("%d ended %v, the next started %v", i, r.Ended, list[i-1].Started)
		}
	}
	if next := beginRun(t, db, "v2"); next.ID != 4 || next.Attempt != 3 {
		t.Errorf("the next: %+v", next)
	}
}

// Only a few of the runs that are over are kept in memory, the ones asked for last.
func TestFewRunsThatAreOverAreKept(t *testing.T) {
	cfg := testConfig(t)
	db := openStore(t, cfg, Deps{})
	for range 12 {
		recordMixture(db, beginRun(t, db, "v").ID, 2)
	}
	closeStore(t, db)
	db = openStore(t, cfg, Deps{})
	startRun(t, db, candidateV1)
	var read [12]*Snapshot
	for id := int64(1); id < 12; id++ {
		read[id] = snapshotOf(t, db, id)
	}
	if n := len(db.ledgers.past.kept); n != keptPast {
		t.Errorf("%d are kept", n)
	}
	if snapshotOf(t, db, 11) != read[11] || snapshotOf(t, db, 4) != read[4] || snapshotOf(t, db, 3) == read[3] {
		t.Error("not the ones asked for last are kept")
	}
	if _, err := db.ChangeRun(context.Background(), 11, RunChange{Notes: new("seen")}); err != nil {
		t.Fatal(err)
	}
	if s := snapshotOf(t, db, 11); s == read[11] || s.Run.Notes != "seen" {
		t.Errorf("a change does not show: %+v", s.Run)
	}
}

// BenchmarkReadARunThatIsOver reads and judges a run of 1,000 routes with 20 differing fields each, and sets it beside
// another: what a page of an earlier run costs when it is not in memory, and when it is.
func BenchmarkReadARunThatIsOver(b *testing.B) {
	cfg := DefaultConfig()
	cfg.Path = filepath.Join(b.TempDir(), "large.db")
	db := openStore(b, cfg, Deps{})
	for range 2 {
		run := beginRun(b, db, "large")
		var fields []diff.FieldComparison
		for i := range 20 {
			fields = append(fields, field(fmt.Sprintf("body.field_%03d", i), 1, diff.Level(i%2)))
		}
		for i := range 20_000 {
			c := compared(fmt.Sprintf("GET /route/%03d", i%1000), noon.Add(time.Duration(i)*time.Millisecond), fields...)
			c.Exchange = nil // no samples
			db.Record(run.ID, c)
		}
		flush(b, db)
	}
	closeStore(b, db)
	db = openStore(b, cfg, Deps{})
	if _, _, err := db.BeginRun(context.Background(), Beginning{Fingerprint: candidateV1, New: true}); err != nil {
		b.Fatal(err)
	}
	b.Run("disk", func(b *testing.B) {
		for b.Loop() {
			db.ledgers.past.forget(1)
			if s := snapshotOf(b, db, 1); len(s.Tallies.Fields) != 20_000 {
				b.Fatalf("%d fields", len(s.Tallies.Fields))
			}
		}
	})
	b.Run("memory", func(b *testing.B) {
		for b.Loop() {
			snapshotOf(b, db, 1)
		}
	})
	b.Run("contrast", func(b *testing.B) {
		then, now := snapshotOf(b, db, 1), snapshotOf(b, db, 2)
		for b.Loop() {
			if c := NewContrast(then, now, db.CurrentName); len(c.Fields) == 0 {
				b.Fatal("no field is confirmed")
			}
		}
	})
	b.Run("list", func(b *testing.B) {
		for b.Loop() {
			if list, _, err := db.Runs(context.Background(), 0, ""); err != nil || len(list) != 3 || list[2].Summary.Word != diff.Different {
				b.Fatalf("%+v, %v", list, err)
			}
		}
	})
}
