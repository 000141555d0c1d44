package store

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	"shadowdiff/diff"
	"shadowdiff/normalize"

	"github.com/google/go-cmp/cmp"
)

// shop is traffic whose routes are named as the service names them.
type shop struct {
	db    *DB
	names *normalize.Names
	run   int64
	asked int
}

func newShop(t testing.TB, cfg Config) *shop {
	names := new(normalize.Names)
	db := openStore(t, cfg, Deps{Names: names})
	return &shop{db: db, names: names, run: startRun(t, db, candidateV1).ID}
}

// ask records what comparing one exchange found. Each is a second after the one before.
func (s *shop) ask(target string, fields ...diff.FieldComparison) {
	name, _ := s.names.Route("GET", target, 200)
	s.record(name, fields...)
}

func (s *shop) record(route string, fields ...diff.FieldComparison) {
	s.asked++
	s.db.Record(s.run, compared(route, noon.Add(time.Duration(s.asked)*time.Second), fields...))
}

// slug is the i-th of many words that no shape takes for ids.
func slug(i int) string {
	syllables := []string{"ba", "du", "ti", "ko", "pa", "si", "fe", "lo", "ma", "nu"}
	return syllables[i%10] + syllables[i/10%10] + syllables[i/100%10] + "-shoes"
}

// routes lists the routes of a run as name and number of requests.
func routes(all *diff.Tallies) (list []string) {
	for _, r := range all.Routes {
		list = append(list, fmt.Sprint(r.Route, " ", r.Compared))
	}
	return list
}

// checkSums compares everything that is counted for routes with the run's totals, in memory and on the disk.
func checkSums(t *testing.T, db *DB, run int64) {
	t.Helper()
	all := db.Snapshot().Tallies
	compared, unknown, failed := int64(0), map[string]int64{}, int64(0)
	for _, r := range all.Routes {
		compared += r.Compared
		failed += r.Failed
		for reason, n := range r.Unknown {
			unknown[reason] += n
		}
	}
	if compared != all.Total.Compared || failed != all.Total.Failed || len(all.Total.Unknown)+len(unknown) > 0 && !cmp.Equal(unknown, all.Total.Unknown) {
		t.Errorf("the routes compared %d of %d, unknown %v of %v", compared, all.Total.Compared, unknown, all.Total.Unknown)
	}
	for what, query := range map[string]string{
		"routes": `SELECT coalesce(sum(compared), 0) FROM route_tally WHERE route <> '' AND run = ?`,
		"series": `SELECT coalesce(sum(s.compared), 0) FROM route_series s JOIN series_name n ON n.id = s.name
			WHERE n.field = '' AND n.test = '' AND n.run = ?`,
		"total":   `SELECT coalesce(sum(compared), 0) FROM route_tally WHERE route = '' AND run = ?`,
		"minutes": `SELECT coalesce(sum(compared), 0) FROM run_series WHERE run = ?`,
	} {
		var n int64
		if err := db.file.read.QueryRow(query, run).Scan(&n); err != nil || n != compared {
			t.Errorf("%s on the disk hold %d, the memory %d, %v", what, n, compared, err)
		}
	}
	for _, table := range []string{"sample", "field_tally", "test_tally", "confirmation", "unknown_tally", "series_name"} {
		var orphans int
		var name sql.NullString
		err := db.file.read.QueryRow(`SELECT count(*), min(route) FROM `+table+` WHERE run = ?1
			AND route NOT IN (SELECT route FROM route_tally WHERE run = ?1)`, run).Scan(&orphans, &name)
		if err != nil || orphans != 0 {
			t.Errorf("%d rows of %s are of routes without counts, such as %s, %v", orphans, table, name.String, err)
		}
	}
	var nameless int
	err := db.file.read.QueryRow(`SELECT (SELECT count(*) FROM route_series WHERE name NOT IN (SELECT id FROM series_name)) +
		(SELECT count(*) FROM field_series WHERE name NOT IN (SELECT id FROM series_name))`).Scan(&nameless)
	if err != nil || nameless != 0 {
		t.Errorf("%d rows of the series have no name, %v", nameless, err)
	}
}

