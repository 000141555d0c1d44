package store

import (
	"testing"

	"shadowdiff/normalize"
)

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
		db.Steady(t.Context())
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

// Copies are no way around redaction: what is not to be kept any more is in none of them.
func TestCopiesForgetWhatIsRedacted(t *testing.T) {
	db := openStore(t, testConfig(t), Deps{})
	run := startRun(t, db, candidateV1)
	c := profiler(t, db, new(normalize.Names))
	db.Record(run.ID, c.Compare(bought("/shop?currency=EUR", 10, 11)))
	db.Steady(t.Context())
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
