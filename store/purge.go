package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"shadowdiff/traffic"
)

// Purge says what is to be deleted of what was kept of requests and answers: samples, and the profiles and attributes
// that hold values of them. Counts stay, and so does the verdict.
type Purge struct {
	Run    string    // of the runs that have, or had, this name, or have this id; empty: of any
	Before time.Time // samples that are older, and the rest of runs that had ended by then; zero: of any age
}

// Purged is how much that is, or was.
type Purged struct {
	Samples, SampleBytes   int64
	Profiles, ProfileBytes int64 // of fields, and the attributes of routes
}

// Closed is a database that no service has open, and that none can open meanwhile.
type Closed struct{ file *database }

// OpenClosed takes a database that exists. It refuses one that a service has open, and all that Open refuses; a damaged
// one is refused, too, and left as it is.
func OpenClosed(path string) (*Closed, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	file, err := lockDatabase(path)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	if err := file.open(context.Background(), int64(DefaultConfig().MaxSize)); err != nil {
		return nil, errors.Join(fmt.Errorf("open database: %w", err), file.lock.Release())
	}
	return &Closed{file}, nil
}

// Close merges what is left of the log, and lets others open the database.
func (c *Closed) Close() error { return c.file.close() }

// Size is the bytes of the file with its log.
func (c *Closed) Size() int64 { return c.file.size() }

// CountPurge tells what a purge would delete. A run that does not exist is ErrNotFound.
func (c *Closed) CountPurge(ctx context.Context, p Purge) (Purged, error) {
	runs, err := c.file.runs(ctx, p.Run)
	if err != nil {
		return Purged{}, err
	}
	return c.file.countPurge(ctx, p, runs)
}

// PurgeTimes are the stretches in which what a purge deletes was asked: for what is kept of the same requests elsewhere.
func (c *Closed) PurgeTimes(ctx context.Context, p Purge) ([]traffic.Span, error) {
	return c.file.purgeTimes(ctx, p)
}

// Purge deletes, writes zeroes where it was, and gives the room back: nothing of it is left in the file or in its log,
// nor of what was deleted before.
func (c *Closed) Purge(ctx context.Context, p Purge, actor string) (Purged, error) {
	runs, err := c.file.runs(ctx, p.Run)
	if err != nil {
		return Purged{}, err
	}
	n, err := c.file.countPurge(ctx, p, runs)
	if err != nil {
		return Purged{}, err
	}
	if err := c.file.delete(ctx, p, runs, activityOf(p, n, actor)); err != nil {
		return Purged{}, err
	}
	return n, c.file.scrub(ctx)
}

// countPurge counts what the disk has.
func (d *database) countPurge(ctx context.Context, p Purge, runs []int64) (n Purged, err error) {
	condition, args := p.samples(runs)
	err = d.read.QueryRowContext(ctx, `SELECT count(*), coalesce(sum(length(head) + length(bodies)), 0) FROM sample
		WHERE `+condition, args...).Scan(&n.Samples, &n.SampleBytes)
	condition, args = p.profiles(runs)
	for _, table := range []string{"profile", "attribute"} {
		var count, bytes int64
		if err == nil {
			err = d.read.QueryRowContext(ctx, `SELECT count(*), coalesce(sum(length(blob)), 0) FROM `+table+`
				WHERE `+condition, args...).Scan(&count, &bytes)
		}
		n.Profiles, n.ProfileBytes = n.Profiles+count, n.ProfileBytes+bytes
	}
	if err != nil {
		return n, fmt.Errorf("count what is to be deleted: %w", err)
	}
	return n, nil
}

// delete deletes all of it, or nothing. Where it was stand zeroes.
func (d *database) delete(ctx context.Context, p Purge, runs []int64, told Activity) error {
	if err := d.deleteRows(ctx, p, runs, told); err != nil {
		return explain(d.path, fmt.Errorf("purge: nothing was deleted: %w", err))
	}
	return nil
}

