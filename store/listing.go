package store

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"shadowdiff/diff"
)

// Filter narrows a read. The zero Filter takes everything of the current run.
type Filter struct {
	Run          int64       // 0: the current one
	Route        string      // empty: all
	Field        string      // one that differs on either side
	Test         diff.Test   // of the field's series; the zero Test is that of its values
	Result       diff.Result // of the exchange
	Since, Until time.Time   // Since included, Until not; zero: no bound
	Limit        int         // 0: 50; at most 500
	Cursor       string      // what a page before answered as next
}

// ErrCursor is what Samples answers to a cursor that no page before has given out.
var ErrCursor = errors.New("unknown cursor")

// Samples lists stored exchanges, newest first, without bodies; next is empty on the last page. Pages that follow one
// another miss nothing and repeat nothing, whatever is added meanwhile.
func (db *DB) Samples(ctx context.Context, f Filter) (items []*Sample, next string, err error) {
	if f.Route, err = db.routeOf(ctx, f); err != nil {
		return nil, "", fmt.Errorf("list samples: %w", err)
	}
	where, err := db.sampleConditions(f)
	if err != nil {
		return nil, "", err
	}
	rows, err := db.file.read.QueryContext(ctx, `SELECT id, run, exchange, time, route, result, redactions, head FROM sample
		WHERE `+where.String()+` ORDER BY time DESC, id DESC LIMIT ?`, append(where.args, pageSize(f.Limit)+1)...)
	items, err = scanAll(rows, err, func(scan func(...any) error, item **Sample) error {
		s := &Sample{}
		var packedHead []byte
		var at int64
		if err := scan(&s.ID, &s.Run, &s.Exchange, &at, &s.Route, &s.Result, &s.Redactions, &packedHead); err != nil {
			return err
		}
		s.Time, *item = fromMicros(at), s
		return db.packer.unpackHead(s, packedHead, nil)
	})
	if err != nil {
		return nil, "", fmt.Errorf("list samples: %w", err)
	}
	items, more := firstPage(items, pageSize(f.Limit))
	if more {
		next = items[len(items)-1].Cursor()
	}
	return items, next, nil
}

// CountSamples counts the stored exchanges that Samples lists with this filter, whatever its limit and its cursor, up to
// most of them.
func (db *DB) CountSamples(ctx context.Context, f Filter, most int64) (n int64, err error) {
	f.Cursor = ""
	if f.Route, err = db.routeOf(ctx, f); err != nil {
		return 0, fmt.Errorf("count samples: %w", err)
	}
	where, err := db.sampleConditions(f)
	if err != nil {
		return 0, err
	}
	query := `SELECT count(*) FROM (SELECT 1 FROM sample WHERE ` + where.String() + ` LIMIT ?)`
	if err := db.file.read.QueryRowContext(ctx, query, append(where.args, most)...).Scan(&n); err != nil {
		return 0, fmt.Errorf("count samples: %w", err)
	}
	return n, nil
}

// LatestSamples lists the ids of the samples of any run, the latest first, so many at most.
func (db *DB) LatestSamples(ctx context.Context, most int) ([]int64, error) {
	rows, err := db.file.read.QueryContext(ctx, `SELECT id FROM sample ORDER BY time DESC, id DESC LIMIT ?`, most)
	ids, err := scanAll(rows, err, func(scan func(...any) error, id *int64) error { return scan(id) })
	if err != nil {
		return nil, fmt.Errorf("list the latest samples: %w", err)
	}
	return ids, nil
}

// sampleConditions are what a filter asks of a row, without its limit.
func (db *DB) sampleConditions(f Filter) (where conditions, err error) {
	where.and("run = ?", db.runOf(f))
	if f.Route != "" {
		where.and("route = ?", f.Route)
	}
	if f.Field != "" {
		where.and("EXISTS (SELECT 1 FROM sample_field WHERE sample = id AND field = ?)", f.Field)
	}
	if f.Result != "" {
		where.and("result = ?", string(f.Result))
	}
	if !f.Since.IsZero() {
		where.and("time >= ?", micros(f.Since))
	}
	if !f.Until.IsZero() {
		where.and("time < ?", micros(f.Until))
	}
	if f.Cursor != "" {
		at, id, err := parseCursor(f.Cursor)
		if err != nil {
			return where, err
		}
		where.and("(time, id) < (?, ?)", at, id)
	}
	return where, nil
}

// Cursor is where a list that was cut behind this sample goes on: its time and id.
func (s *Sample) Cursor() string {
	return strconv.FormatInt(micros(s.Time), 36) + "." + strconv.FormatInt(s.ID, 36)
}

func parseCursor(cursor string) (at, id int64, err error) {
	first, second, found := strings.Cut(cursor, ".")
	at, errTime := strconv.ParseInt(first, 36, 64)
	id, errID := strconv.ParseInt(second, 36, 64)
	if !found || errTime != nil || errID != nil {
		return 0, 0, fmt.Errorf("list samples: %w", ErrCursor)
	}
	return at, id, nil
}
