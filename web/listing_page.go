package web

import (
	"net/url"
	"slices"

	"shadowdiff/store"
)

// chip is one filter in force, with the address of the list without it.
type chip struct{ Name, Value, Without string }

// optionView is one word that a filter can have.
type optionView struct {
	Value, Word string
	Chosen      bool
}

// listPage is what every list has around its rows.
type listPage struct {
	frame
	Query  map[string]string // the filters as they were given, for the form
	Keep   []hidden          // the page's other parameters, that the form sends along
	Chips  []chip
	Plain  string   // the address of the list without any filter
	First  string   // of its first page; empty: this is it
	More   string   // of the page that follows; empty: there is none
	Routes []string // to choose from
	Empty  []string // why nothing is listed and what to do, one sentence each

	Command string // with which something comes to be listed; empty: there is none
}

const routesOffered = 200

// listPageOf fills in what the query alone tells. names are the filters in the order in which they are shown.
func (s *Server) listPageOf(q query, snap *store.Snapshot, names ...string) listPage {
	page := listPage{Query: map[string]string{}}
	for _, name := range names {
		if value := q.text(name); value != "" {
			page.Query[name] = value
			page.Chips = append(page.Chips, chip{filterWords(name), value, q.without(name)})
		}
	}
	plain := url.Values{}
	if run := q.text("run"); run != "" {
		plain.Set("run", run)
	}
	page.Plain = pathWith(q.request.URL.Path, plain)
	if q.text("cursor") != "" {
		page.First = q.without("cursor")
	}
	if snap.Tallies.Total.Compared == 0 && snap.Run.Ended == nil {
		page.Command = firstRequest(s.deps.Instance().Targets)
	}
	for _, t := range snap.Tallies.Routes[:min(len(snap.Tallies.Routes), routesOffered)] {
		page.Routes = append(page.Routes, t.Route)
	}
	return page
}

// orphaned is the address of the list without what means nothing any more, since the form was sent with one of its inputs
// empty; empty: there is nothing of the kind.
func (q query) orphaned(inputs ...string) string {
	var alone []string
	for _, name := range inputs {
		if q.values.Has(name) && q.text(name) == "" {
			alone = append(alone, q.leaning(name)...)
		}
	}
	changes := []string{}
	for _, name := range alone {
		if q.text(name) != "" {
			changes = append(changes, name, "")
		}
	}
	if len(changes) == 0 {
		return ""
	}
	return q.address("", changes...)
}

// filterWords names a filter for people.
func filterWords(name string) string {
	switch name {
	case "at_field":
		return "there"
	case "attribute":
		return "requests"
	case "result":
		return "whole request"
	case "role":
		return "whose value"
	case "q":
		return "name has"
	default:
		return name
	}
}

// without is the address of the list from its beginning without one filter, and without those that mean nothing alone.
func (q query) without(name string) string {
	drop := append(q.leaning(name), "cursor", name)
	values := url.Values{}
	for key, all := range q.values {
		if !slices.Contains(drop, key) && all[0] != "" {
			values[key] = all
		}
	}
	return pathWith(q.request.URL.Path, values)
}

// leaning are the filters that mean nothing without one: value is of the attribute where there is one, else of the field.
func (q query) leaning(name string) []string {
	having := q.text("attribute") != ""
	switch {
	case having && (name == "route" || name == "attribute"):
		return []string{"attribute", "is", "value"}
	case having && name == "value":
		return []string{"is"}
	case name == "value":
		return []string{"role"}
	case having && name == "field":
		return []string{"at_field", "test"}
	case name == "field":
		return []string{"at_field", "test", "value", "role"}
	case name == "at_field":
		return []string{"test"}
	}
	return nil
}

// with is the address of the list with one parameter set otherwise, from its beginning unless that is the cursor.
func (q query) with(name, value string) string {
	values := url.Values{}
	for key, all := range q.values {
		if key != "cursor" && all[0] != "" {
			values[key] = all
		}
	}
	values.Set(name, value)
	return pathWith(q.request.URL.Path, values)
}

// elsewhere is another list's address with the filters of this one.
func (q query) elsewhere(path string, pairs ...string) string {
	values := url.Values{}
	for key, all := range q.values {
		if key != "cursor" && key != "limit" && all[0] != "" {
			values[key] = all
		}
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		values.Set(pairs[i], pairs[i+1])
	}
	return pathWith(path, values)
}

func pathWith(path string, values url.Values) string {
	if len(values) == 0 {
		return path
	}
	return path + "?" + values.Encode()
}

// sampleRowPart is what the part "samplerow" is handed.
type sampleRowPart struct {
	Base   string
	Valued bool // the values at the field are shown
	Route  bool // so is the route
	Row    sampleRow
}
