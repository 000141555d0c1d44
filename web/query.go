package web

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"shadowdiff/normalize"
)

// query is a request's parameters after unknown and repeated ones were refused.
type query struct {
	request *http.Request
	values  url.Values
	now     time.Time
}

// readQuery refuses every parameter that is not among the known ones: a misspelt filter must not answer for everything.
func readQuery(r *http.Request, known ...string) (query, error) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return query{}, refuse(http.StatusBadRequest, "the query %q is not well formed: %v", r.URL.RawQuery, err)
	}
	for name, all := range values {
		if !slices.Contains(known, name) {
			p := refuse(http.StatusBadRequest, "unknown parameter %q; %s", name, remedy(name, known))
			p.Parameters = known
			return query{}, p
		}
		if len(all) > 1 {
			return query{}, refuse(http.StatusBadRequest, "parameter %q is given %d times; give it once", name, len(all))
		}
	}
	return query{request: r, values: values, now: time.Now()}, nil
}

func remedy(name string, known []string) string {
	if len(known) == 0 {
		return "this address takes none"
	}
	takes := "this address takes " + listed(known, len(known))
	if near := normalize.Nearest(name, known); near != "" {
		return "did you mean " + strconv.Quote(near) + "? " + takes
	}
	return takes
}

func (q query) text(name string) string { return q.values.Get(name) }

// flag reads true or false; without the parameter both are wanted and the answer is nil.
func (q query) flag(name string) (*bool, error) {
	switch v := q.values.Get(name); v {
	case "":
		return nil, nil
	case "true", "false":
		b := v == "true"
		return &b, nil
	default:
		return nil, refuse(http.StatusBadRequest, "%s=%q: give true or false", name, v)
	}
}

// number reads a whole number from 1 to most; without the parameter it is the fallback.
func (q query) number(name string, fallback, most int) (int, error) {
	v := q.values.Get(name)
	if v == "" {
		return fallback, nil
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 || n > most {
		return 0, refuse(http.StatusBadRequest, "%s=%q: give a whole number from 1 to %d", name, v, most)
	}
	return n, nil
}

// moment reads a time in RFC 3339, or a duration that is taken as so long ago.
func (q query) moment(name string) (time.Time, error) {
	v := q.values.Get(name)
	if v == "" {
		return time.Time{}, nil
	}
	return momentOf(name, v, q.now)
}

func momentOf(name, v string, now time.Time) (time.Time, error) {
	if d, err := time.ParseDuration(v); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	t, err := time.Parse(time.RFC3339, v)
	if err != nil {
		return t, refuse(http.StatusBadRequest, "%s=%q: give a time such as 2026-11-30T10:00:00Z, or a duration such as 15m", name, v)
	}
	return t, nil
}

// span reads since and until, either of which may be left out.
func (q query) span() (since, until time.Time, err error) {
	if since, err = q.moment("since"); err != nil {
		return since, until, err
	}
	if until, err = q.moment("until"); err != nil {
		return since, until, err
	}
	if !until.IsZero() && !since.Before(until) {
		return since, until, refuse(http.StatusBadRequest, "since=%s is not before until=%s", q.text("since"), q.text("until"))
	}
	return since, until, nil
}