// Slugs become one route, with all that was counted, confirmed and kept under their own names; after a restart it is so
// still, and goes on.
func TestSlugsBecomeOneRoute(t *testing.T) {
	cfg := testConfig(t)
	s := newShop(t, cfg)
	for range 30 {
		s.ask("/products/"+slug(0), field("body.price", 1, 0), field("body.at", 1, 1))
		s.ask("/health")
	}
	flush(t, s.db)
	own := "GET /products/" + slug(0)
	first := s.db.Snapshot()
	if got := first.Tallies.Routes; len(got) != 2 || got[1].Route != own {
		t.Fatalf("routes before the fold: %q", routes(first.Tallies))
	}
	confirmed := counted(t, first.Tallies, own, "body.price").Tests[diff.TestValue].Confirmed
	kept := first.SampleIDs(own, "body.price")
	if confirmed == nil || len(kept) != 10 {
		t.Fatalf("before the fold: confirmed %v, samples %v", confirmed, kept)
	}
	for i := 1; i <= 64; i++ { // every second one before the first flush that sees the fold, the others after
		s.ask("/products/"+slug(i), field("body.at", 1, 1))
		if i%20 == 0 {
			flush(t, s.db)
		}
	}
	flush(t, s.db)
	if n := len(s.db.Snapshot().Tallies.Routes); n != 66 {
		t.Fatalf("with 65 products there are %d routes", n)
	}
	late, _ := s.names.Route("GET", "/products/"+slug(99), 200) // named before the fold, recorded after
	s.ask("/products/"+slug(65), field("body.at", 0, 1))
	s.ask("/products/" + slug(66))
	s.record(late)
	flush(t, s.db)
	s.ask("/products/" + slug(67))
	flush(t, s.db)

	check := func(name string) {
		t.Helper()
		snap := s.db.Snapshot()
		want := []string{"GET /health 30", own + " 30", "GET /products/{id} 68"}
		if got := routes(snap.Tallies); !slices.Equal(got, want) {
			t.Errorf("%s: routes %q, want %q", name, got, want)
		}
		checkSums(t, s.db, s.run)
		at := counted(t, snap.Tallies, "GET /products/{id}", "body.at")
		if at.Raw != 64 || at.Noise != 65 || at.Tests[diff.TestValue].Both != 64 || at.Tests[diff.TestValue].ControlOnly != 1 {
			t.Errorf("%s: the field is %+v", name, at)
		}
		if got := snap.SampleIDs("GET /products/"+slug(1), "body.at"); len(got) != 0 {
			t.Errorf("%s: samples of a route that is gone: %v", name, got)
		}
		if got := snap.SampleIDs("GET /products/{id}", "body.at"); len(got) != 10 {
			t.Errorf("%s: samples %v", name, got)
		}
		items, _, err := s.db.Samples(context.Background(), Filter{Route: "GET /products/{id}", Limit: 100})
		if err != nil || len(items) != 23 { // twenty that differ, three that agree
			t.Errorf("%s: %d samples are listed, %v", name, len(items), err)
		}
		former, _, err := s.db.Samples(context.Background(), Filter{Route: "GET /products/" + slug(1), Limit: 100})
		if err != nil || len(former) != len(items) {
			t.Errorf("%s: %d samples are listed under a former name, %v", name, len(former), err)
		}
		points, err := s.db.Series(context.Background(), Filter{Route: "GET /products/" + slug(1), Field: "body.at"})
		inSeries := int64(0)
		for _, p := range points {
			inSeries += p.Noise
		}
		if err != nil || inSeries != 65 {
			t.Errorf("%s: the series under a former name has %d, %v", name, inSeries, err)
		}
		if got := s.db.CurrentRoute("GET /products/" + slug(1)); got != "GET /products/{id}" {
			t.Errorf("%s: a former name is now %s", name, got)
		}
	}
	check("after the fold")
	before := s.db.Snapshot()
	asked := s.asked
	closeStore(t, s.db)

	s = newShop(t, cfg)
	s.asked = asked
	check("after a restart")
	if d := cmp.Diff(before.Tallies, s.db.Snapshot().Tallies, bySketch()); d != "" {
		t.Errorf("tallies after a restart (-before +after):\n%s", d)
	}
	for _, field := range []string{"", "body.at"} {
		then, now := before.SampleIDs("GET /products/{id}", field), s.db.Snapshot().SampleIDs("GET /products/{id}", field)
		if !slices.Equal(then, now) {
			t.Errorf("samples of %q after a restart %v, before %v", field, now, then)
		}
	}
	s.ask("/products/never-seen")
	flush(t, s.db)
	if got := routes(s.db.Snapshot().Tallies); !slices.Contains(got, "GET /products/{id} 69") {
		t.Errorf("what is new after a restart: %q", got)
	}
	if h := s.db.Health().Names; h.Folds != 1 || h.Routes != 3 || h.Other != 0 {
		t.Errorf("health: %+v", h)
	}
}

