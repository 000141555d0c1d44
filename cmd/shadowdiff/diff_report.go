package main

import (
	"bufio"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"

	"shadowdiff/diff"
	"shadowdiff/multicast"
	"shadowdiff/normalize"
)

// diffReport is diff's answer; its JSON is public.
type diffReport struct {
	Equal       bool               `json:"equal"`
	Differences []diff.Difference  `json:"differences"`
	Noise       *[]diff.Difference `json:"noise,omitempty"`
	Cut         bool               `json:"cut,omitempty"` // there are more

	ignored     int // values that rules took away
	left, right *normalize.Document
	usage       []normalize.RuleUsage
}

func (r *diffReport) writeJSON(std stdio) error {
	if r.Differences == nil {
		r.Differences = []diff.Difference{}
	}
	if r.Noise != nil && *r.Noise == nil {
		r.Noise = &[]diff.Difference{}
	}
	return written(writeJSON(std.out, r))
}

func written(err error) error {
	if err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	return nil
}

// writePatch prints the operations as one JSON array, one a line. They are about the body alone.
func (r *diffReport) writePatch(n *normalize.Normalizer, c *diffCase, std stdio) error {
	plain, err := normalize.New(normalize.Config{})
	if err != nil {
		return err
	}
	ops, err := diff.NewPatcher(n, plain, diffLimits()).Patch(c.route, c.answers[multicast.Primary], c.answers[multicast.Candidate])
	if err != nil {
		return err
	}
	out := bufio.NewWriter(std.out)
	out.WriteString("[")
	for i := range ops {
		if i > 0 {
			out.WriteString(",")
		}
		out.WriteString("\n")
		out.Write(ops[i].AppendJSON(nil))
	}
	if len(ops) > 0 {
		out.WriteString("\n")
	}
	out.WriteString("]\n")
	elsewhere := map[string]bool{}
	for _, d := range r.Differences {
		if !isBody(d) {
			elsewhere[d.Field] = true
		}
	}
	if len(elsewhere) > 0 {
		fmt.Fprintf(std.err, "shadowdiff diff: a patch is about the body; these differ too: %s\n", strings.Join(slices.Sorted(maps.Keys(elsewhere)), ", "))
	}
	return written(out.Flush())
}

// isBody tells whether a difference is in the body.
func isBody(d diff.Difference) bool { return d.LeftPointer != nil || d.RightPointer != nil }

func (r *diffReport) writeText(std stdio, c *diffCase) error {
	var noise map[string]diff.Level
	if r.Noise != nil {
		noise = map[string]diff.Level{}
		for _, d := range *r.Noise {
			noise[d.Field] = max(noise[d.Field], d.Kind.Level())
		}
	}
	out := bufio.NewWriter(std.out)
	if !r.Equal {
		fmt.Fprintf(out, "--- left:  %s\n+++ right: %s\n\n", called(c.left), called(c.right))
	}
	e := diff.Explanation{Noise: noise, Color: colored(std), Left: &r.left.Body, Right: &r.right.Body}
	if err := e.Write(out, r.Differences); err != nil {
		return written(err)
	}
	fmt.Fprintln(out, r.summary(noise))
	for _, u := range r.usage {
		if idle := idleness(u); idle != "" {
			fmt.Fprintf(out, "rules[%d] (%s) %s\n", u.Index, u.Rule, idle)
		}
	}
	return written(out.Flush())
}

// idleness says why a rule asserts nothing here; it is empty for one that has done something, and left something.
func idleness(u normalize.RuleUsage) string {
	switch {
	case u.Documents == 0:
		return "is not for these answers"
	case u.Matched == 0:
		return "matches nothing here"
	case u.Whole > 0:
		return "takes the whole body away"
	}
	return ""
}

// called is a side's name.
func called(file string) string {
	if file == "-" {
		return "standard input"
	}
	return file
}

// summary is the last line.
func (r *diffReport) summary(noise map[string]diff.Level) string {
	fields, noisy := map[string]diff.Level{}, 0
	for _, d := range r.Differences {
		fields[d.Field] = max(fields[d.Field], d.Kind.Level())
	}
	for field, level := range fields {
		if noise[field] >= level {
			noisy++
		}
	}
	text := "equal"
	if !r.Equal {
		text = fmt.Sprintf("different: %s at %s", plural(len(fields), "field"), plural(len(r.Differences), "place"))
		if r.Cut {
			text += ", and more that are not listed"
		}
		if noise != nil {
			text += fmt.Sprintf("; %d of them noise", noisy)
		}
	}
	others := 0
	for field := range noise {
		if fields[field] == 0 {
			others++
		}
	}
	if others > 0 {
		text += fmt.Sprintf("; the secondary differs in %s besides", plural(others, "field"))
	}
	if r.ignored > 0 {
		text += fmt.Sprintf("; %s ignored by rules", plural(r.ignored, "value"))
	}
	return text
}

// plural counts things: "1 field", "1,201 fields".
func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return humanize.Comma(int64(n)) + " " + word + "s"
}

// colored says whether the answer goes to a terminal that may show colours (https://no-color.org).
func colored(std stdio) bool {
	return isTerminal(std.out) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}
