package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"shadowdiff/diff"
	"shadowdiff/normalize"
)

// Profiles and attributes are counted with the tallies, and written apart from them: each at most every profileEvery, so
// many a flush, all of them at the end. After a crash they may lack the last half minute; in themselves they agree. A
// writer that cannot write them tries again, and nothing else waits for it.

const (
	profileEvery = 30 * time.Second
	profileFlush = 32      // rows of either table that one flush writes
	profileBytes = 8 << 20 // the longest row that is read
	recheckAfter = 10 * time.Second
)

// profileLedger is what the memory holds of one run's profiles. It has a lock of its own, which is taken after the
// ledger's.
type profileLedger struct {
	mu         sync.Mutex // guards what follows
	profiles   *diff.Profiles
	attributes *diff.Attributes
	written    map[diff.FieldAddress]time.Time // when a row was written last; of attributes without a field
	recheck    time.Time                       // when what was compared under the former places has come, too; zero: long ago
	steady     steadiness                      // holds copies: letGo is called where something is to vanish
}

// newProfileLedger keeps nothing of what the places name.
func newProfileLedger(redact []string) *profileLedger {
	redactor, err := normalize.NewRedactor(redact)
	if err != nil {
		redactor = nil // Open and Reconfigure refuse such places: without a redactor no value is kept
	}
	return &profileLedger{
		profiles: diff.NewProfiles(), attributes: diff.NewAttributes(redactor), written: map[diff.FieldAddress]time.Time{},
	}
}

// add counts a comparison under the name of its route.
func (p *profileLedger) add(route string, c *diff.Comparison) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.steady.shown != nil || p.steady.next != nil {
		p.hold(route)
		for i := range c.Values {
			p.hold(route, c.Values[i].Field)
		}
	}
	p.attributes.Add(route, c)
	p.profiles.Add(route, c)
}

// merge adds routes that have become one.
func (p *profileLedger) merge(into string, from []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.holdAll(into)
	for _, route := range from {
		p.holdAll(route)
	}
	p.attributes.Merge(into, from...)
	p.profiles.Merge(into, from...)
}

// redact has other places be kept out, and forgets what was kept of them: at once, and once more when the exchanges that
// were under way have come. The next flush writes it.
func (p *profileLedger) redact(r *normalize.Redactor) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.recheck = time.Now().Add(recheckAfter)
	p.forget(r)
}

// forget drops what a redactor takes out. The caller holds mu.
func (p *profileLedger) forget(r *normalize.Redactor) {
	p.attributes.Redact(r)
	p.profiles.Redact(r)
	p.letGo()
	clear(p.written)
}

// again has everything written once more: the file is another one.
func (p *profileLedger) again() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.written)
	for _, route := range p.attributes.Routes() {
		p.attributes.Changed(route)
	}
	for _, at := range p.profiles.All() {
		p.profiles.Changed(at)
	}
}

// profileRows are what one transaction writes.
type profileRows struct {
	profiles   []*diff.FieldProfile
	gone       []diff.FieldAddress
	attributes []*diff.RouteAttributes
	former     []string
}

func (r *profileRows) empty() bool {
	return len(r.profiles)+len(r.gone)+len(r.attributes)+len(r.former) == 0
}

// due answers what one flush writes.
func (p *profileLedger) due(now time.Time) profileRows {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now.After(p.recheck) {
		p.forgetAgain()
	}
	return p.take(now, profileFlush, func(at diff.FieldAddress) bool { return now.Sub(p.written[at]) >= profileEvery })
}

// unwritten answers all that has changed since it was written.
func (p *profileLedger) unwritten(now time.Time) profileRows {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.forgetAgain()
	return p.take(now, math.MaxInt, func(diff.FieldAddress) bool { return true })
}

// forgetAgain drops what has come under the former places after they were changed. The caller holds mu.
func (p *profileLedger) forgetAgain() {
	if !p.recheck.IsZero() {
		p.recheck = time.Time{}
		p.forget(p.attributes.Redactor())
	}
}

