package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"sync"
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
	db.settings.put(key, value)
	return nil
}

// settings are those on the disk, for a file that takes its place.
type settings struct {
	mu  sync.Mutex
	all map[string]string
}

func (s *settings) put(key, value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all[key] = value
}

func (s *settings) copy() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.all)
}

// loadSettings remembers all settings.
func (db *DB) loadSettings(ctx context.Context) error {
	rows, err := db.file.read.QueryContext(ctx, `SELECT key, value FROM setting`)
	list, err := scanAll(rows, err, func(scan func(...any) error, kv *[2]string) error { return scan(&kv[0], &kv[1]) })
	if err != nil {
		return err
	}
	for _, kv := range list {
		db.settings.put(kv[0], kv[1])
	}
	return nil
}

// writeFresh writes to a file that is new in another's place what that one had of settings and rules, and that it was set aside.
func (db *DB) writeFresh(ctx context.Context, tx *sql.Tx) error {
	for key, value := range db.settings.copy() {
		if _, err := tx.ExecContext(ctx, saveSetting, key, value); err != nil {
			return err
		}
	}
	if err := db.writeFreshRules(ctx, tx); err != nil {
		return err
	}
	db.health.mu.Lock()
	aside := db.health.last.Aside
	db.health.mu.Unlock()
	if aside == nil {
		return nil
	}
	_, err := tx.ExecContext(ctx, insertActivity, micros(aside.Time), "store", "set aside", aside.Path+": "+aside.Why)
	return err
}
