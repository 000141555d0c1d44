package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"shadowdiff/multicast"
	"shadowdiff/normalize"
	"shadowdiff/store"
)

// defaultVersionHeader is looked at where version_header names no other.
const defaultVersionHeader = "X-App-Version"

// noVersionHeader in version_header: no header tells a version.
const noVersionHeader = "none"

// versionHeader is the response header in which the candidate tells its version; empty: none, as where known-good code
// answers in its place.
func (c config) versionHeader() string {
	if c.Calibrate {
		return ""
	}
	return c.uncompared()
}

// uncompared is the response header that may tell a version, which differs with it.
func (c config) uncompared() string {
	switch c.VersionHeader {
	case noVersionHeader:
		return ""
	case "":
		return defaultVersionHeader
	}
	return c.VersionHeader
}

// normal is how exchanges are compared: the header that tells a version is to differ, so it is not compared unless
// headers.compare names it.
func (c config) normal() normalize.Config {
	normal := c.Normalize
	normal.MaxDecoded = c.maxDecoded()
	named := func(list []string) bool {
		return slices.ContainsFunc(list, func(name string) bool { return strings.EqualFold(name, c.uncompared()) })
	}
	if c.uncompared() != "" && !named(normal.Headers.Compare) && !named(normal.Headers.Ignore) {
		normal.Headers.Ignore = append(slices.Clone(normal.Headers.Ignore), c.uncompared())
	}
	return normal
}

// version is what an exchange's candidate tells, empty where it tells none that can be one; and whether it answered.
func (d *docket) version(ex *multicast.Exchange) (version string, answered bool) {
	r := ex.Response(multicast.Candidate)
	if d.header == "" || r.Status == 0 {
		return "", r.Status != 0
	}
	version = strings.TrimSpace(r.Header.Get(d.header))
	if err := store.ValidVersion(version); err != nil {
		d.versions.unreadable(d, err)
		return "", true
	}
	return strings.Clone(version), true // the header may be a part of the whole response
}

// ofVersion finds the run of a version, given the one that was in force when the request arrived. The caller holds mu.
func (d *docket) ofVersion(j *judging, version string) *judging {
	switch {
	case version == "":
		j.untold = j.untold || j.version == ""
		return j
	case version == j.version:
	case j.version == "" && !j.untold:
		d.adopt(j, version)
	default:
		j = d.elsewhere(j, version)
	}
	d.turn(j, version)
	return j
}

// adopt gives a run that has counted no answer of an unknown version the first version told.
func (d *docket) adopt(j *judging, version string) {
	run, err := d.db.TellVersion(context.Background(), j.run.ID, version)
	if err != nil {
		d.complainOf("the version of a run could not be noted", "run", j.run.ID, "version", version, "err", err)
		return
	}
	if run.Name != j.run.Name && run.Name == store.VersionName(version) { // it may have been named by hand
		d.log.Info("a run has the name of its version", "run", run.ID, "name", run.Name, "attempt", run.Attempt)
	}
	j.version = version
	d.remember(j)
}

// elsewhere finds the run of a version that is not that of the run in force: one of those known, or a new one. Where
// there may be no more of them it is the run in force, which then counts several versions; the log and the pages say so.
func (d *docket) elsewhere(j *judging, version string) *judging {
	for _, k := range slices.Backward(d.known) {
		if k.version == version {
			return k
		}
	}
	if d.closed || !d.versions.open(version) {
		return j
	}
	run, err := d.db.VersionRun(context.Background(), d.print, version)
	switch {
	case err == nil:
		known := d.judgingOf(run, true)
		d.remember(known)
		return known
	case errors.Is(err, store.ErrManyRuns):
		d.versions.refuse(d, tooManyAtOnce)
		return j
	case !errors.Is(err, store.ErrNotFound):
		d.complainOf("the run of a version could not be found", "version", version, "err", err)
		return j
	}
	if !d.versions.take(d, version) {
		return j
	}
	begun, err := d.begin(context.Background(), store.Beginning{
		New: true, Name: store.VersionName(version), Version: version, By: store.BegunByVersion, Anyway: true,
	})
	if err != nil {
		d.complainOf("no run could be begun for a version", "version", version, "err", err)
		return j
	}
	return begun
}

