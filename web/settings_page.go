package web

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"shadowdiff/diff"
	"shadowdiff/multicast"
	"shadowdiff/store"
)

// settingsPage answers what this instance is doing right now: what it asks, at what rate, what it holds, and under which
// configuration.
type settingsPage struct {
	frame
	Sentence  string
	Shadowing shadowingAnswer
	Targets   []targetRow
	Holds     []gauge
	Guard     []gauge
	RampText  string
	Rate      string
	Store     storeView
	Recording recordingView
	Config    configView
	Build     string
	Listen    string
	Admin     string
	Phase     string
	Failed    []string
	Started   time.Time
	Up        string
	Calibrate string // empty: the run is a candidate's
	Token     bool
}

// targetRow is one instance that is asked.
type targetRow struct {
	Role    string
	Address string
	Word    string // what it comes to
	Bad     bool
	Text    string
	At      time.Time // of the text's end; zero: none
	Sent    int64
	Ok      int64
	Failed  string // by outcome, "timeout 3, dial 1"
}

// gauge is something that is held under a limit.
type gauge struct {
	Name  string
	Value string
	Limit string
	Used  int // percent of the limit, as drawn
	Over  bool
}

// recordingView is what becomes of the requests that are recorded.
type recordingView struct {
	Dir     string // empty: nothing is recorded
	Share   string // of all requests
	Keeps   string // for how long, and how much at most
	Sampled int64
	Written int64
	Lost    []lostRow // that were to be recorded and were not
	Losing  bool      // the disk does not take them
}

type storeView struct {
	Path    string
	Size    gauge
	Flushed time.Time
	Took    string
	Err     string
	Failing int64
	Lost    int64
	Aside   *store.Aside
	GivenUp []string // what made room before its time
}

type configView struct {
	File   string
	Loaded time.Time
	Last   *Reload
}

// settings answers GET /settings.
func (s *Server) settings(w http.ResponseWriter, r *http.Request) error {
	if _, err := readQuery(r); err != nil {
		return err
	}
	now, counts, health, state := s.deps.Instance(), s.deps.Proxy.Counts(), s.deps.DB.Health(), s.shadowingNow()
	snap := s.deps.DB.Snapshot()
	page := &settingsPage{
		frame: s.frameFor(r, snap, "Settings"), Shadowing: state, Rate: shareText(state.Sample),
		Targets: targetRows(now, counts), Holds: holdsOf(now.Limits, counts), Guard: guardGauges(state.Guard),
		Store: storeOf(now.Limits, health), Config: configView{now.File, now.Loaded, now.Reload}, Recording: recordingOf(&now.Recording, counts.Record),
		Build: now.Build, Listen: now.Targets.Listen, Admin: r.Host, Phase: now.Phase, Failed: now.Failed,
		Started: counts.Started, Up: lasting(time.Since(counts.Started)), Token: s.cfg.Token != "",
	}
	page.Here = "settings"
	page.Sentence = doing(page.Switch, now, counts)
	if state.Ramp != nil {
		page.RampText = rampRow(state.Ramp).Text
	}
	if snap.Run.Name == diff.CalibrationRun {
		page.Calibrate = "This is a calibration: known-good code answers in the candidate's place, and what is confirmed is a trait of the set-up."
	}
	return s.render(w, r, http.StatusOK, "settings", page)
}

// doing says in one sentence what the instance does.
func doing(shadowing switchView, now Instance, counts multicast.Counts) string {
	served := "Every client is served from the primary"
	if now.Replay {
		served = "Recorded requests are asked again, and no client is served"
	}
	switch {
	case !shadowing.Candidate:
		return served + ". There is no candidate: this is a plain proxy."
	case !shadowing.Enabled:
		return served + ". Shadowing is paused: no shadow is asked."
	case shadowing.Guarded:
		return served + ". The guard has paused shadowing."
	}
	for _, role := range []multicast.Role{multicast.Candidate, multicast.Secondary} {
		if c := counts.Circuit[role.String()]; c.State != circuitClosed && c.State != "" {
			return fmt.Sprintf("%s. The %s has failed %s running and is left alone, so nothing is compared.", served, role, things(int64(c.Failures), "time"))
		}
	}
	asked := "the candidate and the secondary are"
	if now.Targets.Secondary == "" {
		asked = "the candidate, alone, is"
	}
	of := shadowing.Sample + " of the eligible requests"
	if shadowing.Sample == "100%" {
		of = "every eligible request"
	}
	return fmt.Sprintf("%s; %s asked with copies of %s.", served, asked, of)
}

func targetRows(now Instance, counts multicast.Counts) []targetRow {
	first := targetRow{Role: multicast.Primary.String(), Address: now.Targets.Primary, Word: "serves", Text: "every client"}
	if now.Replay {
		first.Word, first.Text = "asked", "unless its recorded answers stand for it"
	}
	rows := []targetRow{first}
	for _, role := range []struct{ name, address, without string }{
		{multicast.Candidate.String(), now.Targets.Candidate, "a plain proxy: set candidate to compare"},
		{multicast.Secondary.String(), now.Targets.Secondary, "without it noise counts against the candidate"},
	} {
		if role.address == "" {
			rows = append(rows, targetRow{Role: role.name, Word: "none", Text: role.without})
			continue
		}
		row := targetRow{Role: role.name, Address: role.address, Word: "asked"}
		if circuit, asked := counts.Circuit[role.name]; asked {
			state := shadowRow(role.name, role.address, circuit)
			row.Word, row.Bad, row.At = state.Word, state.Bad, state.At
			row.Text = strings.TrimSpace(strings.TrimPrefix(strings.TrimPrefix(state.Text, role.address), "."))
		}
		legs := counts.Shadow[role.name]
		row.Sent, row.Ok, row.Failed = legs.Sent, legs.Outcome[multicast.OutcomeOK], outcomes(legs)
		rows = append(rows, row)
	}
	return rows
}

