package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/dustin/go-humanize"

	"shadowdiff/diff"
)

// gateLog tells on standard error how the wait goes: on a terminal in one line that is written anew, else in a line when
// something has changed, and one each half minute.
type gateLog struct {
	w        io.Writer
	terminal bool
	started  time.Time
	said     string    // the last line's matter
	at       time.Time // and when that was
	open     bool      // a line of the terminal is to be ended
	faulty   bool      // the last look has failed
	run      string
}

// tellEvery is the longest time without a line.
const tellEvery = 30 * time.Second

func newGateLog(w io.Writer, subject string, started time.Time) *gateLog {
	l := &gateLog{w: w, started: started, terminal: isTerminal(w)}
	l.line("waiting for the verdict of "+subject, "")
	return l
}

// seen tells of a look that had an answer.
func (l *gateLog) seen(s *state) {
	if l.faulty {
		l.faulty = false
		l.line("it answers again", "")
	}
	if run := s.run(); run != l.run {
		if l.run != "" {
			l.line(run+" has taken the place of "+l.run, "")
		}
		l.run = run
	}
	v := s.verdict
	line := fmt.Sprintf("%s: %s after %s compared requests", s.run(), v.Word, humanize.Comma(v.Compared))
	if more := forecast(s); more != "" {
		line += "; " + more
	}
	l.progress(line, string(v.Word)+s.run())
}

// failed tells of a look without an answer.
func (l *gateLog) failed(err error) {
	l.faulty = true
	l.progress(err.Error(), err.Error())
}

// progress says a line if its matter is another than that of the last, or the last is old.
func (l *gateLog) progress(line, matter string) {
	switch {
	case l.terminal:
		fmt.Fprintf(l.w, rewrite+"%s  %s", l.elapsed(), cutLine(line))
		l.open = true
	case matter != l.said || time.Since(l.at) >= tellEvery:
		l.line(line, matter)
	}
}

func (l *gateLog) line(line, matter string) {
	l.end()
	fmt.Fprintf(l.w, "%s  %s\n", l.elapsed(), line)
	l.said, l.at = matter, time.Now()
}

func (l *gateLog) elapsed() string {
	return fmt.Sprintf("%6s", time.Since(l.started).Truncate(time.Second))
}

// end closes a line that is being written anew.
func (l *gateLog) end() {
	if l.open {
		fmt.Fprint(l.w, rewrite)
		l.open = false
	}
}

// cutLine keeps a line from wrapping, after which it could not be written anew.
func cutLine(line string) string {
	if r := []rune(line); len(r) > 100 {
		return string(r[:99]) + "…"
	}
	return line
}

// forecast says how much is missing to a proof.
func forecast(s *state) string {
	more := s.verdict.MoreNeeded
	if more == nil || *more <= 0 || s.verdict.Word != diff.Undecided {
		return ""
	}
	text := "about " + humanize.Comma(rounded(*more)) + " more would prove it equivalent"
	if s.pace > 0 {
		text += ", at the pace so far in " + roughly(float64(*more)/s.pace)
	}
	return text
}

// rounded leaves two digits: a forecast is no more exact.
func rounded(n int64) int64 {
	unit := int64(1)
	for n/unit >= 100 {
		unit *= 10
	}
	return (n + unit - 1) / unit * unit
}

// roughly writes seconds in the largest unit that fits.
func roughly(seconds float64) string {
	switch {
	case seconds < 90:
		return fmt.Sprintf("%.0f s", max(seconds, 1))
	case seconds < 90*60:
		return fmt.Sprintf("%.0f min", seconds/60)
	case seconds < 48*3600:
		return fmt.Sprintf("%.0f h", seconds/3600)
	}
	return fmt.Sprintf("%.0f days", min(seconds/86400, 99_999))
}

// shownInText is how many confirmed differences the text lists.
const shownInText = 50

// printGate writes what a person wants to find in the log of CI.
func printGate(std stdio, g *gate, out *outcome) {
	waited := out.ended.Sub(out.started).Round(time.Second)
	if s := out.last; s != nil {
		word := strings.ToUpper(string(s.verdict.Word))
		if out.trouble != nil {
			word = "last seen: " + string(s.verdict.Word)
		}
		fmt.Fprintf(std.out, "%s: %s, on %s compared requests; waited %s.\n\n", word, g.judged(s), humanize.Comma(s.verdict.Compared), waited)
		printState(std.out, s)
		if out.code == exitUndecided && s.ended() {
			fmt.Fprintln(std.out, "\nThe run has ended: nothing more will come.")
		} else if out.code == exitUndecided {
			fmt.Fprintf(std.out, "\nThe time is over (-wait %s). Let it go on and ask again, or wait longer.\n", g.wait)
		}
	}
	if out.trouble != nil {
		fmt.Fprintf(std.err, "shadowdiff gate: %s\n", out.trouble)
	}
}

