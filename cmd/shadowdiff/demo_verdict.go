package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"shadowdiff/diff"
	"shadowdiff/fixtures"

	"github.com/dustin/go-humanize"
)

// demoVerdict is the verdict beside what it should be.
type demoVerdict struct {
	*diff.Verdict
	faults []fixtures.Fault // the candidate's
	served fixtures.TrafficCounts
}

// print writes the verdict as a person wants to read it.
func (v demoVerdict) print(w io.Writer) {
	fmt.Fprintf(w, "%s, on %s compared requests.\n\n", strings.ToUpper(string(v.Word)), humanize.Comma(v.Compared))
	for _, reason := range v.Reasons {
		fmt.Fprintf(w, "  - %s\n", reason)
	}
	fmt.Fprintf(w, "\nClients: %v.\n", v.served)
	confirmed := confirmedOf(v.Verdict)
	if len(confirmed) == 0 {
		fmt.Fprintln(w, "No difference is confirmed.")
	} else {
		v.printTable(w, confirmed)
	}
	v.printOutcome(w, confirmed)
}

func (v demoVerdict) printTable(w io.Writer, confirmed []diff.Finding) {
	slices.SortFunc(confirmed, func(a, b diff.Finding) int {
		return strings.Compare(a.Route+" "+a.Field, b.Route+" "+b.Field)
	})
	fmt.Fprint(w, "\nConfirmed differences:\n\n")
	tw := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintln(tw, "  ROUTE\tFIELD\tTEST\tCANDIDATE AGAINST CONTROL\tFAULT")
	for _, f := range confirmed {
		fmt.Fprintf(tw, "  %s\t%s\t%s\t%s\t%s\n", cmp.Or(f.Route, "all routes together"), f.Field, f.Kind, counts(f), v.faultOf(f))
	}
	tw.Flush()
}

// counts says what the two counts of a test mean.
func counts(f diff.Finding) string {
	words := "differs in %s, control in %s, of %s"
	switch {
	case f.Field == "latency":
		words = "slower in %s, not in %s, of %s"
	case f.Kind == diff.TestDrift:
		words = "greater in %s, less in %s, of %s"
	case f.Kind == diff.TestExtent:
		words = "more places in %s, fewer in %s, of %s"
	}
	return fmt.Sprintf(words, humanize.Comma(f.CandidateOnly), humanize.Comma(f.ControlOnly), humanize.Comma(f.Compared))
}

// faultOf names the fault that moves this field; there is none for noise.
func (v demoVerdict) faultOf(f diff.Finding) string {
	for _, fault := range v.faults {
		for _, e := range fault.Effects {
			if e.Route == f.Route && e.Field == f.Field {
				return fault.Name
			}
		}
	}
	return "none: noise taken for a difference"
}

// printOutcome compares what was found with what was put there.
func (v demoVerdict) printOutcome(w io.Writer, confirmed []diff.Finding) {
	var missed []fixtures.Fault
	for _, fault := range v.faults {
		if !slices.ContainsFunc(confirmed, func(f diff.Finding) bool { return v.faultOf(f) == fault.Name }) {
			missed = append(missed, fault)
		}
	}
	switch {
	case len(v.faults) == 0:
		fmt.Fprintln(w, "The candidate has no faults.")
	case len(missed) == 0:
		fmt.Fprintf(w, "\nAll %d faults of the candidate were found:\n\n", len(v.faults))
	default:
		fmt.Fprintf(w, "\n%d of the candidate's %d faults were found:\n\n", len(v.faults)-len(missed), len(v.faults))
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, fault := range v.faults {
		mark := "found"
		if slices.ContainsFunc(missed, func(m fixtures.Fault) bool { return m.Name == fault.Name }) {
			mark = "not yet"
		}
		fmt.Fprintf(tw, "  %s\t%s\t%s\n", fault.Name, mark, fault.Description)
	}
	tw.Flush()
}
