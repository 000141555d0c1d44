package web

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"shadowdiff/diff"
	"shadowdiff/multicast"
	"shadowdiff/store"
)

// What a report holds at most, so that it stays below 1 MiB, whatever was measured. It says what it leaves out.
const (
	reportDifferences = 200
	reportExamples    = 60 // differences with an excerpt of a kept exchange
	reportRoutes      = 1000
	reportNotJudged   = 200
	reportRules       = 100
	reportExcerpt     = 240 // characters of one value
	reportName        = 200 // characters of a route or a field
)

// report is GET /api/v1/report as JSON; the HTML is made of the same.
type report struct {
	Form     int       `json:"version"` // of this form: 1
	Program  string    `json:"program"` // version of shadowdiff
	Made     time.Time `json:"made"`
	AsOf     time.Time `json:"as_of"` // up to which was counted
	Sentence string    `json:"sentence"`
	Page     string    `json:"page"`
	equivalenceAnswer
	Examples      []reportExample     `json:"examples"`
	Routes        []reportRoute       `json:"routes"`
	LeftOut       reportLeftOut       `json:"left_out"`
	Counters      multicast.Counts    `json:"counters"` // of the run
	Configuration reportConfiguration `json:"configuration"`

	lost lostView
}

// reportExample is one place of a kept exchange, redacted, where a confirmed difference shows.
type reportExample struct {
	Route     string    `json:"route"`
	Field     string    `json:"field"`
	Sample    int64     `json:"sample"`
	Time      time.Time `json:"time"`
	Request   string    `json:"request"` // method and target
	Pointer   string    `json:"pointer"` // RFC 6901, into the primary's body
	Values    [3]string `json:"-"`
	Absent    [3]bool   `json:"-"`
	Primary   *string   `json:"primary"` // null: it is not there
	Control   *string   `json:"secondary"`
	Candidate *string   `json:"candidate"`
}

type reportRoute struct {
	Route        string     `json:"route"`
	Word         diff.Word  `json:"verdict"`
	Compared     int64      `json:"compared"`
	RawRate      float64    `json:"raw_rate"`
	NoiseRate    *float64   `json:"noise_rate"` // null: no secondary was asked
	Excess       float64    `json:"excess"`
	ExcessBounds [2]float64 `json:"excess_interval"`
	Confirmed    int        `json:"confirmed_differences"`
}

// reportLeftOut counts what there was no room for.
type reportLeftOut struct {
	Differences int `json:"differences"`
	Routes      int `json:"routes"`
	NotJudged   int `json:"not_judged"`
	Rules       int `json:"rules"`
}

// reportConfiguration is what the run was measured under, without secrets. Addresses other than the candidate's, the rate
// and the rules are those in force now.
type reportConfiguration struct {
	Primary   string   `json:"primary"`
	Secondary string   `json:"secondary"`
	Candidate string   `json:"candidate"`
	Enabled   bool     `json:"enabled"`
	Sample    string   `json:"sample"`
	Judging   Judging  `json:"verdict"`
	Rules     []string `json:"rules"` // YAML; of the run in force alone
}

// report answers GET /api/v1/report: one page that stands alone, or JSON.
func (s *Server) report(w http.ResponseWriter, r *http.Request) error {
	q, err := readQuery(r, "run", "format")
	if err != nil {
		return err
	}
	html, err := wantsHTML(r, q)
	if err != nil {
		return err
	}
	snap, err := s.snapshotOf(r, q)
	if err != nil {
		return err
	}
	rep, err := s.reportOf(r.Context(), snap, s.reachedAt(r))
	if err != nil {
		return err
	}
	w.Header().Add("Vary", "Accept")
	if !html {
		return writeJSON(w, rep)
	}
	return s.writeReport(w, rep)
}

// wantsHTML reads the form asked for: by name, or else by Accept, where a browser asks for HTML.
func wantsHTML(r *http.Request, q query) (bool, error) {
	switch q.text("format") {
	case "html":
		return true, nil
	case "json":
		return false, nil
	case "":
		return !strings.Contains(r.Header.Get("Accept"), "application/json"), nil
	}
	return false, refuse(http.StatusBadRequest, "format=%q: give html or json", q.text("format"))
}

// reachedAt is where people reach the dashboard.
func (s *Server) reachedAt(r *http.Request) string {
	if s.cfg.BaseURL != "" {
		return strings.TrimRight(s.cfg.BaseURL, "/")
	}
	return "http://" + r.Host
}