// counted is findField for one that must be there.
func counted(t *testing.T, all *diff.Tallies, route, name string) *diff.FieldTally {
	t.Helper()
	f := findField(all, route, name)
	if f == nil {
		t.Fatalf("%s of %s was not counted", name, route)
	}
	return f
}

// What was confirmed for one product stays confirmed for all of them, with the time and the requests it had; of several
// the earliest stands, on the disk too.
func TestConfirmationsOutliveAFold(t *testing.T) {
	cfg := testConfig(t)
	cfg.SamplesPerField = 1
	s := newShop(t, cfg)
	for i := range 65 { // all are asked alike, so that none stands out; the first is not the first by its name
		for range 20 {
			s.ask("/products/"+slug(64-i), field("body.price", 1, 0))
		}
		if i%8 == 0 {
			flush(t, s.db)
		}
	}
	flush(t, s.db)
	earliest := counted(t, s.db.Snapshot().Tallies, "GET /products/"+slug(64), "body.price").Tests[diff.TestValue].Confirmed
	if earliest == nil {
		t.Fatal("20 of 20 are not confirmed")
	}
	var confirmed int
	for _, f := range s.db.Snapshot().Tallies.Fields {
		if f.Tests[diff.TestValue].Confirmed != nil {
			confirmed++
		}
	}
	for i := range 257 {
		for range 10 {
			s.ask("/products/other-" + slug(i))
		}
	}
	flush(t, s.db)
	price := counted(t, s.db.Snapshot().Tallies, "GET /products/{id}", "body.price").Tests[diff.TestValue]
	if price.Confirmed == nil || *price.Confirmed != *earliest || price.CandidateOnly != 65*20 {
		t.Errorf("of %d confirmed, the earliest as %+v, is left %+v of %d", confirmed, earliest, price.Confirmed, price.CandidateOnly)
	}
	closeStore(t, s.db)
	s = newShop(t, cfg)
	again := counted(t, s.db.Snapshot().Tallies, "GET /products/{id}", "body.price").Tests[diff.TestValue]
	if again.Confirmed == nil || *again.Confirmed != *earliest || again.Order != price.Order {
		t.Errorf("after a restart it is %+v as number %d, was number %d", again.Confirmed, again.Order, price.Order)
	}
	checkSums(t, s.db, s.run)
}

// Names that were given are never folded, though they look like others that are.
func TestGivenRoutesStay(t *testing.T) {
	cfg := testConfig(t)
	s := newShop(t, cfg)
	given := func() {
		s.asked++
		c := compared("GET /products/sale", noon.Add(time.Duration(s.asked)*time.Second), field("body.price", 1, 0))
		c.Given = true
		s.db.Record(s.run, c)
	}
	given()
	for i := range 70 {
		s.ask("/products/" + slug(i))
	}
	flush(t, s.db)
	given()
	closeStore(t, s.db)
	s = newShop(t, cfg)
	want := []string{"GET /products/sale 2", "GET /products/{id} 70"}
	if got := routes(s.db.Snapshot().Tallies); !slices.Equal(got, want) {
		t.Errorf("routes %q, want %q", got, want)
	}
	items, _, err := s.db.Samples(context.Background(), Filter{Route: "GET /products/sale"})
	if err != nil || len(items) != 2 || s.db.CurrentRoute("GET /products/sale") != "GET /products/sale" {
		t.Errorf("%d samples of the given route, which is now %s, %v", len(items), s.db.CurrentRoute("GET /products/sale"), err)
	}
	if h := s.db.Health().Names; h.Given != 1 || h.Routes != 1 {
		t.Errorf("names after a restart: %+v", h)
	}
}

