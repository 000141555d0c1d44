package main

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"shadowdiff/diff"
)

// instance answers as known-good code does, with a number that each of its answers has for itself and, if told, a trait of
// its own.
func instance(t *testing.T, name, trait string) *peer {
	t.Helper()
	var served atomic.Int64
	return newPeer(t, name, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-App-Version", "1."+fmt.Sprint(served.Load()%2)) // which begins no run here
		host := ""
		if trait != "" {
			host = `,"zone":"` + trait + `"`
		}
		fmt.Fprintf(w, `{"path":%q,"served":"#%06d-%s"%s}`, r.URL.Path, served.Add(1), name, host)
	})
}

// calibrated is the part of the verdict that is about that.
type calibratedVerdict struct {
	Run         struct{ Name, Candidate string }
	Verdict     diff.Word
	Reasons     []string
	Compared    int64
	Calibration *diff.Calibration
}

func calibratedBy(address string) flagValues {
	return flagValues{calibrateFlag: {calibrateFlag, address}}
}

func TestAnEvenSetUpIsProvenEven(t *testing.T) {
	t.Parallel()
	primary, secondary, candidate := instance(t, "p", ""), instance(t, "s", ""), newPeer(t, "c", nil)
	l := serveWith(t, addresses(primary, secondary, candidate)+proves+
		"rules:\n- {mask: body.served, role: candidate, pattern: x, with: y}\nshadow: {candidate: {set_headers: {X-New: \"1\"}}}\n", calibratedBy(""))
	c := l.connect()
	l.askedOf(c, 400, "/things/7")
	var v calibratedVerdict
	l.call("GET", "/api/v1/equivalence", "", 200, &v)
	if v.Run.Name != "calibration" || v.Run.Candidate != secondary.URL || v.Verdict != diff.Equivalent || v.Compared < 400 {
		t.Errorf("verdict %+v", v)
	}
	if v.Calibration == nil || !v.Calibration.Fair || v.Calibration.Confirmed != 0 || v.Calibration.Differing == 0 {
		t.Errorf("calibration %+v", v.Calibration)
	}
	if candidate.asked.Load() > 0 || secondary.asked.Load() != 800 || secondary.seen().Header.Get("X-New") != "" {
		t.Errorf("the candidate was asked %d times, the secondary %d, with %v", candidate.asked.Load(), secondary.asked.Load(), secondary.seen().Header)
	}
	page := l.page("/")
	for _, words := range []string{"says nothing of a candidate", "the set-up is even", "alibrating: the secondary is asked twice"} {
		if !strings.Contains(page, words) {
			t.Errorf("the page does not say %q", words)
		}
	}
	at := []string{"-url", l.svc.AdminURL(), "-wait", "0s"}
	gated(at...).must(t, "a gate for a release", exitTrouble, "calibrates", "give -run calibration")
	gated(append(at, "-run", "calibration")...).must(t, "a gate for the set-up", exitEquivalent, "the set-up is even", "says nothing of a candidate")
	var g struct {
		Pass    bool
		Reasons []string
	}
	l.call("GET", "/api/v1/gate", "", 409, &g)
	if g.Pass || !strings.Contains(g.Reasons[0], "run=calibration") {
		t.Errorf("gate %+v", g)
	}
	l.call("GET", "/api/v1/gate?run=calibration", "", 200, &g)
	if metrics := l.page("/metrics"); !strings.Contains(metrics, `shadowdiff_verdict{verdict="equivalent"} 0`) {
		t.Error("the metrics call it equivalent")
	}
}

