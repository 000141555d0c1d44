package main

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"shadowdiff/multicast"
	"shadowdiff/normalize"
	"shadowdiff/store"
	"shadowdiff/web"
)

// court is a service that has its store and its docket, and serves nobody.
type court struct {
	*service
	t   *testing.T
	log *journal
	d   *docket
}

// newCourt opens a store of the test's own; close it before the test ends.
func newCourt(t *testing.T, change func(*config)) *court {
	t.Helper()
	c := &court{t: t, log: &journal{}}
	log := slog.New(slog.NewTextHandler(c.log, nil))
	cfg := defaultConfig()
	cfg.Candidate = "http://candidate:1"
	cfg.Store.Path = filepath.Join(t.TempDir(), "court.db")
	if change != nil {
		change(&cfg)
	}
	c.service = &service{log: log, names: new(normalize.Names)}
	c.open(cfg)
	return c
}

// open opens the store and puts its run in force, as a start does.
func (c *court) open(cfg config) {
	c.t.Helper()
	c.cfg.Store(&cfg)
	var err error
	if c.db, err = store.Open(cfg.Store, store.Deps{Log: c.service.log, Judge: cfg.Verdict, Names: c.names}); err != nil {
		c.t.Fatal(err)
	}
	if err := c.versions.restore(c.db); err != nil {
		c.t.Fatal(err)
	}
	c.reload(cfg, "start")
}

// reload puts a configuration in force.
func (c *court) reload(cfg config, by string) {
	c.t.Helper()
	rules, err := cfg.compile()
	if err == nil {
		c.d, err = c.begin(context.Background(), cfg, rules, store.Beginning{By: by})
	}
	if err != nil {
		c.t.Fatal(err)
	}
	c.cfg.Store(&cfg)
}

func (c *court) close() {
	c.t.Helper()
	if err := c.db.Close(); err != nil {
		c.t.Error(err)
	}
}

// asked is an exchange whose request has just arrived, and whose candidate will tell this version; "-" is one that does
// not answer.
func (c *court) asked(version string) *multicast.Exchange {
	ex := &multicast.Exchange{Time: time.Now(), Request: multicast.Request{Method: "GET", Target: "/a", Host: "shop.example"}}
	for role := range ex.Responses {
		ex.Responses[role] = multicast.Response{Outcome: multicast.OutcomeOK, Status: 200, Header: http.Header{}, Duration: time.Millisecond}
	}
	r := ex.Response(multicast.Candidate)
	switch version {
	case "-":
		*r = multicast.Response{Outcome: multicast.OutcomeDial}
	case "":
	default:
		r.Header.Set(defaultVersionHeader, version)
	}
	return ex
}

// tell delivers n exchanges that tell a version.
func (c *court) tell(n int, version string) {
	for range n {
		c.d.deliver(c.asked(version))
	}
}