func (d *database) deleteRows(ctx context.Context, p Purge, runs []int64, told Activity) error {
	if _, err := d.write.ExecContext(ctx, `PRAGMA secure_delete = ON`); err != nil {
		return err
	}
	defer d.write.ExecContext(context.WithoutCancel(ctx), `PRAGMA secure_delete = OFF`) // it costs whatever is replaced later
	tx, err := d.write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	samples, args := p.samples(runs)
	profiles, others := p.profiles(runs)
	for _, step := range []struct {
		statement string
		args      []any
	}{
		{`DELETE FROM sample_field WHERE sample IN (SELECT id FROM sample WHERE ` + samples + `)`, args},
		{`DELETE FROM sample WHERE ` + samples, args},
		{`DELETE FROM profile WHERE ` + profiles, others},
		{`DELETE FROM attribute WHERE ` + profiles, others},
		{insertActivity, []any{micros(told.Time), told.Actor, told.Action, told.Detail}},
	} {
		if _, err := tx.ExecContext(ctx, step.statement, step.args...); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// scrub gives the room back: nothing of what was deleted is left in the file or in its log.
func (d *database) scrub(ctx context.Context) error {
	err := d.emptyLog(ctx) // with the zeroes, so that the next step leaves none of it on the disk
	if err == nil {
		_, err = d.write.ExecContext(ctx, `VACUUM`)
	}
	if err == nil {
		err = d.emptyLog(ctx)
	}
	if err != nil {
		return explain(d.path, fmt.Errorf("it was deleted, but the file could not be cleaned up; purge again: %w", err))
	}
	return nil
}

// emptyTries is how often the log is tried to be emptied. Each waits for a second, as everything that is written does.
const emptyTries = 30

// emptyLog merges the log into the file and cuts it off, when those who read have come to their end.
func (d *database) emptyLog(ctx context.Context) error {
	for range emptyTries {
		var busy, pages, merged int64
		err := d.write.QueryRowContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`).Scan(&busy, &pages, &merged)
		if err != nil || busy == 0 {
			return err
		}
	}
	return errors.New("somebody reads it all the while")
}

// runs are the ids that a name stands for; nil for all of them.
func (d *database) runs(ctx context.Context, name string) ([]int64, error) {
	if name == "" {
		return nil, nil
	}
	condition, args := `name = ?1 OR id IN (SELECT run FROM run_name WHERE name = ?1)`, any(name)
	if id, err := strconv.ParseInt(name, 10, 64); err == nil {
		condition, args = `id = ?1`, id
	}
	rows, err := d.read.QueryContext(ctx, `SELECT id FROM run WHERE `+condition, args)
	ids, err := scanAll(rows, err, func(scan func(...any) error, id *int64) error { return scan(id) })
	if err == nil && len(ids) == 0 {
		err = ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("run %q: %w", name, err)
	}
	return ids, nil
}

func (d *database) purgeTimes(ctx context.Context, p Purge) ([]traffic.Span, error) {
	until := p.until(time.Now())
	runs, err := d.runs(ctx, p.Run)
	if err != nil || runs == nil {
		return []traffic.Span{{Until: until}}, err
	}
	condition, args := ofRuns(runs)
	rows, err := d.read.QueryContext(ctx, `SELECT started, ended FROM (SELECT id AS run, started, ended FROM run) WHERE `+condition, args...)
	return scanAll(rows, err, func(scan func(...any) error, s *traffic.Span) error {
		var started, ended int64
		err := scan(&started, &ended)
		s.From, s.Until = fromMicros(started), until
		if at := fromMicros(ended); ended > 0 && at.Before(until) {
			s.Until = at
		}
		return err
	})
}

// until is the end of what is to be deleted, given the present.
func (p Purge) until(now time.Time) time.Time {
	if p.Before.IsZero() || now.Before(p.Before) {
		return now
	}
	return p.Before
}

// samples is the condition for a row of sample.
func (p Purge) samples(runs []int64) (condition string, args []any) {
	condition, args = ofRuns(runs)
	if !p.Before.IsZero() {
		condition, args = condition+` AND time < ?`, append(args, micros(p.Before))
	}
	return condition, args
}

// profiles is the condition for a row of profile and of attribute: they are totals of a run, and have no age of their own.
func (p Purge) profiles(runs []int64) (condition string, args []any) {
	condition, args = ofRuns(runs)
	if !p.Before.IsZero() {
		condition, args = condition+` AND run IN (SELECT id FROM run WHERE ended > 0 AND ended <= ?)`, append(args, micros(p.Before))
	}
	return condition, args
}

func ofRuns(runs []int64) (condition string, args []any) {
	if runs == nil {
		return `TRUE`, nil
	}
	for _, id := range runs {
		args = append(args, id)
	}
	return `run IN (?` + strings.Repeat(`, ?`, len(runs)-1) + `)`, args
}

// activityOf is what people will read of a purge.
func activityOf(p Purge, n Purged, actor string) Activity {
	detail := fmt.Sprintf("%s samples and %s profiles", humanize.Comma(n.Samples), humanize.Comma(n.Profiles))
	if p.Run != "" {
		detail += " of run " + p.Run
	}
	if !p.Before.IsZero() {
		detail += " from before " + p.Before.UTC().Format(time.RFC3339)
	}
	return Activity{Time: time.Now(), Actor: actor, Action: "purge", Detail: detail}
}
