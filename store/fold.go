package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"slices"

	"shadowdiff/normalize"
)

// folds are what was learnt of the routes' names.
type folds struct {
	list    []normalize.Fold
	version uint64
}

func (db *DB) learnt() (f folds) {
	f.list, f.version = db.deps.Names.Folds()
	return f
}

// loadFolds gives back to the names what was learnt before.
func (db *DB) loadFolds(ctx context.Context) error {
	rows, err := db.file.read.QueryContext(ctx, `SELECT place, kept FROM route_fold ORDER BY place`)
	list, err := scanAll(rows, err, func(scan func(...any) error, f *normalize.Fold) error {
		var kept string
		if err := scan(&f.Place, &kept); err != nil {
			return err
		}
		return json.Unmarshal([]byte(kept), &f.Kept)
	})
	if err != nil {
		return err
	}
	db.deps.Names.Restore(list)
	db.folds = db.learnt()
	return nil
}

// writeFolds replaces the list on the disk when it is another. It is written with the counts that were merged by it.
func (db *DB) writeFolds(ctx context.Context, tx *sql.Tx, learnt folds) error {
	if learnt.version == db.folds.version {
		return nil
	}
	if _, err := tx.ExecContext(ctx, `DELETE FROM route_fold`); err != nil {
		return err
	}
	for _, f := range learnt.list {
		kept, err := json.Marshal(append([]string{}, f.Kept...))
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO route_fold (place, kept) VALUES (?, ?)`, f.Place, string(kept)); err != nil {
			return err
		}
	}
	return nil
}

// keepFolds notes what is on the disk now, and tells of the places that are new in it.
func (db *DB) keepFolds(learnt folds) {
	if learnt.version == db.folds.version {
		return
	}
	for _, f := range learnt.list {
		if !slices.ContainsFunc(db.folds.list, func(known normalize.Fold) bool { return known.Place == f.Place }) {
			db.deps.Log.Info("many paths are counted as one route from now on", "route", f.Place+"/{id}", "kept", len(f.Kept))
		}
	}
	db.folds = learnt
}
