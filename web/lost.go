package web

import (
	"slices"
	"strings"

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
}

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
			rows = append(rows, lostRow{strings.ReplaceAll(string(reason), "_", " "), n, reasonMeaning(reason)})
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

// reasonMeaning is each reason in a sentence.
func reasonMeaning(r multicast.Reason) string {
	return map[multicast.Reason]string{
		"disabled":           "Shadowing was off, or there is no candidate.",
		"connect":            "A CONNECT request asks for a tunnel, not for an answer.",
		"upgrade":            "The connection was to become something else, such as a WebSocket.",
		"loop":               "The request was a shadow itself.",
		"route":              "Its route says shadow: false.",
		"method":             "Only the methods under methods: are shadowed, GET and HEAD unless you say otherwise.",
		"not_sampled":        "It was not among the sampled share.",
		"guard":              "The guard had paused shadowing.",
		"client_aborted":     "The client went away before its answer was whole.",
		"primary_failed":     "The primary gave no answer to compare with.",
		"primary_refused":    "The primary refused with 429 or 503; asking three times would make that worse.",
		"request_incomplete": "The primary answered before the request's body was whole.",
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
		"cancelled":          "Shadowing was switched off while it was under way.",
		"shutdown":           "shadowdiff was stopping.",
		"panic":              "Comparing it failed inside shadowdiff; the log says where. Please report it.",
	}[r]
}