// judged names what the verdict is of.
func (g *gate) judged(s *state) string {
	of := s.run()
	if g.route != "" {
		of = g.route + " in " + of
	}
	return of
}

// printState writes what is said of a verdict, and of whom it was asked.
func printState(w io.Writer, s *state) {
	printVerdict(w, s)
	printDrops(w, s)
	fmt.Fprintln(w)
	for _, p := range s.services {
		fmt.Fprintf(w, "%s/  %s since %s, %s compared\n", p.url, runWord(p.run.Name), p.run.Started.UTC().Format(time.RFC3339), humanize.Comma(p.compared))
	}
}

// printVerdict writes what a person is to know of a verdict: its reasons, its numbers and its differences.
func printVerdict(w io.Writer, s *state) {
	v := s.verdict
	for _, reason := range v.Reasons {
		fmt.Fprintf(w, "  - %s\n", reason)
	}
	if more := forecast(s); more != "" {
		fmt.Fprintf(w, "  - %s\n", more)
	}
	if v.Compared > 0 {
		fmt.Fprintf(w, "\nEquivalence rate %s, between %s and %s. The candidate differs from the primary in %s of the requests, the control in %s.\n",
			exactly(v.Equivalence), exactly(v.EquivBounds[0]), exactly(v.EquivBounds[1]), exactly(v.RawRate), exactly(v.NoiseRate))
	}
	printConfirmed(w, s)
	printNotJudged(w, v)
}

// exactly writes a share with as many digits as a budget may have.
func exactly(share float64) string {
	text := strings.TrimRight(strings.TrimRight(fmt.Sprintf("%.3f", 100*share), "0"), ".")
	return text + " %"
}

// confirmedOf are the differences of a verdict that are confirmed.
func confirmedOf(v *diff.Verdict) []diff.Finding {
	return slices.DeleteFunc(slices.Clone(v.Differences), func(f diff.Finding) bool { return !f.Confirmed })
}

func printConfirmed(w io.Writer, s *state) {
	confirmed := confirmedOf(s.verdict)
	if len(confirmed) == 0 {
		fmt.Fprintln(w, "No difference is confirmed.")
		return
	}
	fmt.Fprint(w, "\nConfirmed differences:\n\n")
	tw := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintln(tw, "  ROUTE\tFIELD\tKIND\tCANDIDATE AGAINST CONTROL\tPAGE")
	for _, f := range confirmed[:min(len(confirmed), shownInText)] {
		fmt.Fprintf(tw, "  %s\t%s\t%s\t%s\t%s\n", cmp.Or(f.Route, "all routes together"), f.Field, f.Kind, countsOf(f), s.pageOf(f))
	}
	tw.Flush()
	if beyond := len(confirmed) - shownInText; beyond > 0 {
		fmt.Fprintf(w, "  and %s more\n", humanize.Comma(int64(beyond)))
	}
}

// countsOf adds to a difference's counts that it decides nothing.
func countsOf(f diff.Finding) string {
	if f.Informs {
		return counts(f) + " (informs only)"
	}
	return counts(f)
}

// printNotJudged names what the verdict cannot see.
func printNotJudged(w io.Writer, v *diff.Verdict) {
	if len(v.NotJudged) == 0 {
		return
	}
	var names []string
	for _, n := range v.NotJudged[:min(len(v.NotJudged), 5)] {
		switch {
		case n.Field == "":
			names = append(names, fmt.Sprintf("%s (too few requests: %s)", n.Route, humanize.Comma(n.Compared)))
		default:
			names = append(names, fmt.Sprintf("%s on %s (noise in %s)", n.Field, n.Route, exactly(n.NoiseRate)))
		}
	}
	if beyond := len(v.NotJudged) - len(names); beyond > 0 {
		names = append(names, humanize.Comma(int64(beyond))+" more")
	}
	fmt.Fprintf(w, "\nNot judged: %s.\n", strings.Join(names, "; "))
}

// printDrops says what the verdict is not on.
func printDrops(w io.Writer, s *state) {
	for _, p := range s.services {
		if p.drops.matter() {
			fmt.Fprintf(w, "\nNot looked at: at %s/ %s.\n", p.url, p.drops.text())
		}
	}
}