// outcomes lists how requests of a role ended that were not answered.
func outcomes(legs multicast.ShadowLegs) string {
	var told []string
	for _, outcome := range slices.Sorted(maps.Keys(legs.Outcome)) {
		if n := legs.Outcome[outcome]; n > 0 && outcome != multicast.OutcomeOK {
			told = append(told, fmt.Sprintf("%s %s", outcome, count(n)))
		}
	}
	return strings.Join(told, ", ")
}

// holdsOf is what waits and what is held at the moment.
func holdsOf(limits Limits, counts multicast.Counts) []gauge {
	list := []gauge{gaugeOf("waiting exchanges", counts.Queue, int64(limits.Queue), count)}
	for _, role := range []multicast.Role{multicast.Candidate, multicast.Secondary} {
		list = append(list, gaugeOf(role.String()+", in flight", counts.InFlight[role.String()], int64(limits.Concurrency), count))
	}
	list = append(list, gaugeOf("captured bodies", counts.CapturedBytes, limits.Memory, size))
	return append(list, gaugeOf("memory of the process", multicast.ResidentMemory(), 0, size))
}

func gaugeOf(name string, value, limit int64, text func(int64) string) gauge {
	g := gauge{Name: name, Value: text(value)}
	if limit > 0 {
		g.Limit, g.Used, g.Over = text(limit), int(min(100, 100*value/limit)), value >= limit
	}
	return g
}

func guardGauges(g *multicast.Guard) []gauge {
	if g == nil {
		return nil
	}
	var list []gauge
	for _, l := range g.Limits {
		one := gauge{Name: l.Name, Value: l.Value, Limit: l.At, Over: l.Over}
		if l.Value == "" {
			one.Value = "too few requests to tell"
		}
		if l.Used != nil {
			one.Used = int(min(100, 100**l.Used))
		}
		list = append(list, one)
	}
	return list
}

func recordingOf(c *multicast.RecordConfig, counts *multicast.RecordCounts) recordingView {
	if c.Dir == "" {
		return recordingView{}
	}
	view := recordingView{
		Dir: c.Dir, Share: shareText(c.Sample), Keeps: fmt.Sprintf("%s, at most %s", lasting(c.MaxAge), size(int64(c.MaxSize))),
	}
	if counts == nil {
		return view
	}
	view.Sampled, view.Written, view.Losing = counts.Sampled, counts.Written, counts.Dropped[multicast.ReasonDisk] > 0
	for _, reason := range slices.Sorted(maps.Keys(counts.Dropped)) {
		if n := counts.Dropped[reason]; n > 0 {
			view.Lost = append(view.Lost, lostRow{Reason: strings.ReplaceAll(string(reason), "_", " "), Count: n})
		}
	}
	return view
}

func storeOf(limits Limits, h store.Health) storeView {
	return storeView{
		Path: limits.Store, Size: gaugeOf("size", h.SizeBytes, limits.StoreMax, size), Flushed: h.LastFlush, Took: took(h.FlushTook),
		Err: h.Err, Failing: h.Failures, Lost: h.SamplesLost, Aside: h.Aside,
		GivenUp: givenUp(h.GivenUp),
	}
}

// givenUp lists what was removed so that the file stays under its limit.
func givenUp(up store.GivenUp) (list []string) {
	if up.Samples > 0 {
		list = append(list, "the oldest "+things(up.Samples, "sample"))
	}
	if !up.Routes.IsZero() {
		list = append(list, "courses of routes before "+moment(up.Routes))
	}
	if !up.Fields.IsZero() {
		list = append(list, "courses of fields before "+moment(up.Fields))
	}
	if up.Details {
		list = append(list, "details of runs that are over")
	}
	return list
}

// lasting writes a long time as people say it.
func lasting(d time.Duration) string {
	switch {
	case d < time.Minute:
		return things(int64(d.Seconds()), "second")
	case d < time.Hour:
		return things(int64(d.Minutes()), "minute")
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
	}
	return things(int64(d.Hours()/24), "day")
}

// formReload reads the configuration again for the page, which then shows what became of it.
func (s *Server) formReload(w http.ResponseWriter, r *http.Request) error {
	r.Body = http.MaxBytesReader(w, r.Body, 4<<10)
	if err := r.ParseForm(); err != nil {
		return formFault(err)
	}
	if s.deps.Instance().File == "" {
		return refuse(http.StatusConflict, "there is no file to read again: shadowdiff was started without -config")
	}
	s.deps.Reload(context.WithoutCancel(r.Context()), "page")
	s.goBack(w, r)
	return nil
}
