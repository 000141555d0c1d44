package store

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// These name the database that this test binary, run again, shall record into until it is killed: in one route, or in
// many that become one again and again.
const (
	crashEnv     = "SHADOWDIFF_STORE_CRASH"
	crashFoldEnv = "SHADOWDIFF_STORE_CRASH_FOLD"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(crashEnv); path != "" {
		if err := recordUntilKilled(path); err != nil {
			fmt.Println("failed", err)
			os.Exit(1)
		}
	}
	if path := os.Getenv(crashFoldEnv); path != "" {
		if err := foldUntilKilled(path); err != nil {
			fmt.Println("failed", err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

// recordUntilKilled says on its standard output what it does: "begin N" before it records the comparisons up to the N-th
// of this run, "recorded N" after, and "shown N" for each snapshot.
func recordUntilKilled(path string) error {
	cfg := DefaultConfig()
	cfg.Path = path
	db, err := Open(cfg, Deps{})
	if err != nil {
		return err
	}
	run, err := db.StartRun("", candidateV1)
	if err != nil {
		return err
	}
	go db.Run(context.Background())
	var out sync.Mutex
	say := func(word string, n int64) {
		out.Lock()
		defer out.Unlock()
		fmt.Println(word, n)
	}
	go func() {
		for range db.Watch(context.Background()) {
			say("shown", db.Snapshot().Tallies.Total.Compared)
		}
	}()
	pace := time.Tick(4 * time.Millisecond) // some 5,000 a second
	for n := db.Snapshot().Tallies.Total.Compared; ; n += 20 {
		say("begin", n+20)
		for i := range 20 {
			at := time.Now()
			db.Record(run.ID, compared("GET /a", at, field("body.always", 1, 1), field(fmt.Sprintf("body.f%d", (int(n)+i)%500), 1, 0)))
		}
		say("recorded", n+20)
		<-pace
	}
}

// Killed at any of fifty moments, as it starts too, the store is sound and has all that it ever showed, at most a second
// less than was recorded, and nothing twice; whatever it has agrees with itself. Each of two databases goes through
// twenty-five deaths.
func TestKillLosesAtMostASecond(t *testing.T) {
	for lane := range 2 {
		t.Run(fmt.Sprint("database ", lane), func(t *testing.T) {
			t.Parallel()
			cfg := testConfig(t)
			random := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), uint64(lane)))
			for round := range 25 {
				killOnce(t, round, cfg, random)
			}
		})
	}
}

func killOnce(t *testing.T, round int, cfg Config, random *rand.Rand) {
	t.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), crashEnv+"="+cfg.Path)
	pipe, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	heard := listen(pipe, random.IntN(3), random.IntN(100), func() { child.Process.Kill() })
	_ = child.Wait() // it was killed
	if heard.err != nil {
		t.Fatal(heard.err)
	}
	checkAfterKill(t, round, cfg, heard)
}

// heard is what the child said before it died.
type heard struct {
	shown, begun int64
	recorded     []said
	last         time.Time
	pause        time.Duration // the longest between two snapshots
	err          error
}

type said struct {
	n  int64
	at time.Time
}

// listen reads until the child has shown so many snapshots and then recorded so many times, kills it, and reads what it
// had still said.
func listen(pipe io.Reader, snapshots, records int, kill func()) heard {
	var h heard
	shown := time.Now()
	lines := bufio.NewScanner(pipe)
	for lines.Scan() {
		var word string
		var n int64
		if _, err := fmt.Sscan(lines.Text(), &word, &n); err != nil {
			h.err = fmt.Errorf("the child says %q", lines.Text())
			kill()
			continue
		}
		h.last = time.Now()
		switch word {
		case "shown":
			h.shown = n
			snapshots--
			h.pause = max(h.pause, h.last.Sub(shown))
			shown = h.last
		case "begin":
			h.begun = n
		case "recorded":
			h.recorded = append(h.recorded, said{n, h.last})
			if snapshots <= 0 {
				records--
			}
		}
		if snapshots <= 0 && records <= 0 {
			kill()
		}
	}
	if !h.last.IsZero() { // it was killed before it said a word
		h.pause = max(h.pause, h.last.Sub(shown))
	}
	return h
}

func checkAfterKill(t *testing.T, round int, cfg Config, h heard) {
	t.Helper()
	db := openStore(t, cfg, Deps{})
	startRun(t, db, candidateV1)
	defer closeStore(t, db)
	if aside := db.Health().Aside; aside != nil {
		t.Fatalf("round %d: not sound: %+v", round, aside)
	}
	all := db.Snapshot().Tallies
	found := all.Total.Compared
	if found < h.shown {
		t.Errorf("round %d: %d were shown, %d are on the disk", round, h.shown, found)
	}
	if found > h.begun {
		t.Errorf("round %d: %d were begun at most, %d are on the disk", round, h.begun, found)
	}
	var lost time.Duration
	for _, s := range h.recorded {
		if s.n > found {
			lost = h.last.Sub(s.at)
			break
		}
	}
	t.Logf("round %d: %d of %d on the disk, the last %v are lost; %v between snapshots at most", round, found, h.begun, lost, h.pause)
	// Snapshots come twice a second unless the machine has no time for the process; then the flush before the kill, and
	// the one that it cut short, may each have taken as much longer.
	if lost > time.Second+2*max(0, h.pause-flushEvery) {
		t.Errorf("round %d: the last %v are lost", round, lost)
	}
	var inFields, inSeries, inTests int64
	for _, f := range all.Fields {
		if f.Field != "body.always" {
			inFields += f.Raw
			inTests += f.Tests[0].CandidateOnly
		}
	}
	points, err := db.Series(context.Background(), Filter{})
	for _, p := range points {
		inSeries += p.Compared
	}
	if err != nil || inFields != found || inTests != found || inSeries != found {
		t.Errorf("round %d: %d compared, in fields %d, in tests %d, in the series %d, %v", round, found, inFields, inTests, inSeries, err)
	}
	if n := checkSamples(t, db); (n > 0) != (found > 0) {
		t.Errorf("round %d: %d samples of %d compared", round, n, found)
	}
}

// checkSamples reads all samples, and looks for places of samples that do not exist. It answers how many samples there
// are.
func checkSamples(t *testing.T, db *DB) int {
	t.Helper()
	items, _, err := db.Samples(context.Background(), Filter{Limit: 500, Field: "body.always"})
	if err != nil {
		t.Error(err)
	}
	for _, item := range items {
		s, err := db.Sample(context.Background(), item.ID)
		if err != nil || !strings.HasPrefix(string(s.Responses[0].Body), `{"who":"primary"`) {
			t.Errorf("sample %d: %v", item.ID, err)
		}
	}
	var orphans int
	err = db.file.read.QueryRow(`SELECT (SELECT count(*) FROM sample_field WHERE sample NOT IN (SELECT id FROM sample)) +
		(SELECT count(*) FROM sample WHERE id NOT IN (SELECT sample FROM sample_field WHERE slot > 0))`).Scan(&orphans)
	if err != nil || orphans != 0 {
		t.Errorf("%d samples or places without the other, %v", orphans, err)
	}
	return len(items)
}