// take answers so many rows of either table, of those that are due, as written. The caller holds mu.
func (p *profileLedger) take(now time.Time, most int, due func(diff.FieldAddress) bool) (rows profileRows) {
	rows.profiles, rows.gone = p.profiles.Take(most, due)
	rows.attributes, rows.former = p.attributes.Take(most, func(route string) bool { return due(diff.FieldAddress{Route: route}) })
	for _, f := range rows.profiles {
		p.written[diff.FieldAddress{Route: f.Route, Field: f.Field}] = now
	}
	for _, r := range rows.attributes {
		p.written[diff.FieldAddress{Route: r.Route}] = now
	}
	for _, at := range rows.gone {
		delete(p.written, at)
	}
	for _, route := range rows.former {
		delete(p.written, diff.FieldAddress{Route: route})
	}
	return rows
}

// untake has rows written again that did not reach the disk.
func (p *profileLedger) untake(rows *profileRows) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range rows.profiles {
		p.profiles.Changed(diff.FieldAddress{Route: f.Route, Field: f.Field})
	}
	for _, at := range rows.gone {
		p.profiles.Changed(at)
	}
	for _, r := range rows.attributes {
		p.attributes.Changed(r.Route)
	}
	for _, route := range rows.former {
		p.attributes.Changed(route)
	}
}

// writeProfiles writes what is taken of each run in memory. The caller holds flushing. A failure is not told: the counts,
// which go to the same file, tell of it.
func (db *DB) writeProfiles(ctx context.Context, take func(*profileLedger, time.Time) profileRows) {
	for _, l := range db.ledgers.all() {
		rows := take(l.profiles, time.Now())
		if rows.empty() {
			continue
		}
		err := db.transact(ctx, func(tx *sql.Tx) error { return writeProfileRows(ctx, tx, l.run.ID, &rows) })
		if err != nil {
			l.profiles.untake(&rows)
			return
		}
	}
}

