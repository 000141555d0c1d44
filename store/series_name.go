package store

// nameKey is what a number in the series stands for: a route, or one test of one of its fields.
type nameKey struct {
	run                int64
	route, field, test string
}

// nameRef is the number, and the bounds of the time in which it counted, in seconds since 1970.
type nameRef struct{ id, first, last int64 }

// knownNames is how many numbers are remembered.
const knownNames = 20_000

// seriesName is the number that a name has, or gets, on the disk. The numbers that are remembered are the disk's only as
// long as the transaction is not undone.
func (w *writer) seriesName(key nameKey, begin int64) (id int64, err error) {
	ref, known := w.db.seriesNames[key]
	if known && ref.first <= begin && begin < ref.last {
		return ref.id, nil
	}
	err = w.stmt(w.db.stmts.seriesName).
		QueryRowContext(w.ctx, w.run, key.route, key.field, key.test, begin, begin/daySpan*daySpan+daySpan).
		Scan(&ref.id, &ref.first, &ref.last)
	if err != nil {
		return 0, err
	}
	if len(w.db.seriesNames) >= knownNames {
		clear(w.db.seriesNames)
	}
	w.db.seriesNames[key] = ref
	return ref.id, nil
}

// nameBounds stretches the bounds of a name that is there already.
const nameBounds = ` ON CONFLICT (run, route, field, test) DO UPDATE SET
	first = CASE WHEN excluded.first < series_name.first THEN excluded.first ELSE series_name.first END,
	last = CASE WHEN excluded.last > series_name.last THEN excluded.last ELSE series_name.last END`
