package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"shadowdiff/diff"
	"shadowdiff/multicast"
	"shadowdiff/replay"
	"shadowdiff/store"
	"shadowdiff/traffic"
)

// badLines names the first lines that hold no request.
type badLines struct {
	w    *screen
	told int64
}

const toldBad = 20

func (b *badLines) tell(bad *traffic.Bad) {
	if b.told++; b.told <= toldBad {
		b.w.line(bad.Error())
	}
}

func (b *badLines) end() {
	if more := b.told - toldBad; more > 0 {
		b.w.line(fmt.Sprintf("and %s more lines that hold no request", humanize.Comma(more)))
	}
}

// replayLine is less than 100 columns.
func replayLine(p replay.Progress, bar bool) string {
	line := fmt.Sprintf("%s asked, %.0f/s", humanize.Comma(p.Before+p.Asked), p.Rate)
	if p.Passes > 1 {
		line += fmt.Sprintf(", pass %d", p.Passes)
	}
	if p.Share >= 0 {
		line = fmt.Sprintf("%3.0f %%  %s", 100*p.Share, line)
		if bar {
			const width = 24
			full := int(min(max(p.Share, 0), 1) * width)
			line = "[" + strings.Repeat("=", full) + strings.Repeat(" ", width-full) + "] " + line
		}
	}
	if p.Left >= 0 && p.Asked > 0 {
		line += ", " + roughly(p.Left.Seconds()) + " left"
	}
	if p.Bad > 0 {
		line += fmt.Sprintf(", %s bad lines", humanize.Comma(p.Bad))
	}
	return line
}

// tell writes everything that was asked for.
func (p *player) tell(out *outcome) error {
	var faults []error
	if p.junit != "" {
		g := gate{std: p.std, junit: p.junit, run: p.name}
		faults = append(faults, g.saveJUnit(out))
	}
	if p.json {
		faults = append(faults, p.writeJSON(out))
	} else {
		p.print(out)
	}
	if out.trouble != nil {
		fmt.Fprintf(p.std.err, "shadowdiff replay: %s\n", out.trouble)
	}
	return errors.Join(faults...)
}

// print writes what a person wants to know: the verdict, what was asked, and what was not.
func (p *player) print(out *outcome) {
	w, s := p.std.out, out.last
	if s != nil && s.verdict.Compared > 0 {
		word := strings.ToUpper(string(s.verdict.Word))
		if out.trouble != nil {
			word = "so far: " + string(s.verdict.Word)
		}
		fmt.Fprintf(w, "%s: %s, on %s compared requests; took %s.\n\n", word, s.run(), humanize.Comma(s.verdict.Compared),
			out.ended.Sub(out.started).Round(100*time.Millisecond))
		printVerdict(w, s)
		fmt.Fprintln(w)
	}
	printReplayed(w, p.replay.Counts(), &p.what)
	if s != nil {
		fmt.Fprintf(w, "\nThe run has the id %d in %s; the dashboard shows it: shadowdiff serve -db %s ...\n", p.run.ID, p.cfg.Store.Path, p.cfg.Store.Path)
	}
}