func TestATraitOfAnInstanceIsFoundByASecondAddress(t *testing.T) {
	t.Parallel()
	primary, secondary, other := instance(t, "p", ""), instance(t, "s", ""), instance(t, "o", "b")
	l := serveWith(t, fmt.Sprintf("primary: %s\nsecondary: %s\n", primary.URL, secondary.URL), calibratedBy(other.URL))
	c := l.connect()
	l.askedOf(c, 60, "/things/7")
	var v calibratedVerdict
	l.call("GET", "/api/v1/equivalence", "", 200, &v)
	lopsided := func(reason string) bool {
		return strings.HasPrefix(reason, "the set-up is lopsided: body.zone on GET /things/{id}")
	}
	if v.Verdict != diff.Different || !slices.ContainsFunc(v.Reasons, lopsided) || v.Run.Candidate != other.URL {
		t.Errorf("verdict %+v", v)
	}
	if v.Calibration == nil || v.Calibration.Fair || v.Calibration.Confirmed == 0 {
		t.Errorf("calibration %+v", v.Calibration)
	}
	if strings.Contains(strings.Join(v.Reasons, "; "), "because of the candidate") {
		t.Errorf("a candidate is blamed: %q", v.Reasons)
	}
}

func TestACalibrationIsARunOfItsOwn(t *testing.T) {
	t.Parallel()
	primary, secondary := instance(t, "p", ""), instance(t, "s", "")
	text, file := addresses(primary, secondary, secondary)+"run: v2\nversion_header: none\n", filepath.Join(t.TempDir(), "runs.db")
	runs := func(l *live) (names []string) {
		var all struct{ Items []runOf }
		l.call("GET", "/api/v1/runs", "", 200, &all)
		for _, r := range all.Items {
			names = append(names, fmt.Sprint(r.Name, " ", r.Attempt))
		}
		return names
	}
	start := func(more flagValues) *live {
		flags := flagValues{"store.path": {"-db", file}}
		maps.Copy(flags, more)
		l := serveWith(t, text, flags)
		l.askedOf(l.connect(), 3, "/things/7")
		return l
	}
	start(nil).stop()
	calibrating := start(calibratedBy(""))
	for _, name := range []string{"v3", "candidate"} {
		if said := calibrating.refusal("POST", "/api/v1/runs", `{"name": "`+name+`"}`, 400); !strings.Contains(said, "calibrates") {
			t.Errorf("refused with %q", said)
		}
	}
	if said := calibrating.refusal("PATCH", "/api/v1/runs/2", `{"name": "v2"}`, 400); !strings.Contains(said, "keep the name") {
		t.Errorf("refused with %q", said)
	}
	calibrating.stop()
	start(calibratedBy("")).stop() // goes on
	l := start(nil)
	if said := l.refusal("POST", "/api/v1/runs", `{"name": "calibration"}`, 400); !strings.Contains(said, "-calibrate") {
		t.Errorf("refused with %q", said)
	}
	if got, want := runs(l), []string{"v2 2", "calibration 1", "v2 1"}; !slices.Equal(got, want) {
		t.Errorf("runs %q, want %q", got, want)
	}
}

func TestACalibrationNeedsAFairPair(t *testing.T) {
	for _, c := range []struct{ text, address, want string }{
		{"primary: http://a", "", "there must be a secondary"},
		{"primary: http://a\nsecondary: http://b", "http://a/", "is the primary itself"},
		{"primary: http://a\nsecondary: http://b", "c", "must be a URL"},
		{"primary: http://a\nsecondary: http://b", "ftp://c", "must begin with http"},
	} {
		_, faults := readConfig(writeConfig(t, c.text), calibratedBy(c.address), testEnvironment)
		if len(faults) != 1 || !strings.Contains(faults[0].message, c.want) {
			t.Errorf("%q with %q: %v", c.text, c.address, faults)
		}
	}
	_, faults := readConfig(writeConfig(t, "primary: http://a\nrun: calibration"), nil, testEnvironment)
	if len(faults) != 1 || !strings.Contains(faults[0].message, "serve -calibrate") {
		t.Errorf("the name: %v", faults)
	}
	var out, err bytes.Buffer
	code := run([]string{"serve", "-calibrate", "-primary", "http://127.0.0.1:1"}, stdio{strings.NewReader(""), &out, &err})
	if code != exitTrouble || !strings.Contains(err.String(), "-calibrate: there must be a secondary") {
		t.Errorf("the flag: %d %s%s", code, &out, &err)
	}
}