const tooManyAtOnce = "more versions answer at one time than can be counted"

// turn is one version, not that of the run in force, being told again and again and no other.
type turn struct {
	of    *judging
	count int
	since time.Time
}

// A version that was seen before is in force again when it was told so often, for so long, and no other between: while
// two of them alternate neither is, and a deployment that was rolled back is noticed.
const (
	turnCount = 100
	turnTime  = time.Minute
)

// turn notes that a version was told, and by whose run it is counted. The caller holds mu.
func (d *docket) turn(j *judging, version string) {
	switch {
	case j == d.latest(), d.closed, j.version != version, version == d.latest().version:
		d.earlier = turn{}
		return
	case d.earlier.of != j:
		d.earlier = turn{of: j, since: time.Now()}
	}
	d.earlier.count++
	if d.earlier.count < turnCount || time.Since(d.earlier.since) < turnTime {
		return
	}
	run, err := d.db.TakeUpRun(context.Background(), j.run.ID)
	if err != nil {
		d.complainOf("a run could not be taken up", "run", j.run.ID, "err", err)
		d.earlier = turn{}
		return
	}
	d.putInForce(j)
	d.tell(run, store.BegunByVersion)
}

// versionLimit is how many versions may begin a run: a header that differs in every answer is no version.
type versionLimit struct {
	mu    sync.Mutex  // guards what follows
	begun []time.Time // when versions have begun runs, within the last hour
	last  string      // version told last that was not followed
	news  time.Time   // when it was first told
	full  bool
	said  string    // what was complained of; empty: nothing
	since time.Time // and when
	bad   string    // and of a version that is none
}

const (
	versionsAnHour = 10
	versionSpan    = time.Hour
)

// restore reads which versions have begun runs before a restart.
func (l *versionLimit) restore(db *store.DB) (err error) {
	l.begun, err = db.VersionsSince(context.Background(), time.Now().Add(-versionSpan))
	return err
}

// open tells whether a version that is not known may be looked for. After too many it may when nothing else was told for
// an hour.
func (l *versionLimit) open(version string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.full {
		return true
	}
	if version != l.last {
		l.last, l.news = version, time.Now()
	}
	if time.Since(l.news) < versionSpan {
		return false
	}
	l.full, l.said = false, ""
	return true
}

// take tells whether one more version may begin a run.
func (l *versionLimit) take(d *docket, version string) bool {
	l.mu.Lock()
	l.begun = slices.DeleteFunc(l.begun, func(t time.Time) bool { return time.Since(t) >= versionSpan })
	if l.full = len(l.begun) >= versionsAnHour; !l.full {
		l.begun = append(l.begun, time.Now())
		l.mu.Unlock()
		return true
	}
	l.last, l.news = version, time.Now()
	l.mu.Unlock()
	l.refuse(d, fmt.Sprintf("%d versions within an hour are too many for a version", versionsAnHour))
	return false
}

// refuse says once, in the log and on the pages, that versions are not followed, and why.
func (l *versionLimit) refuse(d *docket, why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.current() {
		return
	}
	l.said = fmt.Sprintf("what the candidate tells in %s begins no runs for now: %s; name another header in version_header, or \"none\"", d.header, why)
	l.since = time.Now()
	d.log.Warn(l.said)
}

// unreadable says once that a version is none.
func (l *versionLimit) unreadable(d *docket, why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.bad == "" {
		l.bad = fmt.Sprintf("what the candidate has told in %s is no version and was not looked at: %v", d.header, why)
		d.log.Warn(l.bad)
	}
}

// troubles are what was complained of.
func (l *versionLimit) troubles() (list []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.current() {
		list = append(list, l.said)
	}
	if l.bad != "" {
		list = append(list, l.bad)
	}
	return list
}

// current tells whether what was complained of is still so.
func (l *versionLimit) current() bool {
	return l.said != "" && (l.full || time.Since(l.since) < versionSpan)
}
