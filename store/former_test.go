package store

import (
	"testing"

	"shadowdiff/normalize"
)

// look is Steady, but waits for the flush however long it takes.
func look(t *testing.T, db *DB) {
	t.Helper()
	if l := db.ledgers.current(); l.profiles.look() > 0 {
		db.steady(t.Context(), l)
	}
}

// What is read beside a snapshot is of its moment, however much has been counted since; the next snapshot has it.
func TestProfilesStandWithTheSnapshot(t *testing.T) {
	db := openStore(t, testConfig(t), Deps{})
	run := startRun(t, db, candidateV1)
	c := profiler(t, db, new(normalize.Names))
	buy := func(times int) {
		for range times {
			db.Record(run.ID, c.Compare(bought("/shop?currency=EUR", 10, 11)))
		}
	}
	agree := func(when string, want int64) {
		t.Helper()
		look(t, db)
		snap, f, a := db.Moment("GET /shop", "body.price")
		if f == nil || a == nil {
			t.Fatalf("%s: there is no profile, or there are no attributes", when)
		}
		if n := snap.Tallies.Total.Compared; n != want || f.Exchanges != n || a.Compared != n {
			t.Errorf("%s: the snapshot has %d, the profile %d, the attributes %d, want %d", when, n, f.Exchanges, a.Compared, want)
		}
	}
	buy(30)
	agree("at first, which flushes", 30)
	buy(20)
	agree("while it goes on", 30)
	if err := db.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	agree("after a flush", 50)
	buy(5)
	agree("and on", 50)
	if err := db.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	agree("and after another", 55)
}

// Nobody waits for a flush that takes its time: who looks first is shown what there is, and the next snapshot agrees with it.
func TestTheFirstLookWaitsForNoFlush(t *testing.T) {
	db := openStore(t, testConfig(t), Deps{})
	run := startRun(t, db, candidateV1)
	c := profiler(t, db, new(normalize.Names))
	buy := func() { db.Record(run.ID, c.Compare(bought("/shop?currency=EUR", 10, 11))) }
	buy()
	if err := db.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	buy()
	db.flushing.Lock() // by a flush that has not ended
	db.Steady(t.Context())
	if snap, f, _ := db.Moment("GET /shop", "body.price"); snap.Tallies.Total.Compared != 1 || f == nil || f.Exchanges != 2 {
		t.Errorf("while a flush is under way the first look sees %+v of %d", f, snap.Tallies.Total.Compared)
	}
	db.flushing.Unlock()
	if err := db.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	buy()
	db.Steady(t.Context())
	if snap, f, _ := db.Moment("GET /shop", "body.price"); snap.Tallies.Total.Compared != 2 || f == nil || f.Exchanges != 2 {
		t.Errorf("after it the snapshot has %d, the profile %+v", snap.Tallies.Total.Compared, f)
	}
}

// Copies are no way around redaction: what is not to be kept any more is in none of them.
func TestCopiesForgetWhatIsRedacted(t *testing.T) {
	db := openStore(t, testConfig(t), Deps{})
	run := startRun(t, db, candidateV1)
	c := profiler(t, db, new(normalize.Names))
	db.Record(run.ID, c.Compare(bought("/shop?currency=EUR", 10, 11)))
	look(t, db)
	if _, none, _ := db.Moment("GET /shop", "body.nothing"); none != nil {
		t.Errorf("a field that has not differed has %+v", none)
	}
	for range 20 {
		db.Record(run.ID, c.Compare(bought("/shop?currency=EUR", 10, 11)))
	}
	r, err := normalize.NewRedactor([]string{"query.currency", "body.price"})
	if err != nil {
		t.Fatal(err)
	}
	db.ledgers.current().profiles.redact(r)
	a, err := db.Attributes(t.Context(), run.ID, "GET /shop")
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range a.List("body.price") {
		if one.Attribute == "query.currency" && len(one.Values) > 0 {
			t.Errorf("it still tells %+v", one)
		}
	}
	f, err := db.Profile(t.Context(), run.ID, "GET /shop", "body.price")
	if err != nil {
		t.Fatal(err)
	}
	if f.Places != 0 || f.Withheld != f.Exchanges {
		t.Errorf("it still has %+v", f)
	}
}
