package web

import (
	"maps"
	"slices"
	"strings"

	"shadowdiff/diff"
	"shadowdiff/multicast"
)

// lostView says what was not looked at, and why.
type lostView struct {
	Requests int64
	Compared int64
	Skipped  []lostRow
	Dropped  []lostRow
	Unknown  []lostRow
	InFlight int64
	Queue    int64
}

// lostRow is one reason with its count and its meaning.
type lostRow struct {
	Reason  string
	Count   int64
	Meaning string
	Remedy  string      // what would have it compared; empty: nothing needs to be done
	Where   []whereView // the routes with most of it
}

// whereView is a route's part in a count.
type whereView struct {
	Route string
	Count int64
}

// whereShown bounds the routes that are named.
const whereShown = 3

// where names the routes on which exchanges could not be judged.
func (l *lostView) where(routes []*diff.RouteTally) {
	for i := range l.Unknown {
		row := &l.Unknown[i]
		for _, t := range routes {
			if n := t.Unknown[row.reason()]; n > 0 {
				row.Where = append(row.Where, whereView{t.Route, n})
			}
		}
		slices.SortStableFunc(row.Where, func(a, b whereView) int { return int(b.Count - a.Count) })
		row.Where = row.Where[:min(len(row.Where), whereShown)]
	}
}

// reason is the word that it is counted under.
func (r lostRow) reason() string { return strings.ReplaceAll(r.Reason, " ", "_") }

// lostOf reads the run's own counters; what is under way is the process's.
func lostOf(run, process multicast.Counts) lostView {
	return lostView{
		Requests: run.Requests, Compared: run.Compared,
		Skipped: lostRows(run.Skipped), Dropped: lostRows(run.Dropped), Unknown: lostRows(run.Unknown),
		InFlight: process.InFlight["candidate"] + process.InFlight["secondary"], Queue: process.Queue,
	}
}

// Skips, Drops and Unknowns are sums over all reasons.
func (l lostView) Skips() int64    { return sumRows(l.Skipped) }
func (l lostView) Drops() int64    { return sumRows(l.Dropped) }
func (l lostView) Unknowns() int64 { return sumRows(l.Unknown) }

func sumRows(rows []lostRow) int64 {
	var n int64
	for _, r := range rows {
		n += r.Count
	}
	return n
}

// lostRows lists the reasons that occurred, most frequent first.
func lostRows(counts map[multicast.Reason]int64) []lostRow {
	var rows []lostRow
	for reason, n := range counts {
		if n > 0 {
			rows = append(rows, lostRow{
				Reason: strings.ReplaceAll(string(reason), "_", " "), Count: n, Meaning: reasonMeaning(reason), Remedy: reasonRemedy(reason),
			})
		}
	}
	slices.SortFunc(rows, func(a, b lostRow) int {
		if a.Count != b.Count {
			return int(b.Count - a.Count)
		}
		return strings.Compare(a.Reason, b.Reason)
	})
	return rows
}

// reasonsExplained are all reasons there are, in the order of the alphabet, for the page of words.
func reasonsExplained() (rows []lostRow) {
	meanings := reasonMeanings()
	for _, reason := range slices.Sorted(maps.Keys(meanings)) {
		rows = append(rows, lostRow{
			Reason: strings.ReplaceAll(string(reason), "_", " "), Meaning: meanings[reason], Remedy: reasonRemedy(reason),
		})
	}
	return rows
}

// Slug is the reason as an address holds it.
func (r lostRow) Slug() string { return strings.ReplaceAll(r.Reason, " ", "-") }

// outcomesExplained are the ways in which a request to a shadow ends, with what each means.
func outcomesExplained() []termView {
	return []termView{
		{string(multicast.OutcomeOK), "The answer came whole."},
		{string(multicast.OutcomeDial), "No connection came about: refused, no such name, no TLS."},
		{string(multicast.OutcomeTimeout), "It took longer than shadow.timeout."},
		{string(multicast.OutcomeReset), "The connection ended before the answer was whole."},
		{string(multicast.OutcomeStale), "A kept connection ended before any byte of the answer: the peer's keep-alive, not its code."},
		{string(multicast.OutcomeProtocol), "What came was no HTTP, or headers beyond all bounds."},
		{string(multicast.OutcomeOversize), "The answer was far longer than can be compared."},
		{string(multicast.OutcomeCancelled), "Shadowing was switched off meanwhile."},
	}
}