// writeProfileRows removes what is gone, and replaces what has changed by its totals.
func writeProfileRows(ctx context.Context, tx *sql.Tx, run int64, rows *profileRows) error {
	exec := func(text string, args ...any) error {
		_, err := tx.ExecContext(ctx, text, args...)
		return err
	}
	for _, at := range rows.gone {
		if err := exec(`DELETE FROM profile WHERE run = ? AND route = ? AND field = ?`, run, at.Route, at.Field); err != nil {
			return err
		}
	}
	for _, route := range rows.former {
		if err := exec(`DELETE FROM attribute WHERE run = ? AND route = ?`, run, route); err != nil {
			return err
		}
	}
	for _, f := range rows.profiles {
		blob, err := f.MarshalBinary()
		if err == nil {
			err = exec(upsert("profile", 3, "run", "route", "field", "blob"), run, f.Route, f.Field, blob)
		}
		if err != nil {
			return err
		}
	}
	for _, r := range rows.attributes {
		blob, err := r.MarshalBinary()
		if err == nil {
			err = exec(upsert("attribute", 2, "run", "route", "blob"), run, r.Route, blob)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// loadProfiles continues a run's profiles from what the disk has of them. Rows that cannot be read are left out, which is
// logged once: of these fields the counting begins anew.
func (db *DB) loadProfiles(ctx context.Context, l *ledger) error {
	p, lost := l.profiles, 0
	var first error
	skip := func(err error) {
		if lost++; first == nil {
			first = err
		}
	}
	redactor := db.packer.redactor
	rows, err := db.file.read.QueryContext(ctx, `SELECT route, field, blob FROM profile WHERE run = ? AND length(blob) <= ?
		ORDER BY route, field`, l.run.ID, profileBytes)
	_, err = scanAll(rows, err, func(scan func(...any) error, _ *struct{}) error {
		f, blob := &diff.FieldProfile{}, []byte(nil)
		if err := scan(&f.Route, &f.Field, &blob); err != nil {
			return err
		}
		if err := f.UnmarshalBinary(blob); err != nil {
			skip(fmt.Errorf("field %q of %q: %w", f.Field, f.Route, err))
			return nil
		}
		f.Withhold(redactor)
		p.profiles.Restore(f)
		return nil
	})
	if err != nil {
		return err
	}
	rows, err = db.file.read.QueryContext(ctx, `SELECT route, blob FROM attribute WHERE run = ? AND length(blob) <= ?
		ORDER BY route`, l.run.ID, profileBytes)
	_, err = scanAll(rows, err, func(scan func(...any) error, _ *struct{}) error {
		r, blob := &diff.RouteAttributes{}, []byte(nil)
		if err := scan(&r.Route, &blob); err != nil {
			return err
		}
		if err := r.UnmarshalBinary(blob); err != nil {
			skip(fmt.Errorf("requests of %q: %w", r.Route, err))
			return nil
		}
		r.Withhold(redactor)
		p.attributes.Restore(r)
		return nil
	})
	if lost > 0 {
		db.deps.Log.Warn("profiles of fields could not be read, and begin anew", "run", l.run.ID, "rows", lost, "err", first)
	}
	return err
}

// Profile returns what stood in a field of a route in one run, the one in force when run is 0: its values, shapes and
// numbers by role. ErrNotFound: the field has no profile there.
func (db *DB) Profile(ctx context.Context, run int64, route, field string) (*diff.FieldProfile, error) {
	if run == 0 {
		run = db.Snapshot().Run.ID
	}
	f := &diff.FieldProfile{Route: route, Field: field}
	if l := db.ledgers.get(run); l != nil {
		if f = l.profiles.profileOf(route, field); f == nil {
			return nil, fmt.Errorf("profile of %q in %q: %w", field, route, ErrNotFound)
		}
		return f, nil
	}
	err := db.readBlob(ctx, f, `SELECT blob FROM profile WHERE run = ? AND route = ? AND field = ? AND length(blob) <= ?`,
		run, route, field, profileBytes)
	if err != nil {
		return nil, fmt.Errorf("profile of %q in %q: %w", field, route, err)
	}
	f.Withhold(db.Redactor())
	return f, nil
}

// Attributes returns the requests of a route in one run, the one in force when run is 0, by their attributes and by the
// fields in which the candidate differs. ErrNotFound: nothing was counted of the route there.
func (db *DB) Attributes(ctx context.Context, run int64, route string) (*diff.RouteAttributes, error) {
	if run == 0 {
		run = db.Snapshot().Run.ID
	}
	r := &diff.RouteAttributes{Route: route}
	if l := db.ledgers.get(run); l != nil {
		if r = l.profiles.attributesOf(route); r == nil {
			return nil, fmt.Errorf("attributes of %q: %w", route, ErrNotFound)
		}
		return r, nil
	}
	err := db.readBlob(ctx, r, `SELECT blob FROM attribute WHERE run = ? AND route = ? AND length(blob) <= ?`, run, route, profileBytes)
	if err != nil {
		return nil, fmt.Errorf("attributes of %q: %w", route, err)
	}
	r.Withhold(db.Redactor())
	return r, nil
}

// readBlob reads one row into what it is of.
func (db *DB) readBlob(ctx context.Context, into interface{ UnmarshalBinary([]byte) error }, query string, args ...any) error {
	var blob []byte
	err := db.file.read.QueryRowContext(ctx, query, args...).Scan(&blob)
	if errors.Is(err, sql.ErrNoRows) {
		return ErrNotFound
	}
	if err != nil {
		return err
	}
	return into.UnmarshalBinary(blob)
}

// Redactor is what takes out of samples and profiles what is to be redacted, by the configuration in force.
func (db *DB) Redactor() *normalize.Redactor {
	if l := db.ledgers.current(); l != nil { // without waiting for a flush
		return l.profiles.redactor()
	}
	db.flushing.Lock()
	defer db.flushing.Unlock()
	return db.packer.redactor
}

func (p *profileLedger) redactor() *normalize.Redactor {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.attributes.Redactor()
}
