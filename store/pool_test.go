package store

import (
	"context"
	"database/sql"
)

// Tests say less.

func (p *pool) QueryRow(query string, args ...any) *sql.Row {
	return p.QueryRowContext(context.Background(), query, args...)
}

func (p *pool) Exec(query string, args ...any) (sql.Result, error) {
	return p.ExecContext(context.Background(), query, args...)
}
