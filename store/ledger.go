package store

import (
	"sync"
	"sync/atomic"
	"time"

	"shadowdiff/diff"
	"shadowdiff/multicast"
	"shadowdiff/normalize"
)

// ledger is what the memory holds of one run: all of its counts, whatever the disk does.
type ledger struct {
	run      Run // its id never changes; the rest is the writer's
	print    Fingerprint
	begunBy  string
	ruleText string
	shown    atomic.Pointer[Snapshot] // while the run is not in force

	mu     sync.Mutex // guards what follows
	tally  *diff.Tally
	series series
	shelf  shelf
	picked []*kept   // copied and not yet on the disk
	named  uint64    // version of the names that all routes have
	fresh  bool      // something was recorded since the last cut
	used   time.Time // when that was, to the next cut
	since  time.Time // exchanges from before are counted, and nothing else is kept of them: it was purged; zero: of all

	// What follows belongs to the writer alone.
	unwritten bool // its row and its name are not on the disk

	watch    *diff.Watch
	tallies  *diff.Tallies
	verdict  *diff.Verdict
	seen     seen
	backlog  backlog
	counters runCounters
	ids      map[string]map[string][]int64 // route, field
	routes   map[string]filledRoute        // as the last snapshot shows them

	profiles *profileLedger // has a lock of its own
}

// newLedger continues a run from what the disk had of it; nil tallies begin at nothing.
func newLedger(run Run, print Fingerprint, from *diff.Tallies, cfg Config, judge diff.Config) *ledger {
	return &ledger{
		run: run, print: print,
		tally:  diff.NewTally(from),
		series: series{minutes: map[int64]*minute{}},
		shelf:  newShelf(cfg.SamplesPerField),
		fresh:  true,
		used:   time.Now(),
		watch:  diff.NewWatch(judgingOf(judge, &run)),
		ids:    map[string]map[string][]int64{},

		profiles: newProfileLedger(cfg.Redact),
	}
}

// Record counts one comparison in its run and keeps the exchange as a sample if it tells something new. It touches
// memory only, takes microseconds unless the exchange is kept (its bodies are then copied), and cannot fail: what cannot
// be kept is counted in Health. A comparison of a run that ended long ago, or never was, is not counted.
func (db *DB) Record(run int64, c *diff.Comparison) {
	l := db.ledgers.get(run)
	if l == nil {
		db.health.stray()
		return
	}
	if k := l.count(c, db.deps.Names, &db.budget); k != nil {
		k.copied = copyExchange(c)
		l.mu.Lock()
		l.picked = append(l.picked, k)
		l.mu.Unlock()
	}
}

// count adds the comparison, and answers with a place on the shelf if it is to be kept.
func (l *ledger) count(c *diff.Comparison, names *normalize.Names, b *budget) *kept {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fresh = true
	c = l.rename(c, names)
	route := l.tally.Add(c)
	l.series.add(route, c, l.tally)
	if c.Time.Before(l.since) {
		return nil
	}
	l.profiles.add(route, c)
	if !l.shelf.wanted(route, c) {
		return nil
	}
	held := copySize(c)
	if !b.take(held) {
		return nil
	}
	k := &kept{route: route, at: micros(c.Time), held: held}
	l.shelf.put(k, c.Time)
	return k
}

// ledgers finds a run's ledger without a lock: it is replaced whole, by StartRun and when one is retired.
type ledgers struct {
	mu   sync.RWMutex
	byID map[int64]*ledger
	now  *ledger // the run in force; nil before the first StartRun
	past past    // what was read of runs that are not in memory
}

func (ls *ledgers) get(run int64) *ledger {
	ls.mu.RLock()
	defer ls.mu.RUnlock()
	return ls.byID[run]
}

func (ls *ledgers) current() *ledger {
	ls.mu.RLock()
	defer ls.mu.RUnlock()
	return ls.now
}

func (ls *ledgers) all() []*ledger {
	ls.mu.RLock()
	defer ls.mu.RUnlock()
	var list []*ledger
	for _, l := range ls.byID {
		list = append(list, l)
	}
	return list
}

// begin puts a run in force.
func (ls *ledgers) begin(l *ledger) {
	ls.add(l)
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ls.now = l
}

// add has a run count, in force or not.
func (ls *ledgers) add(l *ledger) {
	ls.past.forget(l.run.ID)
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ls.byID[l.run.ID] = l
}

// keep has a run that is in memory stay there, and tells whether it is.
func (ls *ledgers) keep(run int64) bool {
	ls.mu.RLock() // so that it is not being retired
	defer ls.mu.RUnlock()
	l := ls.byID[run]
	if l != nil {
		l.mu.Lock()
		l.used = time.Now()
		l.mu.Unlock()
	}
	return l != nil
}

// fresh tells whether any run has something that was not yet cut or packed.
func (ls *ledgers) fresh() bool {
	for _, l := range ls.all() {
		l.mu.Lock()
		fresh := l.fresh || len(l.picked)+len(l.shelf.freed)+len(l.shelf.doomed) > 0
		l.mu.Unlock()
		if fresh {
			return true
		}
	}
	return false
}

// retireAfter is how long an ended run stays in memory, for exchanges that were under way when it ended.
const retireAfter = 10 * time.Minute

// retire forgets ended runs whose counts are all on the disk.
func (ls *ledgers) retire(now time.Time) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	for id, l := range ls.byID {
		if l != ls.now && l.idle(now) {
			delete(ls.byID, id)
		}
	}
}

// idle tells that nothing was recorded for a while and nothing waits for the disk.
func (l *ledger) idle(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.fresh && l.backlog.empty() && len(l.picked) == 0 && now.Sub(l.used) > retireAfter
}

// runCounters are the proxy's counters over the life of one run.
type runCounters struct {
	before multicast.Counts // counted by processes before this one
	base   multicast.Counts // what the proxy had when this process took the run up
	total  multicast.Counts // before, and what came since base
	late   int64            // exchanges in which only the candidate is waited for now
	ended  bool             // another run is in force: total is final
}
