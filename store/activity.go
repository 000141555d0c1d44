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

// Activity lists what was changed, newest first; limit 0 means 50, at most 500.
func (db *DB) Activity(ctx context.Context, limit int) ([]Activity, error) {
	rows, err := db.file.read.QueryContext(ctx, `SELECT id, time, actor, action, detail FROM activity
		ORDER BY id DESC LIMIT ?`, pageSize(limit))
	list, err := scanAll(rows, err, func(scan func(...any) error, a *Activity) error {
		var at int64
		err := scan(&a.ID, &at, &a.Actor, &a.Action, &a.Detail)
		a.Time = fromMicros(at)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read activity: %w", err)
	}
	return list, nil
}

// LogActivity adds one entry, at the present time.
func (db *DB) LogActivity(ctx context.Context, actor, action, detail string) error {
	_, err := db.file.write.ExecContext(ctx, `INSERT INTO activity (time, actor, action, detail) VALUES (?, ?, ?, ?)`,
		micros(time.Now()), actor, action, detail)
	if err != nil {
		return fmt.Errorf("log activity: %w", err)
	}
	return nil
}
