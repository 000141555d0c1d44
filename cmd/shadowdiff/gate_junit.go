package main

import (
	"cmp"
	"context"
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/dustin/go-humanize"

	"shadowdiff/diff"
)

// junitSuites is a JUnit report as GitLab and Jenkins read it: one test for the verdict, and one for each route.
type junitSuites struct {
	XMLName xml.Name     `xml:"testsuites"`
	Name    string       `xml:"name,attr"`
	Suites  []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name      string      `xml:"name,attr"`
	Tests     int         `xml:"tests,attr"`
	Failures  int         `xml:"failures,attr"`
	Errors    int         `xml:"errors,attr"`
	Skipped   int         `xml:"skipped,attr"`
	Time      string      `xml:"time,attr"`
	Timestamp string      `xml:"timestamp,attr"`
	Cases     []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string       `xml:"classname,attr"`
	Name    string       `xml:"name,attr"`
	Time    string       `xml:"time,attr"`
	Failure *junitResult `xml:"failure"`
	Error   *junitResult `xml:"error"`
	Skipped *junitResult `xml:"skipped"`
}

type junitResult struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",cdata"`
}

// saveJUnit writes the report, also of what is undecided or in trouble.
func (g *gate) saveJUnit(out *outcome) error {
	s := out.last
	if s != nil && s.routes == nil && len(s.services) == 1 {
		ctx, cancel := context.WithTimeout(context.Background(), answerTime)
		defer cancel()
		if routes, err := g.client.routes(ctx, s.services[0]); err == nil { // else it has the verdict alone
			s.routes = routes
		}
	}
	report := junitSuites{Name: "shadowdiff", Suites: []junitSuite{g.suite(out)}}
	return replaceFile(g.junit, func(w io.Writer) error {
		if _, err := io.WriteString(w, xml.Header); err != nil {
			return err
		}
		enc := xml.NewEncoder(w)
		enc.Indent("", "  ")
		if err := enc.Encode(report); err != nil {
			return err
		}
		_, err := io.WriteString(w, "\n")
		return err
	})
}

func (g *gate) suite(out *outcome) junitSuite {
	took := fmt.Sprintf("%.3f", out.ended.Sub(out.started).Seconds())
	suite := junitSuite{Name: "shadowdiff", Time: took, Timestamp: out.started.UTC().Format("2006-01-02T15:04:05")}
	whole := junitCase{Class: "shadowdiff", Name: cmp.Or(g.route, "verdict"), Time: took}
	switch {
	case out.trouble != nil:
		whole.Error = &junitResult{Message: out.trouble.Error(), Type: "trouble"}
		if out.last != nil {
			whole.Error.Text = textOf(out.last)
		}
	case out.code != exitEquivalent:
		v := out.last.verdict
		whole.Failure = &junitResult{Message: string(v.Word) + ": " + firstReason(v), Type: string(v.Word), Text: textOf(out.last)}
	}
	suite.Cases = append(suite.Cases, whole)
	if out.last != nil {
		suite.Name = "shadowdiff " + g.judged(out.last)
		suite.Cases = append(suite.Cases, g.routeCases(out.last)...)
	}
	for _, c := range suite.Cases {
		suite.Tests++
		switch {
		case c.Failure != nil:
			suite.Failures++
		case c.Error != nil:
			suite.Errors++
		case c.Skipped != nil:
			suite.Skipped++
		}
	}
	return suite
}

// firstReason is the one that weighs most.
func firstReason(v *diff.Verdict) string {
	if len(v.Reasons) == 0 {
		return "no reason was given"
	}
	return v.Reasons[0]
}

// routeCases are the routes: one that is undecided is skipped, since the verdict of the run is what counts.
func (g *gate) routeCases(s *state) (cases []junitCase) {
	if g.route != "" {
		return nil
	}
	for _, v := range s.routes {
		c := junitCase{Class: "shadowdiff.routes", Name: *v.Route, Time: "0"}
		switch v.Word {
		case diff.Different:
			own := differencesOf(s, *v.Route)
			c.Failure = &junitResult{Message: plural(len(own), "confirmed difference"), Type: "different", Text: strings.Join(own, "\n")}
		case diff.Equivalent:
		default:
			c.Skipped = &junitResult{Message: "undecided on " + humanize.Comma(v.Compared) + " compared requests"}
		}
		cases = append(cases, c)
	}
	return cases
}

// differencesOf are the confirmed differences of a route, a line each.
func differencesOf(s *state, route string) (lines []string) {
	for _, f := range confirmedOf(s.verdict) {
		if f.Route == route {
			lines = append(lines, fmt.Sprintf("%s (%s): %s\n  %s", f.Field, f.Kind, countsOf(f), s.pageOf(f)))
		}
	}
	return lines
}

// textOf is what the log would say.
func textOf(s *state) string {
	var text strings.Builder
	printState(&text, s)
	return text.String()
}