// A run that was replaced a moment ago is merged too, though nothing more is counted in it.
func TestTheRunBeforeIsMerged(t *testing.T) {
	s := newShop(t, testConfig(t))
	for i := range 60 {
		s.ask("/products/"+slug(i), field("body.price", 1, 0))
	}
	flush(t, s.db)
	former := s.run
	s.run = startRun(t, s.db, Fingerprint{Candidate: "http://candidate:2"}).ID
	for i := range 70 {
		s.ask("/products/" + slug(100+i))
	}
	flush(t, s.db)
	for run, want := range map[int64]int64{former: 60, s.run: 70} {
		var n, routes int64
		err := s.db.file.read.QueryRow(`SELECT sum(compared), count(*) FROM route_tally WHERE route <> '' AND run = ?`, run).Scan(&n, &routes)
		if err != nil || n != want || routes != 1 {
			t.Errorf("run %d: %d compared in %d routes, want %d in one, %v", run, n, routes, want, err)
		}
	}
	items, _, err := s.db.Samples(context.Background(), Filter{Run: former, Route: "GET /products/{id}"})
	if err != nil || len(items) == 0 {
		t.Errorf("%d samples of the run before, %v", len(items), err)
	}
}

// A disk that fails at the fold gets it later, once; and what folds meanwhile above it as well.
func TestFoldsOutliveTrouble(t *testing.T) {
	cfg := testConfig(t)
	s := newShop(t, cfg)
	for i := range 60 {
		s.ask("/u/"+slug(0)+"/likes/"+slug(i), field("body.n", 1, 0))
	}
	flush(t, s.db)
	pragma(t, s.db, `query_only = 1`)
	fail := func() {
		if s.db.Flush(context.Background()) == nil {
			t.Fatal("written to a disk that takes nothing")
		}
	}
	for i := range 10 {
		s.ask("/u/"+slug(0)+"/likes/"+slug(100+i), field("body.n", 1, 0))
	}
	fail()
	if got := routes(s.db.Snapshot().Tallies); !slices.Equal(got, []string{"GET /u/" + slug(0) + "/likes/{id} 70"}) {
		t.Errorf("routes in memory: %q", got)
	}
	now := s.asked
	s.asked = 10 // a latecomer of the first minute, which is on the disk under the former names
	s.ask("/u/"+slug(0)+"/likes/late", field("body.n", 1, 0))
	s.asked = now
	for i := range 300 {
		for range 20 { // so that the first user does not stand out
			s.ask("/u/"+slug(i+1)+"/likes/one", field("body.n", 0, 1))
		}
	}
	fail()
	fail()
	pragma(t, s.db, `query_only = 0`)
	flush(t, s.db)
	want := []string{"GET /u/{id}/likes/{id} 6071"}
	if got := routes(s.db.Snapshot().Tallies); !slices.Equal(got, want) {
		t.Errorf("routes %q, want %q", got, want)
	}
	checkSums(t, s.db, s.run)
	closeStore(t, s.db)
	s = newShop(t, cfg)
	if got := routes(s.db.Snapshot().Tallies); !slices.Equal(got, want) {
		t.Errorf("routes after a restart %q, want %q", got, want)
	}
	checkSums(t, s.db, s.run)
}

