package store

import (
	"context"
	"fmt"
	"time"
)

// Activity is one thing that somebody changed.
type Activity struct {
	ID     int64
	Time   time.Time
	Actor  string // who, as far as it is known: "api", "start", an address
	Action string // a word: "shadowing", "run"
	Detail string // for people: "switched off", "sample 1% (was 5%)"
}

// keptActivity is how many entries are kept.
const keptActivity = 10_000

// ActivityFilter narrows what FindActivity answers. The zero ActivityFilter takes everything.
type ActivityFilter struct {
	Actor, Action string    // empty: any
	Since, Until  time.Time // Since included, Until not; zero: no bound
	Before        int64     // entries with a lower ID only; 0: all
	Limit         int       // 0: 50; at most 500
}

// Activity lists what was changed, newest first; limit 0 means 50, at most 500.
func (db *DB) Activity(ctx context.Context, limit int) ([]Activity, error) {
	list, _, err := db.FindActivity(ctx, ActivityFilter{Limit: limit})
	return list, err
}

// FindActivity lists what was changed, newest first, and tells whether older entries follow: they are those Before the ID
// of the last.
func (db *DB) FindActivity(ctx context.Context, f ActivityFilter) (list []Activity, more bool, err error) {
	where := f.conditions()
	rows, err := db.file.read.QueryContext(ctx, `SELECT id, time, actor, action, detail FROM activity
		WHERE `+where.String()+` ORDER BY id DESC LIMIT ?`, append(where.args, pageSize(f.Limit)+1)...)
	list, err = scanAll(rows, err, func(scan func(...any) error, a *Activity) error {
		var at int64
		err := scan(&a.ID, &at, &a.Actor, &a.Action, &a.Detail)
		a.Time = fromMicros(at)
		return err
	})
	if err != nil {
		return nil, false, fmt.Errorf("read activity: %w", err)
	}
	list, more = firstPage(list, pageSize(f.Limit))
	return list, more, nil
}

func (f *ActivityFilter) conditions() (where conditions) {
	if f.Actor != "" {
		where.and("actor = ?", f.Actor)
	}
	if f.Action != "" {
		where.and("action = ?", f.Action)
	}
	if !f.Since.IsZero() {
		where.and("time >= ?", micros(f.Since))
	}
	if !f.Until.IsZero() {
		where.and("time < ?", micros(f.Until))
	}
	if f.Before > 0 {
		where.and("id < ?", f.Before)
	}
	return where
}

const insertActivity = `INSERT INTO activity (time, actor, action, detail) VALUES (?, ?, ?, ?)`

// LogActivity adds one entry, at the present time.
func (db *DB) LogActivity(ctx context.Context, actor, action, detail string) error {
	_, err := db.file.write.ExecContext(ctx, insertActivity, micros(time.Now()), actor, action, detail)
	if err != nil {
		return fmt.Errorf("log activity: %w", err)
	}
	return nil
}