// runs says what every run has counted, and which one is in force: "1=v1:20 2=v2:3*".
func (c *court) runs() string {
	c.t.Helper()
	if err := c.db.Flush(context.Background()); err != nil {
		c.t.Fatal(err)
	}
	list, _, err := c.db.Runs(context.Background(), 500, "")
	if err != nil {
		c.t.Fatal(err)
	}
	var texts []string
	for i := len(list) - 1; i >= 0; i-- {
		r := list[i]
		text := fmt.Sprintf("%d=%s", r.ID, r.Name)
		if r.Attempt > 1 {
			text += fmt.Sprintf("/%d", r.Attempt)
		}
		text += fmt.Sprintf(":%d", r.Summary.Compared)
		if r.Ended == nil {
			text += "*"
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, " ")
}

func (c *court) want(when, want string) {
	c.t.Helper()
	if got := c.runs(); got != want {
		c.t.Errorf("%s: %s\nwant %s\n%s", when, got, want, c.log)
	}
}

// TestAVersionBeginsARun when it was not seen before, and counts in its own run while two versions alternate.
func TestAVersionBeginsARun(t *testing.T) {
	t.Parallel()
	c := newCourt(t, nil)
	defer c.close()
	c.tell(3, "1.0")
	c.want("the first version names the run", "1=1.0:3*")
	late := c.asked("1.0")
	c.tell(2, "1.1")
	c.want("another begins one", "1=1.0:3 2=1.1:2*")
	for range 40 { // a deployment is under way
		c.tell(1, "1.0")
		c.tell(1, "1.1")
	}
	c.d.deliver(late)
	c.want("both are told in turns", "1=1.0:44 2=1.1:42*")
	c.tell(1, "-")
	c.tell(1, "")
	c.want("who tells none counts in the run in force", "1=1.0:44 2=1.1:44*")

	cfg := *c.cfg.Load()
	c.close()
	c.judging.Store(nil)
	c.open(cfg)
	c.tell(1, "1.0")
	c.tell(1, "1.1")
	c.want("after a restart", "1=1.0:45 2=1.1:45*")
	c.tell(1, "1.2")
	c.want("and a third", "1=1.0:45 2=1.1:45 3=1.2:1*")
	entries, err := c.db.Activity(context.Background(), 1)
	if err != nil || len(entries) != 1 || entries[0].Actor != "version" || entries[0].Detail != `in force: "1.2" (id 3)` {
		t.Errorf("activity: %+v, %v", entries, err)
	}
}

// TestARunWithoutAVersionIsNotTakenForOne: what was counted before the first version was told is not the version's.
func TestARunWithoutAVersionIsNotTakenForOne(t *testing.T) {
	t.Parallel()
	c := newCourt(t, nil)
	defer c.close()
	c.tell(1, "-")
	c.tell(2, "1.0")
	c.want("an answer that never came was of no version", "1=1.0:3*")
	c.reload(*c.cfg.Load(), "reload")
	cfg := *c.cfg.Load()
	cfg.Candidate = "http://candidate:2"
	c.reload(cfg, "reload")
	c.tell(2, "")
	c.want("another candidate, which tells none", "1=1.0:3 2=run 2:2*")
	c.tell(1, "1.0")
	c.want("and then does", "1=1.0:3 2=run 2:2 3=1.0/2:1*")
	cfg.VersionHeader = "none"
	c.reload(cfg, "reload")
	c.tell(1, "7.7")
	c.want("switched off it is a header like others, by other rules", "1=1.0:3 2=run 2:2 3=1.0/2:1 4=run 4:1*")
}

// TestARunBegunByHand takes the first version told for its own, unless it was begun for a certain one.
func TestARunBegunByHand(t *testing.T) {
	t.Parallel()
	c := newCourt(t, nil)
	defer c.close()
	ctx := context.Background()
	begin := func(b web.RunBeginning) {
		t.Helper()
		b.Actor = "api"
		if _, err := c.beginRun(ctx, b); err != nil {
			t.Fatal(err)
		}
	}
	c.tell(1, "1.0")
	late := c.asked("1.0")
	begin(web.RunBeginning{Name: "again"})
	c.tell(2, "1.0")
	c.d.deliver(late)
	c.want("the same version again", "1=1.0:2 2=again:2*")
	begin(web.RunBeginning{Name: "next", Version: "1.1"})
	c.tell(3, "1.0")
	c.want("the version that is meant is not out yet", "1=1.0:2 2=again:5 3=next:0*")
	c.tell(4, "1.1")
	c.want("now it is", "1=1.0:2 2=again:5 3=next:4*")
	begin(web.RunBeginning{})
	c.tell(1, "1.1")
	c.want("without a name it is another attempt", "1=1.0:2 2=again:5 3=next:4 4=next/2:1*")
	if _, err := c.beginRun(ctx, web.RunBeginning{Name: "4"}); err == nil {
		t.Error("a number was taken for a name")
	}
}

// TestTheConfigurationNamesWhatOnlyAVersionHasNamed: other rules are no other attempt at a version that may be replaced.
func TestTheConfigurationNamesWhatOnlyAVersionHasNamed(t *testing.T) {
	t.Parallel()
	c := newCourt(t, func(cfg *config) { cfg.Run = "nightly" })
	defer c.close()
	c.tell(1, "1.0")
	c.tell(2, "1.1")
	c.want("another version", "1=nightly:1 2=1.1:2*")
	cfg := *c.cfg.Load()
	cfg.Candidate = "http://candidate:2"
	c.reload(cfg, "reload")
	c.tell(3, "1.2")
	c.want("another candidate", "1=nightly:1 2=1.1:2 3=nightly/2:3*")
}

// TestARollbackIsNoticed when the earlier version was told again and again, for a while, and no other.
func TestARollbackIsNoticed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCourt(t, nil)
		defer c.close()
		c.tell(1, "1.0")
		c.tell(1, "1.1")
		c.tell(150, "1.0")
		c.want("often, but only now", "1=1.0:151 2=1.1:1*")
		time.Sleep(30 * time.Second)
		c.tell(1, "1.1")
		time.Sleep(40 * time.Second)
		c.tell(99, "1.0")
		c.want("the later one is still there", "1=1.0:250 2=1.1:2*")
		time.Sleep(time.Minute)
		c.tell(2, "1.0")
		c.want("for a minute there was nothing else", "1=1.0:252* 2=1.1:2")
		c.tell(1, "")
		c.tell(1, "1.1")
		c.want("the later version is known as well", "1=1.0:253* 2=1.1:3")
		time.Sleep(20 * time.Minute) // its run leaves the memory
		c.tell(1, "1.0")
		c.want("later", "1=1.0:254* 2=1.1:3")
		c.tell(1, "1.1")
		c.want("and it comes back", "1=1.0:254* 2=1.1:4")
		if n := c.db.Health().Stray; n != 0 {
			t.Errorf("%d were counted nowhere", n)
		}
	})
}