// printReplayed says what became of all that the files hold.
func printReplayed(w io.Writer, c replay.Counts, what *replay.Config) {
	fmt.Fprintf(w, "Asked %s of %s requests, %s.", humanize.Comma(c.Asked), humanize.Comma(c.Read), what.Pace)
	if c.Before > 0 {
		fmt.Fprintf(w, " %s were asked before it was interrupted.", humanize.Comma(c.Before))
	}
	if what.Recorded {
		fmt.Fprint(w, " The recorded answers stood for the primary's.")
	}
	fmt.Fprintln(w)
	say := func(n int64, text string, args ...any) {
		if n > 0 {
			fmt.Fprintf(w, "  %10s  %s\n", humanize.Comma(n), fmt.Sprintf(text, args...))
		}
	}
	say(c.LeftOut[replay.LeftOutMethod], "left out: their method changes something (-methods names those that may be asked; now %s)", strings.Join(what.Choice.Methods, ", "))
	say(c.LeftOut[replay.LeftOutMatch], "left out: no -match fits")
	say(c.LeftOut[replay.LeftOutBody], "left out: the file does not have their bodies")
	say(c.LeftOut[replay.LeftOutAnswer], "left out: the file does not have their answers, which -against recorded needs")
	say(c.LeftOut[replay.LeftOutUpgrades]+c.LeftOut[string(multicast.ReasonUpgrade)], "left out: they asked for another protocol")
	say(c.LeftOut[string(multicast.ReasonRoute)], "left out: the configuration says shadow: false of their route")
	say(c.LeftOut[string(multicast.ReasonBodyTooLarge)], "left out: their bodies are over max_request_body")
	say(c.LeftOut[string(multicast.ReasonSignedIn)], "left out: they signed in on their connection")
	say(c.Bad, "lines left out: they hold no request")
	for _, reason := range slices.Sorted(maps.Keys(c.Unknown)) {
		say(c.Unknown[reason], "asked and not compared: %s", strings.ReplaceAll(string(reason), "_", " "))
	}
	for _, place := range slices.Sorted(maps.Keys(c.Redacted)) {
		text := "asked without %s, which was redacted when they were recorded (-header sends another)"
		if place == "query" || place == "body" {
			text = "asked with something redacted in the %s"
		}
		say(c.Redacted[place], text, place)
	}
	if c.Behind >= time.Second {
		fmt.Fprintf(w, "  The pace could not be kept: %s behind.\n", c.Behind.Round(time.Second))
	}
	if len(c.Hosts) > 1 {
		fmt.Fprintf(w, "  They were for %s; -match 'HOST/*' asks those for one.\n", hostsOf(c.Hosts))
	}
}

// hostsOf names the hosts that were asked for most.
func hostsOf(hosts map[string]int64) string {
	names := slices.SortedFunc(maps.Keys(hosts), func(a, b string) int {
		return cmp.Or(cmp.Compare(hosts[b], hosts[a]), cmp.Compare(a, b))
	})
	var all []string
	for _, name := range names[:min(len(names), 5)] {
		all = append(all, fmt.Sprintf("%s (%s)", cmp.Or(name, "no host"), humanize.Comma(hosts[name])))
	}
	if more := len(names) - len(all); more > 0 {
		all = append(all, fmt.Sprintf("%d more", more))
	}
	return strings.Join(all, ", ")
}

// replayJSON is what -json prints. docs/replay.md describes it.
type replayJSON struct {
	Exit    int           `json:"exit"`
	Word    diff.Word     `json:"verdict"` // empty: nothing was compared
	Trouble string        `json:"trouble,omitempty"`
	Started time.Time     `json:"started"`
	Ended   time.Time     `json:"ended"`
	Run     store.Run     `json:"run"`
	Replay  replayedJSON  `json:"replay"`
	Pages   []string      `json:"pages"`       // paths, one for each difference
	Answer  *diff.Verdict `json:"equivalence"` // as in GET /api/v1/equivalence, with confirmed differences alone
}

type replayedJSON struct {
	Read     int64                      `json:"read"`
	Bad      int64                      `json:"bad"`
	Before   int64                      `json:"asked_before"`
	Asked    int64                      `json:"asked"`
	Compared int64                      `json:"compared"`
	Unknown  map[multicast.Reason]int64 `json:"unknown"`
	LeftOut  map[string]int64           `json:"left_out"`
	Redacted map[string]int64           `json:"redacted"`
	Behind   float64                    `json:"behind"` // seconds
}

func (p *player) writeJSON(out *outcome) error {
	c := p.replay.Counts()
	j := replayJSON{
		Exit: out.code, Started: out.started.UTC(), Ended: out.ended.UTC(), Run: p.run, Pages: []string{},
		Replay: replayedJSON{c.Read, c.Bad, c.Before, c.Asked, c.Compared, c.Unknown, c.LeftOut, c.Redacted, c.Behind.Seconds()},
	}
	if out.trouble != nil {
		j.Trouble = out.trouble.Error()
	}
	if s := out.last; s != nil {
		j.Run = s.services[0].run
		j.Answer, j.Pages = s.forJSON()
		if s.verdict.Compared > 0 {
			j.Word = s.verdict.Word
		}
	}
	return writeJSON(p.std.out, j)
}