// Minutes that have become hours, and those that are no longer in memory, are merged on the disk.
func TestOldSeriesAreMerged(t *testing.T) {
	s := newShop(t, testConfig(t))
	for i := range 60 {
		s.asked += 3600
		s.ask("/products/" + slug(i))
		s.asked--
		s.ask("/products/" + slug(i%7) + "x")
	}
	flush(t, s.db)
	now := noon.Add(time.Duration(s.asked) * time.Second)
	for s.db.sweep(context.Background(), now.Add(26*time.Hour), time.Now().Add(time.Minute)) {
	}
	for i := range 10 {
		s.ask("/products/" + slug(500+i))
	}
	flush(t, s.db)
	checkSums(t, s.db, s.run)
	var hours, minutes int64
	points, err := s.db.Series(context.Background(), Filter{Route: "GET /products/{id}"})
	for _, p := range points {
		if p.Span == time.Hour {
			hours += p.Compared
		} else {
			minutes += p.Compared
		}
	}
	all := s.db.Snapshot().Tallies
	if err != nil || hours == 0 || minutes == 0 || hours+minutes != all.Routes[len(all.Routes)-1].Compared {
		t.Errorf("%d in hours and %d in minutes of %q, %v", hours, minutes, routes(all), err)
	}
}

// A database of the first schema goes on, and what is one route by now is merged in it.
func TestFirstSchemaIsMigrated(t *testing.T) {
	cfg := testConfig(t)
	data, err := os.ReadFile("testdata/schema1.sql")
	if err != nil {
		t.Fatal(err)
	}
	schema, err := migrations.ReadFile("migrations/0001_first.sql")
	if err != nil {
		t.Fatal(err)
	}
	execOn(t, cfg.Path, string(schema)+"BEGIN;"+string(data)+"COMMIT; PRAGMA user_version = 1")
	s := newShop(t, cfg)
	flush(t, s.db)
	for round := range 2 {
		want := []string{"GET /health 30", "GET /products/featured 30", "GET /products/{id} 70"}
		if got := routes(s.db.Snapshot().Tallies); !slices.Equal(got, want) {
			t.Errorf("%d: routes %q, want %q", round, got, want)
		}
		price := counted(t, s.db.Snapshot().Tallies, "GET /products/featured", "body.price").Tests[diff.TestValue]
		if price.Confirmed == nil || price.Confirmed.Requests != 30 {
			t.Errorf("%d: the confirmation of before is %+v", round, price.Confirmed)
		}
		checkSums(t, s.db, s.run)
		items, _, err := s.db.Samples(context.Background(), Filter{Route: "GET /products/{id}"})
		if err != nil || len(items) != 13 {
			t.Errorf("%d: %d samples, %v", round, len(items), err)
		}
		closeStore(t, s.db)
		s = newShop(t, cfg)
	}
}

// foldUntilKilled records what shops sell, one shop after the other, and flushes all the while. It says what
// recordUntilKilled does.
func foldUntilKilled(path string) error {
	cfg := DefaultConfig()
	cfg.Path, cfg.SamplesPerField = path, 1
	names := new(normalize.Names)
	db, err := Open(cfg, Deps{Names: names})
	if err != nil {
		return err
	}
	run, err := db.StartRun("", candidateV1)
	if err != nil {
		return err
	}
	var out sync.Mutex
	say := func(word string, n int64) {
		out.Lock()
		defer out.Unlock()
		fmt.Println(word, n)
	}
	begin := db.Snapshot().Tallies.Total.Compared
	flushed := make(chan struct{}, 1)
	go func() {
		for db.Flush(context.Background()) == nil {
			flushed <- struct{}{}
		}
	}()
	go func() {
		for range db.Watch(context.Background()) {
			say("shown", db.Snapshot().Tallies.Total.Compared)
		}
	}()
	for n := begin; ; n += 2 {
		say("begin", n+2)
		for i := range 2 {
			k := int(n) + i
			name, _ := names.Route("GET", fmt.Sprintf("/shop-%s/%s", slug(k/100), slug(k%100)), 200)
			db.Record(run.ID, compared(name, time.Now(), field("body.always", 1, 1), field("body.price", 1, 0)))
		}
		say("recorded", n+2)
		if (n-begin)%100 == 0 { // while the next flush is under way; it may have begun at an odd number
			<-flushed
		}
	}
}

