package store

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

// migrations are the steps from an empty file to the present schema: NNNN_what.sql, numbered from 0001 without a gap.
// A step is never changed once it has been released.
//
//go:embed migrations/*.sql
var migrations embed.FS

// application marks the file as ours: the four letters "shdf".
const application = 0x73686466

// migrate takes the steps that the file has not seen, each in one transaction with the number it leads to.
func migrate(ctx context.Context, pool *sql.DB) error {
	steps, err := fs.Glob(migrations, "migrations/*.sql") // sorted
	if err != nil {
		return err
	}
	version, err := schemaVersion(ctx, pool)
	if err != nil {
		return err
	}
	if version > len(steps) {
		return fmt.Errorf("written by a newer shadowdiff (schema %d; this one knows %d): use that one, or name another file",
			version, len(steps))
	}
	for _, step := range steps[version:] {
		if err := migrateStep(ctx, pool, step); err != nil {
			return fmt.Errorf("migrate with %s: %w", step, err)
		}
	}
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

func migrateStep(ctx context.Context, pool *sql.DB, step string) error {
	number, err := strconv.Atoi(strings.SplitN(strings.TrimPrefix(step, "migrations/"), "_", 2)[0])
	if err != nil {
		return err
	}
	text, err := migrations.ReadFile(step)
	if err != nil {
		return err
	}
	tx, err := pool.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, string(text)); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, fmt.Sprintf(`PRAGMA user_version = %d`, number)); err != nil {
		return err
	}
	return tx.Commit()
}
