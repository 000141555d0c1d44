package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// beginWith begins a run with a change of the rules.
func beginWith(t *testing.T, db *DB, fp Fingerprint, c *RuleChange) (Run, bool) {
	t.Helper()
	run, begun, err := db.BeginRun(context.Background(), Beginning{Fingerprint: fp, Rules: c, By: "api"})
	if err != nil {
		t.Fatal(err)
	}
	return run, begun
}

func ruleIDs(list []Rule) (ids []int64) {
	for _, r := range list {
		ids = append(ids, r.ID)
	}
	return ids
}

// Rules are kept with the run that they make, in their order, and no id is given twice.
func TestRulesAreKeptWithTheirRun(t *testing.T) {
	cfg := testConfig(t)
	db := openStore(t, cfg, Deps{})
	startRun(t, db, candidateV1)
	if list, next := db.Rules(); len(list) != 0 || next != 1 {
		t.Fatalf("%v, next %d", list, next)
	}
	at := time.Now().UTC().Truncate(time.Microsecond)
	with := candidateV1
	with.Rules = "drop body.at"
	run, begun := beginWith(t, db, with, &RuleChange{Add: []Rule{
		{1, "- drop: body.at\n", at, "api"}, {2, "- drop: body.b\n", at, "api"}, {3, "- drop: body.c\n", at, "page"},
	}})
	if !begun || run.ID != 2 {
		t.Fatalf("run %+v, %t", run, begun)
	}
	if _, begun = beginWith(t, db, with, &RuleChange{Remove: []int64{1, 3, 17}}); begun {
		t.Error("the same rules, compiled, have begun a run")
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}

	db = openStore(t, cfg, Deps{})
	list, next := db.Rules()
	if d := cmp.Diff([]Rule{{2, "- drop: body.b\n", at, "api"}}, list); d != "" || next != 4 {
		t.Errorf("next %d after a restart (-want +got):\n%s", next, d)
	}
	if again := startRun(t, db, with); again.ID != run.ID {
		t.Errorf("run %d after a restart, want %d", again.ID, run.ID)
	}
}

// Where the run cannot be written down the rules are as they were, in memory and on the disk.
func TestRulesAndRunAreWrittenTogether(t *testing.T) {
	cfg := testConfig(t)
	db := openStore(t, cfg, Deps{})
	startRun(t, db, candidateV1)
	with := candidateV1
	with.Rules = "drop body.at"
	add := []Rule{{1, "- drop: body.at\n", time.Now(), "api"}}
	if _, err := db.file.write.now.Load().Exec(`CREATE TRIGGER refuse BEFORE INSERT ON rule BEGIN SELECT RAISE(ABORT, 'no'); END`); err != nil {
		t.Fatal(err)
	}
	for _, fp := range []Fingerprint{with, candidateV1} {
		if _, _, err := db.BeginRun(context.Background(), Beginning{Fingerprint: fp, Rules: &RuleChange{Add: add}}); err == nil {
			t.Error("begun without its rules")
		}
	}
	if list, next := db.Rules(); len(list) != 0 || next != 1 || db.Snapshot().Run.ID != 1 {
		t.Errorf("%v, next %d, run %d", list, next, db.Snapshot().Run.ID)
	}
	if _, err := db.FindRun(context.Background(), "2"); !errors.Is(err, ErrNotFound) {
		t.Errorf("a second run: %v", err)
	}
}

// A database of the second schema has no rules, and takes some.
func TestSecondSchemaTakesRules(t *testing.T) {
	cfg := testConfig(t)
	openSchema(t, cfg.Path, "schema2.sql", "0001_first.sql", "0002_route_fold.sql")
	db := openStore(t, cfg, Deps{})
	if list, next := db.Rules(); len(list) != 0 || next != 1 {
		t.Fatalf("%v, next %d", list, next)
	}
	startRun(t, db, candidateV1)
	beginWith(t, db, candidateV1, &RuleChange{Add: []Rule{{1, "- drop: body.at\n", time.Now(), "api"}}})
	if list, next := db.Rules(); !slices.Equal(ruleIDs(list), []int64{1}) || next != 2 {
		t.Errorf("%v, next %d", list, next)
	}
}

// When the file goes away, the one in its place has the rules.
func TestRulesAreInTheFileThatTakesAnothersPlace(t *testing.T) {
	cfg := testConfig(t)
	db := openStore(t, cfg, Deps{})
	startRun(t, db, candidateV1)
	beginWith(t, db, candidateV1, &RuleChange{Add: []Rule{{1, "- drop: body.at\n", time.Now(), "api"}, {2, "- drop: body.b\n", time.Now(), "api"}}})
	fresh := filepath.Join(t.TempDir(), "fresh.db")
	other := cfg
	other.Path = fresh
	if err := db.transactFresh(t, other); err != nil {
		t.Fatal(err)
	}
	again := openStore(t, other, Deps{})
	if list, next := again.Rules(); !slices.Equal(ruleIDs(list), []int64{1, 2}) || next != 3 {
		t.Errorf("%v, next %d", list, next)
	}
}

// transactFresh writes what a new file is to have to one.
func (db *DB) transactFresh(t *testing.T, cfg Config) error {
	t.Helper()
	into := openStore(t, cfg, Deps{})
	tx, err := into.file.write.now.Load().Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := db.writeFresh(context.Background(), tx); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	if _, err := os.Stat(cfg.Path); err != nil {
		return err
	}
	return into.Close()
}

// The latest samples are those of any run.
func TestTheLatestSamplesAreOfAnyRun(t *testing.T) {
	db := openStore(t, testConfig(t), Deps{})
	first := startRun(t, db, candidateV1)
	db.Record(first.ID, compared("GET /a", noon, field("body.price", 1, 0)))
	flush(t, db)
	with := candidateV1
	with.Rules = "others"
	second := startRun(t, db, with)
	db.Record(second.ID, compared("GET /a", noon.Add(time.Second), field("body.price", 1, 0)))
	flush(t, db)
	ids, err := db.LatestSamples(context.Background(), 10)
	if err != nil || len(ids) != 2 {
		t.Fatalf("%v, %v", ids, err)
	}
	var runs []string
	for _, id := range ids {
		s, err := db.Sample(context.Background(), id)
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, fmt.Sprint(s.Run))
	}
	if !slices.Equal(runs, []string{"2", "1"}) {
		t.Errorf("of runs %v", runs)
	}
	if ids, err := db.LatestSamples(context.Background(), 1); err != nil || len(ids) != 1 {
		t.Errorf("%v, %v", ids, err)
	}
}
