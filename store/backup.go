package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/dustin/go-humanize"
)

// ErrBackupRunning is what a backup answers while another is under way.
var ErrBackupRunning = errors.New("another backup is under way: try again when it has ended")

// ErrNoRoom is what a backup, and what has to be on the disk at once, answer when the disk has not the room for it.
var ErrNoRoom = errors.New("not enough room")

// spareRoom is what a copy leaves of the disk to the database itself, in bytes.
const spareRoom = 16 << 20

// Copy is a backup that is read once: it is removed when it is closed.
type Copy struct {
	*os.File
	Size int64 // bytes
}

// Close removes the file.
func (c *Copy) Close() error { return errors.Join(c.File.Close(), os.Remove(c.Name())) }

// OpenBackup makes a backup, and answers it open for reading: the database as it is at one moment, in a file of its own beside
// it that only its owner may read, while counting and writing go on. It opens as a store does. Nothing is left behind when it
// fails: with ErrBackupRunning, with ErrNoRoom, or because ctx has ended.
func (db *DB) OpenBackup(ctx context.Context) (*Copy, error) {
	path := freeName(db.file.path + ".backup")
	if err := db.backUp(ctx, path); err != nil {
		return nil, fmt.Errorf("back up: %w", err)
	}
	f, err := os.Open(path)
	if err != nil {
		os.Remove(path)
		return nil, fmt.Errorf("back up: %w", err)
	}
	c := &Copy{File: f}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("back up: %w", err), c.Close())
	}
	c.Size = info.Size()
	return c, nil
}

// backUp makes one copy at a time, on a connection of its own: those that read the pages do not wait for it.
func (db *DB) backUp(ctx context.Context, path string) error {
	if !db.backups.TryLock() {
		return ErrBackupRunning
	}
	defer db.backups.Unlock()
	from, err := openPool(db.file.path, 1, plainPragmas())
	if err != nil {
		return err
	}
	defer from.Close()
	return db.copyTo(ctx, from, path)
}

// copyTo writes what a connection sees of the database to a new file, without the room that is free in it.
func (db *DB) copyTo(ctx context.Context, from *sql.DB, path string) error {
	var pages int64
	err := from.QueryRowContext(ctx, `SELECT page_count - freelist_count FROM pragma_page_count, pragma_freelist_count`).Scan(&pages)
	if err != nil {
		return err
	}
	if free, known := room(filepath.Dir(path)); known && free < pages*pageBytes+spareRoom {
		return fmt.Errorf("%w: the copy takes %s, and the disk of %s has %s left, of which %s stay free", ErrNoRoom,
			humanize.IBytes(uint64(pages*pageBytes)), filepath.Dir(path), humanize.IBytes(uint64(max(free, 0))), humanize.IBytes(spareRoom))
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = from.ExecContext(ctx, `VACUUM INTO ?`, path)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		os.Remove(path)
		os.Remove(path + "-journal")
	}
	return err
}