func (s *Server) reportOf(ctx context.Context, snap *store.Snapshot, address string) (*report, error) {
	confirmed, v := true, snap.Verdict
	rep := &report{
		Form: 1, Program: s.deps.Version, Made: time.Now().UTC(), AsOf: snap.Time, Sentence: sentence(v, ""), Page: address + "/",
		equivalenceAnswer: equivalenceOf(snap.Run, v, &confirmed, reportDifferences),
		Counters:          snap.Counters, Configuration: s.reportConfiguration(snap),
		lost: lostOf(snap.Counters, multicast.Counts{}),
	}
	rep.LeftOut.Differences = confirmedIn(v) - len(rep.Differences)
	rep.NotJudged, rep.LeftOut.NotJudged = most(rep.NotJudged, reportNotJudged)
	rep.Configuration.Rules, rep.LeftOut.Rules = most(rep.Configuration.Rules, reportRules)
	rep.Routes, rep.LeftOut.Routes = most(reportRoutesOf(v), reportRoutes)
	for i := range rep.Differences {
		f := &rep.Differences[i]
		f.Route, f.Field = shorten(f.Route, reportName), shorten(f.Field, reportName)
	}
	for i := range rep.NotJudged {
		n := &rep.NotJudged[i]
		n.Route, n.Field = shorten(n.Route, reportName), shorten(n.Field, reportName)
	}
	var err error
	rep.Examples, err = s.reportExamples(ctx, v)
	return rep, err
}

// Report is GET /api/v1/report of a run, in a format: html or json. The address is where people reach the dashboard.
func (s *Server) Report(ctx context.Context, run int64, format, address string) ([]byte, error) {
	snap, err := s.deps.DB.RunSnapshot(ctx, run)
	if err != nil {
		return nil, err
	}
	rep, err := s.reportOf(ctx, snap, address)
	switch {
	case err != nil:
		return nil, err
	case format == "json":
		return encode(rep)
	}
	return renderReport(rep)
}

// most keeps so many of a list and tells how many are left out. The list is never nil.
func most[T any](list []T, n int) (kept []T, leftOut int) {
	if list == nil {
		list = []T{}
	}
	if len(list) <= n {
		return list, 0
	}
	return slices.Clone(list[:n]), len(list) - n
}

// shorten cuts a text to so many characters.
func shorten(text string, n int) string {
	if r := []rune(text); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return text
}

// reportRoutesOf lists the routes, the different ones first, then by traffic.
func reportRoutesOf(v *diff.Verdict) []reportRoute {
	var rows []reportRoute
	for _, r := range v.Routes {
		if r.Route == nil {
			continue
		}
		rows = append(rows, reportRoute{
			Route: shorten(*r.Route, reportName), Word: r.Word, Compared: r.Compared, RawRate: r.RawRate, NoiseRate: noiseRate(r),
			Excess: r.Excess, ExcessBounds: r.ExcessBounds, Confirmed: confirmedIn(r),
		})
	}
	gravity := map[diff.Word]int{diff.Different: 0, diff.Undecided: 1, diff.Equivalent: 2}
	slices.SortStableFunc(rows, func(a, b reportRoute) int {
		if d := gravity[a.Word] - gravity[b.Word]; d != 0 {
			return d
		}
		return int(b.Compared - a.Compared)
	})
	return rows
}

// reportExamples finds a place for each confirmed difference in an exchange that was kept, as far as there is room. Values
// were redacted before they were kept.
func (s *Server) reportExamples(ctx context.Context, v *diff.Verdict) ([]reportExample, error) {
	examples := []reportExample{}
	for _, f := range v.Differences {
		if len(examples) == reportExamples {
			break
		}
		if !f.Confirmed || len(f.Samples) == 0 {
			continue
		}
		sample, err := s.deps.DB.Sample(ctx, f.Samples[0])
		if errors.Is(err, store.ErrNotFound) {
			continue // it has made room for others since
		}
		if err != nil {
			return nil, err
		}
		if e, found := exampleIn(sample, f); found {
			examples = append(examples, e)
		}
	}
	return examples, nil
}

// exampleIn is the first place of a field in a sample.
func exampleIn(sample *store.Sample, f diff.Finding) (e reportExample, found bool) {
	for _, p := range placesViewOf(sample) {
		if p.Field != f.Field {
			continue
		}
		e = reportExample{
			Route: shorten(f.Route, reportName), Field: shorten(f.Field, reportName), Sample: sample.ID, Time: sample.Time, Pointer: shorten(p.Pointer, reportName),
			Request: shorten(sample.Request.Method+" "+sample.Request.Target, reportExcerpt), Absent: p.Absent,
		}
		for side, value := range p.Values {
			e.Values[side] = shorten(value, reportExcerpt)
			if !p.Absent[side] {
				*[3]**string{primary: &e.Primary, control: &e.Control, candidate: &e.Candidate}[side] = &e.Values[side]
			}
		}
		return e, true
	}
	return e, false
}

func (s *Server) reportConfiguration(snap *store.Snapshot) reportConfiguration {
	targets, state := s.deps.Instance().Targets, s.deps.Proxy.Shadowing()
	c := reportConfiguration{
		Primary: targets.Primary, Secondary: targets.Secondary, Candidate: snap.Run.Candidate,
		Enabled: state.Enabled, Sample: shareText(state.Sample), Judging: Judging(s.deps.Judge()), Rules: []string{},
	}
	if snap.Run.Ended == nil && s.deps.Rules != nil {
		for _, rule := range s.deps.Rules() {
			if text, err := rule.Config.YAML(); err == nil { // it was read from YAML
				c.Rules = append(c.Rules, text)
			}
		}
	}
	return c
}