// Killed at any moment of a fold, the store has either the routes of before or the one of after, never some of both: the
// counts of routes, fields and minutes together are the run's.
func TestKillAmongFolds(t *testing.T) {
	cfg := testConfig(t)
	random := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))
	for round := range 2 {
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), crashFoldEnv+"="+cfg.Path)
		pipe, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		heard := listen(pipe, 3+random.IntN(3), random.IntN(60), func() { child.Process.Kill() })
		_ = child.Wait() // it was killed
		if heard.err != nil {
			t.Fatal(heard.err)
		}
		s := newShop(t, cfg)
		checkFolded(t, round, s, heard)
		closeStore(t, s.db)
	}
}

func checkFolded(t *testing.T, round int, s *shop, h heard) {
	t.Helper()
	all := s.db.Snapshot().Tallies
	found := all.Total.Compared
	if found < h.shown || found > h.begun {
		t.Errorf("round %d: %d were shown, %d begun, %d are on the disk", round, h.shown, h.begun, found)
	}
	flush(t, s.db)
	checkSums(t, s.db, s.run)
	var always, prices int64
	for _, f := range all.Fields {
		if f.Field == "body.always" {
			always += f.Tests[diff.TestValue].Both
		} else {
			prices += f.Tests[diff.TestValue].CandidateOnly
		}
	}
	if always != found || prices != found {
		t.Errorf("round %d: %d compared, %d and %d in fields", round, found, always, prices)
	}
	folds, _ := s.names.Folds()
	t.Logf("round %d: %d compared in %d routes, %d places folded", round, found, len(all.Routes), len(folds))
	if round == 1 && len(folds) == 0 {
		t.Error("nothing has folded")
	}
	checkSamples(t, s.db) // there may be none: of those of several routes one stays, and it may have been on its way
}

// At any time, before and after folds, with a disk that fails now and then and with restarts: what was recorded is what
// the run counts, and what its routes count together.
func TestNothingIsLostOrDoubledByFolds(t *testing.T) {
	for range 4 {
		seed := rand.Uint64()
		random := rand.New(rand.NewPCG(seed, 4))
		cfg := testConfig(t)
		s := newShop(t, cfg)
		var late []string
		recorded := int64(0)
		for step := range 8 {
			for range random.IntN(150) {
				target := "/p/" + slug(random.IntN(1+random.IntN(200)))
				if random.IntN(3) == 0 {
					target += "/" + slug(random.IntN(1+random.IntN(80)))
				}
				if random.IntN(10) == 0 { // it will be recorded long after it was named
					name, _ := s.names.Route("GET", target, 200)
					late = append(late, name)
					continue
				}
				s.ask(target, field("body."+slug(random.IntN(3)), diff.Level(random.IntN(2)), diff.Level(random.IntN(2))))
				recorded++
			}
			for len(late) > 0 && random.IntN(3) > 0 {
				s.record(late[0], field("body.late", 1, 1))
				late = late[1:]
				recorded++
			}
			what := fmt.Sprintf("seed %d, step %d", seed, step)
			switch random.IntN(4) {
			case 0:
				pragma(t, s.db, `query_only = 1`)
				_ = s.db.Flush(context.Background()) // fails, if there is anything to be written
				pragma(t, s.db, `query_only = 0`)
				checkCounted(t, what+", disk failing", s, recorded)
				continue
			case 1:
				closeStore(t, s.db)
				asked := s.asked
				s = newShop(t, cfg)
				s.asked = asked
			}
			flush(t, s.db)
			checkCounted(t, what, s, recorded)
			checkSums(t, s.db, s.run)
		}
		closeStore(t, s.db)
	}
}

// checkCounted compares what was recorded with the snapshot, in which every route has its present name.
func checkCounted(t *testing.T, what string, s *shop, recorded int64) {
	t.Helper()
	all := s.db.Snapshot().Tallies
	sum := int64(0)
	for _, r := range all.Routes {
		sum += r.Compared
		if now := s.names.Current(r.Route); now != r.Route {
			t.Errorf("%s: %s should be %s by now", what, r.Route, now)
		}
	}
	if sum != recorded || all.Total.Compared != recorded {
		t.Errorf("%s: %d recorded, %d counted, %d in routes", what, recorded, all.Total.Compared, sum)
	}
}
