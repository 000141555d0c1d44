package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// Setting returns what SaveSetting kept under a key, or ErrNotFound.
func (db *DB) Setting(ctx context.Context, key string) (string, error) {
	var value string
	err := db.file.read.QueryRowContext(ctx, `SELECT value FROM setting WHERE key = ?`, key).Scan(&value)
	if errors.Is(err, sql.ErrNoRows) {
		return "", fmt.Errorf("setting %q: %w", key, ErrNotFound)
	}
	if err != nil {
		return "", fmt.Errorf("read setting %q: %w", key, err)
	}
	return value, nil
}

const saveSetting = `INSERT INTO setting (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value`

// SaveSetting keeps a value over restarts. It is on the disk when it returns.
func (db *DB) SaveSetting(ctx context.Context, key, value string) error {
	_, err := db.file.write.ExecContext(ctx, saveSetting, key, value)
	if err != nil {
		return fmt.Errorf("save setting %q: %w", key, err)
	}
	return nil
}
