package store

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
)

// migrations are the steps from an empty file to the present schema: NNNN_what.sql, numbered from 0001 without a gap.
// A step is never changed once it has been released.
//
//go:embed migrations/*.sql
var migrations embed.FS

// application marks the file as ours: the four letters "shdf".
const application = 0x73686466

// migrate takes the steps that the file has not seen, all in one transaction with the number they lead to. The log is merged
// at once, so that the file says by itself whose it is; where it cannot be, it is later.
func (d *database) migrate(ctx context.Context) error {
	steps, err := fs.Glob(migrations, "migrations/*.sql") // sorted
	if err != nil {
		return err
	}
	d.schema = len(steps)
	pool := d.write.now.Load()
	if d.former, err = schemaVersion(ctx, pool); err != nil || d.former == d.schema {
		return err
	}
	if d.former > d.schema {
		return fmt.Errorf("written by a newer shadowdiff (schema %d; this one knows %d): use that one, or name another file",
			d.former, d.schema)
	}
	tx, err := pool.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	for _, step := range steps[d.former:] {
		if err := migrateStep(ctx, tx, step); err != nil {
			return fmt.Errorf("migrate with %s: %w", step, err)
		}
	}
	if _, err := tx.ExecContext(ctx, fmt.Sprintf(`PRAGMA user_version = %d`, d.schema)); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	_, _ = pool.ExecContext(ctx, `PRAGMA wal_checkpoint`)
	return nil
}

// schemaVersion answers 0 for an empty file, and refuses another program's database.
func schemaVersion(ctx context.Context, pool *sql.DB) (int, error) {
	var version, owner, tables int
	err := pool.QueryRowContext(ctx, `SELECT
		(SELECT user_version FROM pragma_user_version),
		(SELECT application_id FROM pragma_application_id),
		(SELECT count(*) FROM sqlite_schema)`).Scan(&version, &owner, &tables)
	if err != nil {
		return 0, err
	}
	if tables > 0 && owner != application {
		return 0, fmt.Errorf("the SQLite database of another program: name another file")
	}
	return version, nil
}

func migrateStep(ctx context.Context, tx *sql.Tx, step string) error {
	text, err := migrations.ReadFile(step)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, string(text))
	return err
}
