package store

// seriesRows are minutes on their way to the disk, or from it.
type seriesRows struct {
	gone   []int64
	routes []routeRow
	fields []fieldRow
}

// routeRow is one minute of a route, or of all.
type routeRow struct {
	route string
	begin int64
	bucket
}

// fieldRow is one minute of a field.
type fieldRow struct {
	fieldKey
	begin int64
	tests testCounts
}

func (rows *seriesRows) empty() bool { return len(rows.gone)+len(rows.routes)+len(rows.fields) == 0 }

// rename gives rows the present names of routes that were merged.
func (rows *seriesRows) rename(moved map[string]string) {
	for i := range rows.routes {
		if now, merged := moved[rows.routes[i].route]; merged {
			rows.routes[i].route = now
		}
	}
	for i := range rows.fields {
		if now, merged := moved[rows.fields[i].route]; merged {
			rows.fields[i].route = now
		}
	}
}