func reasonMeaning(r multicast.Reason) string { return reasonMeanings()[r] }

// reasonMeanings are all reasons, each in a sentence.
func reasonMeanings() map[multicast.Reason]string {
	return map[multicast.Reason]string{
		"disabled":           "Shadowing was off, or there is no candidate.",
		"connect":            "A CONNECT request asks for a tunnel, not for an answer.",
		"upgrade":            "The connection was to become something else, such as a WebSocket.",
		"signed_in":          "The client had signed in on its connection (NTLM, Negotiate), where a copy would be nobody's.",
		"loop":               "The request was a shadow itself.",
		"route":              "Its route says shadow: false.",
		"method":             "Its method is not one that is shadowed: GET and HEAD, unless the configuration’s “methods” names others.",
		"not_sampled":        "It was not among the sampled share.",
		"guard":              "The guard had paused shadowing.",
		"client_aborted":     "The client went away before its answer was whole.",
		"primary_failed":     "The primary gave no answer to compare with.",
		"primary_refused":    "The primary refused with 429 or 503; asking three times would make that worse.",
		"request_incomplete": "The primary answered before the request's body was whole, or the client sent what is no request.",
		"body_too_large":     "The request's body was longer than shadow.max_request_body.",
		"stream":             "The answer was an endless stream.",
		"queue":              "Too many were waiting; shadow.concurrency and shadow.queue bound them.",
		"memory":             "Captured bytes had reached shadow.memory.",
		"circuit":            "A shadow had failed so often that it was left alone for a while.",
		"primary_incomplete": "The primary's answer did not arrive whole.",
		"shadows_failed":     "Neither shadow gave an answer.",
		"stale":              "A kept connection had been closed by the shadow's side: its keep-alive, not its code.",
		"lineage":            "The three did not come from the same deployment.",
		"oversize":           "An answer was far longer than can be compared.",
		"cancelled":          "Shadowing was switched off while it was under way, or shadowdiff stood still when a shadow's time was over.",
		"shutdown":           "shadowdiff was stopping.",
		"panic":              "Comparing it failed inside shadowdiff; the log says where. Please report it.",
		"disk":               "The disk did not take it. Only recordings are lost by that.",
		"purged":             "What was asked at its time was removed while it was on its way into a recording.",
	}
}

// reasonRemedy says what would have such a request compared.
func reasonRemedy(r multicast.Reason) string {
	return map[multicast.Reason]string{
		"disabled":           "Resume shadowing at the top of the page, or name a candidate.",
		"loop":               "Let the candidate and the secondary not call through this proxy.",
		"route":              "Take shadow: false away if the route may be asked three times.",
		"method":             "Say shadow: true on a route whose requests have no side effects.",
		"not_sampled":        "Raise the rate at the top of the page.",
		"guard":              "It lets go after a minute of calm; the limits are under guard:.",
		"client_aborted":     "Many of them tell of a primary that is slow.",
		"primary_failed":     "Look at the primary: its clients got no answer either.",
		"primary_refused":    "Look at the primary's limits.",
		"body_too_large":     "Raise shadow.max_request_body.",
		"stream":             "Say streams: true on a route whose answers end.",
		"queue":              "Lower the rate, or raise shadow.concurrency if the shadows can take more.",
		"memory":             "Raise shadow.memory, or lower shadow.max_response_body.",
		"circuit":            "Look at the shadow: the settings name its address and how it fails.",
		"primary_incomplete": "Look at the primary, and at clients slower than shadow.timeout.",
		"shadows_failed":     "Look at both shadows, and at shadow.timeout.",
		"stale":              "Let the shadows keep idle connections for over 3 s.",
		"lineage":            "Deploy the three together; lineage: names the headers that have to agree.",
		"disk":               "Free space in the folder of the recordings.",
		"oversize":           "Say shadow: false on a route that serves downloads.",
	}[r]
}
