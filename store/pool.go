package store

import (
	"context"
	"database/sql"
	"sync/atomic"
)

// pool is connections to the file that is in use now: another takes its place when one is set aside. A read that is under
// way then ends with the old one, or fails.
type pool struct{ now atomic.Pointer[sql.DB] }

func (p *pool) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return p.now.Load().QueryContext(ctx, query, args...)
}

func (p *pool) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	return p.now.Load().QueryRowContext(ctx, query, args...)
}

func (p *pool) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return p.now.Load().ExecContext(ctx, query, args...)
}

func (p *pool) BeginTx(ctx context.Context, opts *sql.TxOptions) (*sql.Tx, error) {
	return p.now.Load().BeginTx(ctx, opts)
}

// close closes the connections. The pool stays, and all that is asked of it fails until it is opened again.
func (p *pool) close() error {
	if db := p.now.Load(); db != nil {
		return db.Close()
	}
	return nil
}
