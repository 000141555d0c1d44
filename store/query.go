package store

import (
	"database/sql"
	"strings"
)

// conditions are what a query asks of its rows: all of them. The zero conditions ask nothing.
type conditions struct {
	texts []string
	args  []any
}

// and adds one, with the values of its question marks.
func (c *conditions) and(text string, args ...any) {
	c.texts, c.args = append(c.texts, text), append(c.args, args...)
}

// String is what stands behind WHERE.
func (c *conditions) String() string {
	if len(c.texts) == 0 {
		return "TRUE"
	}
	return strings.Join(c.texts, " AND ")
}

// upsert inserts a row, or replaces the one with the same first keys columns.
func upsert(table string, keys int, columns ...string) string {
	var sets []string
	for _, c := range columns[keys:] {
		sets = append(sets, c+" = excluded."+c)
	}
	return "INSERT INTO " + table + " (" + strings.Join(columns, ", ") + ") VALUES (?" + strings.Repeat(", ?", len(columns)-1) +
		") ON CONFLICT (" + strings.Join(columns[:keys], ", ") + ") DO UPDATE SET " + strings.Join(sets, ", ")
}

// scanAll reads all rows of a query; err is that of the query itself.
func scanAll[T any](rows *sql.Rows, err error, one func(scan func(...any) error, v *T) error) ([]T, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []T
	for rows.Next() {
		var v T
		if err := one(rows.Scan, &v); err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, rows.Err()
}

// pageSize is how many items a page has.
func pageSize(limit int) int {
	if limit <= 0 {
		return 50
	}
	return min(limit, 500)
}

// firstPage is so many items of a list at most, and tells whether others follow: who reads a page asks for one item more.
func firstPage[T any](list []T, size int) (page []T, more bool) {
	if len(list) > size {
		return list[:size], true
	}
	return list, false
}