// TestAHeaderThatIsNoVersion begins ten runs and no more, and it is told of once.
func TestAHeaderThatIsNoVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCourt(t, nil)
		defer c.close()
		for i := range 60 {
			c.tell(1, fmt.Sprintf("request %d", i))
		}
		list, _, err := c.db.Runs(context.Background(), 500, "")
		if err != nil || len(list) != 11 { // the first named the run that was there
			t.Errorf("%d runs, %v", len(list), err)
		}
		if n := strings.Count(c.log.String(), "begins no runs for now"); n != 1 {
			t.Errorf("it was told %d times:\n%s", n, c.log)
		}
		if told := c.instanceTroubles(); !strings.Contains(told, "10 versions within an hour are too many") {
			t.Errorf("the pages say %q", told)
		}
		c.want("the run in force counts them", "1=request 0:1 2=request 1:1 3=request 2:1 4=request 3:1 5=request 4:1 6=request 5:1 "+
			"7=request 6:1 8=request 7:1 9=request 8:1 10=request 9:1 11=request 10:50*")
		time.Sleep(3 * time.Hour)
		c.tell(1, "2.0")
		c.tell(1, "x")
		c.tell(1, "2.0")
		time.Sleep(59 * time.Minute)
		c.tell(1, "2.0")
		if list, _, _ := c.db.Runs(context.Background(), 500, ""); len(list) != 11 {
			t.Errorf("%d runs: it is not calm for an hour yet", len(list))
		}
		time.Sleep(2 * time.Minute)
		c.tell(1, "2.0")
		if run := c.db.Snapshot().Run; run.ID != 12 || run.Name != "2.0" || c.instanceTroubles() != "" {
			t.Errorf("after an hour of one version: %+v, %q", run, c.instanceTroubles())
		}
		c.tell(1, strings.Repeat("v", 65))
		c.tell(1, "a\tb")
		if n := strings.Count(c.log.String(), "is no version and was not looked at"); n != 1 || c.db.Snapshot().Run.ID != 12 {
			t.Errorf("told %d times:\n%s", n, c.log)
		}
	})
}

func (c *court) instanceTroubles() string { return strings.Join(c.versions.troubles(), "\n") }

// TestEachExchangeCountsInOneRun, whatever begins runs meanwhile: versions, people, reloads, and all at the same time.
func TestEachExchangeCountsInOneRun(t *testing.T) {
	t.Parallel()
	c := newCourt(t, nil)
	defer c.close()
	ctx, random := context.Background(), rand.New(rand.NewPCG(1, uint64(time.Now().UnixNano())))
	var dockets sync.Mutex
	var all sync.WaitGroup
	const each = 300
	for range 4 {
		seed := random.Uint64()
		all.Go(func() {
			r := rand.New(rand.NewPCG(seed, 2))
			for range each {
				version := []string{"1.0", "1.1", "1.2", "", "-"}[r.IntN(5)]
				dockets.Lock()
				d := c.d
				dockets.Unlock()
				d.deliver(c.asked(version))
			}
		})
	}
	for i := range 12 {
		if i%3 == 2 {
			cfg := *c.cfg.Load()
			cfg.Candidate = fmt.Sprintf("http://candidate:%d", i%2)
			rules, err := cfg.compile()
			if err != nil {
				t.Fatal(err)
			}
			d, err := c.begin(ctx, cfg, rules, store.Beginning{By: "reload"})
			if err != nil {
				t.Fatal(err)
			}
			dockets.Lock()
			c.d = d
			dockets.Unlock()
		} else if _, err := c.beginRun(ctx, web.RunBeginning{Name: "by hand", Actor: "api"}); err != nil {
			t.Fatal(err)
		}
		if err := c.db.Flush(ctx); err != nil {
			t.Fatal(err)
		}
	}
	all.Wait()
	if err := c.db.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	list, _, err := c.db.Runs(ctx, 500, "")
	if err != nil {
		t.Fatal(err)
	}
	var counted int64
	inForce := 0
	for _, r := range list {
		s, err := c.db.RunSnapshot(ctx, r.ID)
		if err != nil {
			t.Fatal(err)
		}
		counted += s.Tallies.Total.Compared
		if r.Ended == nil {
			inForce++
		}
	}
	if counted != 4*each || inForce != 1 || c.db.Health().Stray != 0 {
		t.Errorf("%d of %d are counted in %d runs, %d of them in force, %d strayed", counted, 4*each, len(list), inForce, c.db.Health().Stray)
	}
}
