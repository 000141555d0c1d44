package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
)

// Closed is a database that no service has open, and that none can open meanwhile.
type Closed struct{ file *database }

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

// Count tells what a purge would delete. A run that does not exist is ErrNotFound.
func (c *Closed) Count(ctx context.Context, p Purge) (Purged, error) {
	var n Purged
	runs, err := c.runs(ctx, p.Run)
	if err != nil {
		return n, err
	}
	condition, args := p.samples(runs)
	err = c.file.read.QueryRowContext(ctx, `SELECT count(*), coalesce(sum(length(head) + length(bodies)), 0) FROM sample
		WHERE `+condition, args...).Scan(&n.Samples, &n.SampleBytes)
	condition, args = p.profiles(runs)
	for _, table := range []string{"profile", "attribute"} {
		var count, bytes int64
		if err == nil {
			err = c.file.read.QueryRowContext(ctx, `SELECT count(*), coalesce(sum(length(blob)), 0) FROM `+table+`
				WHERE `+condition, args...).Scan(&count, &bytes)
		}
		n.Profiles, n.ProfileBytes = n.Profiles+count, n.ProfileBytes+bytes
	}
	if err != nil {
		return n, fmt.Errorf("count what is to be deleted: %w", err)
	}
	return n, nil
}

// Purge deletes, writes zeroes where it was, and gives the room back: nothing of it is left in the file or in its log,
// nor of what was deleted before.
func (c *Closed) Purge(ctx context.Context, p Purge, actor string) (Purged, error) {
	n, err := c.Count(ctx, p)
	if err != nil {
		return Purged{}, err
	}
	runs, err := c.runs(ctx, p.Run)
	if err != nil {
		return Purged{}, err
	}
	if _, err := c.file.write.ExecContext(ctx, `PRAGMA secure_delete = ON`); err != nil {
		return Purged{}, fmt.Errorf("purge: %w", err)
	}
	if err := c.delete(ctx, p, runs, activityOf(p, n, actor)); err != nil {
		return Purged{}, explain(c.file.path, fmt.Errorf("purge: nothing was deleted: %w", err))
	}
	for _, statement := range []string{ // the first brings the zeroes to the file, so that the second leaves none of it on the disk
		`PRAGMA wal_checkpoint(TRUNCATE)`, `VACUUM`, `PRAGMA wal_checkpoint(TRUNCATE)`,
	} {
		if _, err := c.file.write.ExecContext(ctx, statement); err != nil {
			return n, explain(c.file.path, fmt.Errorf("it was deleted, but the file could not be cleaned up; purge again: %w", err))
		}
	}
	return n, nil
}

func (c *Closed) delete(ctx context.Context, p Purge, runs []int64, told Activity) error {
	pool := c.file.write.now.Load()
	tx, err := pool.BeginTx(ctx, nil)
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
		{`INSERT INTO activity (time, actor, action, detail) VALUES (?, ?, ?, ?)`, []any{micros(told.Time), told.Actor, told.Action, told.Detail}},
	} {
		if _, err := tx.ExecContext(ctx, step.statement, step.args...); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// runs are the ids that a name stands for; nil for all of them.
func (c *Closed) runs(ctx context.Context, name string) ([]int64, error) {
	if name == "" {
		return nil, nil
	}
	condition, args := `name = ?1 OR id IN (SELECT run FROM run_name WHERE name = ?1)`, any(name)
	if id, err := strconv.ParseInt(name, 10, 64); err == nil {
		condition, args = `id = ?1`, id
	}
	rows, err := c.file.read.QueryContext(ctx, `SELECT id FROM run WHERE `+condition, args)
	ids, err := scanAll(rows, err, func(scan func(...any) error, id *int64) error { return scan(id) })
	if err == nil && len(ids) == 0 {
		err = ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("run %q: %w", name, err)
	}
	return ids, nil
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

// Remains are the files of a database, in the order in which they can be removed.
type Remains struct {
	Files   []string // the database, its log, those set aside, and copies that were never finished
	Backups []string // other databases of shadowdiff in the same folder: backups, or those of other services
}

// FindRemains lists what belongs to the database at path, whether that itself exists or not.
func FindRemains(path string) (Remains, error) {
	var found Remains
	resolved, err := resolve(path)
	if err != nil {
		return found, err
	}
	entries, err := os.ReadDir(filepath.Dir(resolved))
	if err != nil {
		return found, err
	}
	for _, e := range entries {
		file := filepath.Join(filepath.Dir(resolved), e.Name())
		switch {
		case !e.Type().IsRegular():
		case belongs(file, resolved):
			found.Files = append(found.Files, file)
		case file != resolved+".lock" && ours(file):
			found.Backups = append(found.Backups, file)
		}
	}
	slices.Reverse(found.Files) // those with longer names first: a database never stands there without its log
	return found, nil
}

// belongs tells whether a file is the database at path, or one that is made beside it and is named after it.
func belongs(file, path string) bool {
	after, ok := strings.CutPrefix(file, path)
	if !ok {
		return false
	}
	switch after {
	case "", "-wal", "-shm", "-journal":
		return true
	}
	for _, begin := range []string{".damaged-", ".replaced-", ".backup", ".new"} {
		if rest, ok := strings.CutPrefix(after, begin); ok {
			return begin[len(begin)-1] == '-' || strings.Trim(rest, "-0123456789journal") == ""
		}
	}
	return false
}

// RemoveAll removes all files of a database that no service has open. The lock stays: it holds the number of a process,
// and is what keeps a service away meanwhile.
func RemoveAll(path string) error {
	resolved, err := resolve(path)
	if err != nil {
		return err
	}
	held, err := takeLock(resolved)
	if err != nil {
		return err
	}
	defer held.Release()
	found, err := FindRemains(resolved)
	for _, file := range found.Files {
		if failed := os.Remove(file); !errors.Is(failed, fs.ErrNotExist) {
			err = errors.Join(err, failed)
		}
	}
	return err
}
