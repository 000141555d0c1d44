package main

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"shadowdiff/store"
)

// A candidate is mended: the pages begin its run, set it beside the one before, and say that the fault is gone.
func TestTwoRunsSideBySideOnThePages(t *testing.T) {
	t.Parallel()
	answer := func(price string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"price": %s}`, price)
		}
	}
	mended := make(chan struct{})
	candidate := newPeer(t, "c", func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-mended:
			answer("1")(w, r)
		default:
			answer("2")(w, r)
		}
	})
	l := serveFile(t, addresses(newPeer(t, "p", answer("1")), newPeer(t, "s", answer("1")), candidate)+"run: v2.3.0\n")
	c := l.connect()
	says(t, "the first run", l.page("/runs"), "Run v2.3.0 is in force", "It is the first run, so there is none to compare it with yet.", "attempt 2 at “v2.3.0”, judged at α = 0.0083")
	l.askedOf(c, 200, "/a")
	close(mended)

	if opened := l.page(linkAfter(t, l.page("/runs"), "<main", "Begin a new run")); !strings.Contains(opened, "<details class=\"begin\" id=\"begin-form\" open>") {
		t.Error("the form that begins a run is not open where one comes to it by its name")
	}
	bad := l.send("/runs", url.Values{"name": {"current"}, "version": {"2.3.1"}, "notes": {"kept\r\nhere"}})
	if says(t, "a name that is none", bad.page, `Name "current": means the run in force`, "kept here"); bad.status != http.StatusBadRequest || !strings.Contains(bad.page, `value="2.3.1"`) {
		t.Errorf("%d: what was typed is lost:\n%s", bad.status, shownText(bad.page))
	}
	begun := l.send("/runs", url.Values{"name": {"v2.3.1"}, "notes": {"with the new index"}})
	if begun.status != http.StatusSeeOther || begun.location != "/runs/2" {
		t.Fatalf("%+v", begun)
	}
	l.askedOf(c, 150, "/a")

	var contrast struct {
		Counts map[string]int
		Then   struct{ Compared, Confirmed int }
		Now    struct{ Compared, Confirmed int }
	}
	l.call(http.MethodGet, "/api/v1/runs/1/compare/2", "", http.StatusOK, &contrast)
	page := l.page(linkAfter(t, l.page("/runs"), `class="current"`, "with run v2.3.0"))
	says(t, "the comparison", page, "Run v2.3.1 no longer shows the confirmed difference of run v2.3.0 and brings none new.",
		"body.price", "200 of 200, control 0", "not seen in 150", "gone: not seen in 150 requests", "undecided, was different")
	for fate, n := range contrast.Counts {
		if word := strings.ReplaceAll(fate, "_", " "); fate == "gone" && (n != 1 || !strings.Contains(shownText(page), fmt.Sprint(word, " ", n))) {
			t.Errorf("%s: the API has %d, the page %s", fate, n, shownText(page))
		}
	}
	swapped := l.page("/runs/2/compare/1")
	says(t, "the other way round", swapped, "Run v2.3.0 brings 1 confirmed difference; run v2.3.1 had none.", "The later run stands on the left")
	says(t, "one kind alone", l.page("/runs/1/compare/2?state=new"), "There is none to show.")
	says(t, "a run with itself", l.page("/runs/2/compare/2"), "held against itself")

	list := l.page("/runs")
	for _, of := range []string{"1", "2"} {
		var run runOf
		l.call(http.MethodGet, "/api/v1/runs/"+of, "", http.StatusOK, &run)
		says(t, "the list", list, run.Name, fmt.Sprint(*run.Compared), *run.Verdict)
		says(t, "the run", l.page("/runs/"+of), fmt.Sprintf("Compared%d", *run.Compared), fmt.Sprintf("Confirmed differences%d", *run.Confirmed), "Requests"+fmt.Sprint(run.Counters.Requests))
	}
	says(t, "half of the list", l.page("/runs?limit=1"), "v2.3.1", "Older")
	says(t, "the other half", l.page(linkAfter(t, l.page("/runs?limit=1"), "paging", "Older")), "v2.3.0", "Newest")

	if got := l.page("/runs/compare?then=v2.3.0&now=current"); !strings.Contains(shownText(got), "no longer shows") {
		t.Errorf("the two chosen: %s", shownText(got))
	}
	says(t, "one chosen", l.refusedPage("/runs/compare?then=1"), "choose a run for each of the two sides")
	says(t, "a run that is none", l.refusedPage("/runs/v2.3.2"), `did you mean "v2.3.`)
}

// A run gets another name and other notes by a form; names and notes are text, whatever is in them.
func TestARunIsRenamedOnThePages(t *testing.T) {
	t.Parallel()
	p := newPeer(t, "same", nil)
	l := serveFile(t, addresses(p, p, p))
	name, notes := `<script>alert(1)</script> & "v2"`, "first line\nsecond </textarea><script>alert(1)</script>"
	if got := l.send("/runs/1", url.Values{"name": {name}, "notes": {strings.ReplaceAll(notes, "\n", "\r\n")}}); got.status != http.StatusSeeOther || got.location != "/runs/1" {
		t.Fatalf("%+v", got)
	}
	var run runOf
	l.call(http.MethodGet, "/api/v1/runs/1", "", http.StatusOK, &run)
	if run.Name != name || run.Notes != notes {
		t.Errorf("%+v", run)
	}
	for _, path := range []string{"/runs", "/runs/1", "/runs/1/compare/1", "/rules", "/runs/" + url.PathEscape(name)} {
		if page := l.page(path); strings.Contains(page, "<script>alert") {
			t.Errorf("%s: what is in a name is part of the page", path)
		}
	}
	says(t, "the run", l.page("/runs/1"), name)
	bad := l.send("/runs/1", url.Values{"name": {"17"}, "notes": {"other notes"}})
	if says(t, "a number as a name", bad.page, "would be taken for the id of a run", "other notes"); bad.status != http.StatusBadRequest {
		t.Errorf("%d", bad.status)
	}
	if got := l.send("/runs/99", url.Values{"name": {"x"}}); got.status != http.StatusNotFound {
		t.Errorf("a run that is none: %d", got.status)
	}
	var said struct{ Items []store.Activity }
	l.call("GET", "/api/v1/activity?action=run&actor=page", "", http.StatusOK, &said)
	if len(said.Items) != 1 || !strings.Contains(said.Items[0].Detail, "run 1: name") || !strings.Contains(said.Items[0].Detail, "other notes") {
		t.Errorf("%+v", said.Items)
	}

	shut := serveFile(t, addresses(p, p, p)+"web: {read_only: true}\n")
	says(t, "runs that cannot be changed", shut.page("/runs"), "web.read_only is set")
	for _, path := range []string{"/runs", "/runs/1"} {
		if got := shut.send(path, url.Values{"name": {"x"}, "notes": {""}}); got.status != http.StatusForbidden || shut.svc.db.Snapshot().Run.Name != "run 1" {
			t.Errorf("%s: %d, in force is %q", path, got.status, shut.svc.db.Snapshot().Run.Name)
		}
	}
}
