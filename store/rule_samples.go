package store

import (
	"context"
	"fmt"
)

// LatestSamples lists the ids of the samples of any run, the latest first, so many at most.
func (db *DB) LatestSamples(ctx context.Context, most int) ([]int64, error) {
	rows, err := db.file.read.QueryContext(ctx, `SELECT id FROM sample ORDER BY time DESC, id DESC LIMIT ?`, most)
	ids, err := scanAll(rows, err, func(scan func(...any) error, id *int64) error { return scan(id) })
	if err != nil {
		return nil, fmt.Errorf("list the latest samples: %w", err)
	}
	return ids, nil
}
