package web

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"html/template"
	"net/http"
	"strings"
)

// reportPage is the report in words.
type reportPage struct {
	*report
	Style template.CSS
}

// renderReport renders the page. It is read from a disk as well, so it brings its style along.
func renderReport(rep *report) ([]byte, error) {
	set, style, err := reportTemplate()
	if err != nil {
		return nil, fmt.Errorf("render the report: %w", err)
	}
	var page bytes.Buffer
	if err := set.ExecuteTemplate(&page, "report", reportPage{report: rep, Style: style}); err != nil {
		return nil, fmt.Errorf("render the report: %w", err)
	}
	return page.Bytes(), nil
}

// writeReport sends the page. Nothing but its own style is allowed to it.
func (s *Server) writeReport(w http.ResponseWriter, rep *report) error {
	page, err := renderReport(rep)
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Disposition", fmt.Sprintf(`inline; filename="shadowdiff-run-%d.html"`, rep.Run.ID))
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'sha256-"+styleDigest(page)+
		"'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	_, _ = w.Write(page) // the reader is gone: nobody to tell
	return nil
}

// styleDigest is that of what stands in the page's one style element.
func styleDigest(page []byte) string {
	_, rest, _ := bytes.Cut(page, []byte("<style>"))
	style, _, _ := bytes.Cut(rest, []byte("</style>"))
	sum := sha256.Sum256(style)
	return base64.StdEncoding.EncodeToString(sum[:])
}

// reportTemplate is read anew each time: reports are seldom asked for.
func reportTemplate() (*template.Template, template.CSS, error) {
	style, err := templateFiles.ReadFile("templates/report.css")
	if err != nil {
		return nil, "", err
	}
	set, err := template.New("").Funcs(helpers()).ParseFS(templateFiles, "templates/parts.html", "templates/report.html")
	return set, template.CSS(style), err
}

// Base is the dashboard's address, without a slash at its end.
func (p reportPage) Base() string { return strings.TrimRight(p.Page, "/") }

// Facts are the figures beside the sentence.
func (p reportPage) Facts() factsView { return factsOf(&p.Verdict) }

// Lost is what was not looked at.
func (p reportPage) Lost() lostView { return p.lost }

// Because are the reasons of the verdict, as sentences.
func (p reportPage) Because() []string { return reasonsOf(p.Reasons, false) }

// Beside are what the reasons say that is no part of the verdict, as sentences.
func (p reportPage) Beside() []string { return reasonsOf(p.Reasons, true) }

// reasonsOf are the reasons that stand beside the verdict, or those that do not.
func reasonsOf(reasons []string, beside bool) (list []string) {
	for _, reason := range reasons {
		if text, is := strings.CutPrefix(reason, "beside the verdict: "); is == beside {
			list = append(list, reasonOf(text))
		}
	}
	return list
}

// Deciding are the confirmed differences that the verdict rests on, each with its example.
func (p reportPage) Deciding() []reportFinding { return p.findings(false) }

// Informing are those that decide nothing.
func (p reportPage) Informing() []reportFinding { return p.findings(true) }

func (p reportPage) findings(informing bool) (list []reportFinding) {
	for _, f := range p.Differences {
		if f.Informs != informing {
			continue
		}
		view := reportFinding{findingView: findingOf(f, p.Budget)}
		if f.Compared > 0 {
			view.Excess = between(f.ExcessBounds[0], f.ExcessBounds[1])
		}
		for i := range p.Examples {
			if e := &p.Examples[i]; e.Route == f.Route && e.Field == f.Field {
				view.Example = e
				break
			}
		}
		list = append(list, view)
	}
	return list
}

// reportPart is what the part "finding" of a report is handed.
type reportPart struct {
	Base    string
	Finding reportFinding
}

// At hands a finding to its part.
func (p reportPage) At(f reportFinding) reportPart { return reportPart{p.Base(), f} }

type reportFinding struct {
	findingView
	Excess  string
	Example *reportExample
}

// Rows are the routes in words.
func (p reportPage) Rows() (list []reportRow) {
	for _, r := range p.Routes {
		list = append(list, reportRow{
			reportRoute: r, Candidate: shareOf(r.RawRate, r.Compared), Control: noControl,
			Excess: between(r.ExcessBounds[0], r.ExcessBounds[1]),
		})
		if r.NoiseRate != nil {
			list[len(list)-1].Control = shareOf(*r.NoiseRate, r.Compared)
		}
	}
	return list
}

type reportRow struct {
	reportRoute
	Candidate, Control, Excess string
}

// Noisy are the fields and routes that were not judged, in words.
func (p reportPage) Noisy() []notJudgedView { return notJudgedOf(&p.Verdict) }

// Keys are the `verdict:` part of the configuration.
func (p reportPage) Keys() []string {
	j := p.Configuration.Judging
	keys := []string{
		"alpha " + plain(j.Alpha), "budget " + j.Budget.String(), "at least " + things(j.MinCompared, "request"),
	}
	if j.MinDuration > 0 {
		keys = append(keys, "for at least "+j.MinDuration.String())
	}
	if j.MaxLatencyRatio > 0 {
		keys = append(keys, fmt.Sprintf("p99 at most %g times the control's", j.MaxLatencyRatio))
	}
	if j.Strict {
		keys = append(keys, "strict: any confirmed difference decides")
	}
	return keys
}

// Side is an example's value, and whether it is another than the primary's.
func (e *reportExample) Side(side int) reportSide {
	return reportSide{e.Values[side], e.Absent[side], e.Values[side] != e.Values[primary] || e.Absent[side] != e.Absent[primary]}
}

// Sides are the three values in the order in which they are shown.
func (e *reportExample) Sides() []namedSide {
	return []namedSide{{"primary", e.Side(primary)}, {"control", e.Side(control)}, {"candidate", e.Side(candidate)}}
}

type namedSide struct {
	Name string
	reportSide
}

type reportSide struct {
	Text    string
	Absent  bool
	Differs bool
}
