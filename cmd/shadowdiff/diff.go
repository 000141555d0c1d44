package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/mattn/go-isatty"

	"shadowdiff/diff"
	"shadowdiff/multicast"
	"shadowdiff/normalize"
)

// exitDifferent is diff's answer when the two sides differ, as diff(1)'s.
const exitDifferent = 1

// diffOptions are the flags of diff.
type diffOptions struct {
	rules, contentType, secondary, caseFile, route string
	http, json                                     bool
}

func runDiff(args []string, std stdio) int {
	var o diffOptions
	fs := newFlagSet("diff", `
Usage: shadowdiff diff [FLAGS] LEFT RIGHT

Compares two response bodies as the service would: numbers by value, objects without regard to order, arrays aligned,
text by lines, all else by length and hash. LEFT and RIGHT are files, and one of them may be -, standard input. A line
with "-" shows what the left has, one with "+" what the right has.

  shadowdiff diff old.json new.json
  curl -s http://127.0.0.1:9003/items/1 | shadowdiff diff saved.json -
  shadowdiff diff -http -secondary again.http old.http new.http     # each saved by: curl -i --raw URL

Exit code 0 when they are equal, 1 when they differ (in noise too: one answer cannot tell what is noise), 2 when there
was trouble.`)
	fs.StringVar(&o.rules, "rules", "", "a `FILE` with the list that stands under rules: in a configuration")
	fs.StringVar(&o.contentType, "content-type", "", "the bodies' content `TYPE`; otherwise by the files' names (.json, .ndjson) and what they hold")
	fs.BoolVar(&o.http, "http", false, "compare whole HTTP/1.1 responses, as curl -i --raw saves them, with status and headers")
	fs.StringVar(&o.secondary, "secondary", "", "a `FILE` with a second answer like the left one: where they differ is noise")
	fs.StringVar(&o.route, "route", "", "the `ROUTE`, such as \"GET /items/1\", for rules that hold on some routes only")
	fs.BoolVar(&o.json, "json", false, "one JSON object instead of text")
	fs.StringVar(&o.caseFile, "case", "", "a `FILE` that a sample page exports (not yet supported)")
	if code, done := parse(fs, args, std); done {
		return code
	}
	if err := o.check(fs.Args()); err != nil {
		fmt.Fprintf(std.err, "shadowdiff diff: %s\n", err)
		return exitTrouble
	}
	n, faults := readRules(o.rules)
	if len(faults) > 0 {
		for _, f := range faults {
			fmt.Fprintln(std.err, f.line("diff"))
		}
		return exitTrouble
	}
	code, err := o.compare(n, fs.Arg(0), fs.Arg(1), std)
	if err != nil {
		fmt.Fprintf(std.err, "shadowdiff diff: %s\n", err)
		return exitTrouble
	}
	return code
}

// check says what is wrong with how diff was called.
func (o *diffOptions) check(files []string) error {
	stdin := 0
	for _, file := range append([]string{o.secondary}, files...) {
		if file == "-" {
			stdin++
		}
	}
	switch {
	case o.caseFile != "":
		return errors.New("-case is not yet supported in this version")
	case len(files) != 2:
		return fmt.Errorf("two files are compared, LEFT and RIGHT, and %d are named; flags stand before them", len(files))
	case stdin > 1:
		return errors.New("standard input (-) can be one side only")
	case o.http && o.contentType != "":
		return errors.New("-content-type and -http exclude each other: with -http the responses tell it")
	}
	return nil
}

// compare reads the answers, compares and prints.
func (o *diffOptions) compare(n *normalize.Normalizer, left, right string, std stdio) (code int, err error) {
	primary, err := o.document(n, multicast.Primary, left, std)
	if err != nil {
		return exitTrouble, err
	}
	candidate, err := o.document(n, multicast.Candidate, right, std)
	if err != nil {
		return exitTrouble, err
	}
	limits := diff.DefaultLimits()
	limits.Differences = 100_000
	var r diffReport
	r.Differences, r.Cut = diff.Compare(primary, candidate, limits)
	r.Equal = len(r.Differences) == 0
	if o.secondary != "" {
		secondary, err := o.document(n, multicast.Secondary, o.secondary, std)
		if err != nil {
			return exitTrouble, err
		}
		noise, _ := diff.Compare(primary, secondary, limits)
		r.Noise = &noise
	}
	if o.json {
		err = r.writeJSON(std)
	} else {
		ignored := primary.Body.Ignored + candidate.Body.Ignored
		err = r.writeText(std, left, right, ignored)
	}
	if err != nil {
		return exitTrouble, fmt.Errorf("write the answer: %w", err)
	}
	if r.Equal {
		return exitOK, nil
	}
	return exitDifferent, nil
}

// diffReport is diff's answer; its JSON is public.
type diffReport struct {
	Equal       bool               `json:"equal"`
	Differences []diff.Difference  `json:"differences"`
	Noise       *[]diff.Difference `json:"noise,omitempty"`
	Cut         bool               `json:"cut,omitempty"` // there are more
}

func (r *diffReport) writeJSON(std stdio) error {
	if r.Differences == nil {
		r.Differences = []diff.Difference{}
	}
	if r.Noise != nil && *r.Noise == nil {
		r.Noise = &[]diff.Difference{}
	}
	enc := json.NewEncoder(std.out)
	enc.SetEscapeHTML(false)
	return enc.Encode(r)
}

func (r *diffReport) writeText(std stdio, left, right string, ignored int) error {
	var noise map[string]diff.Level
	if r.Noise != nil {
		noise = map[string]diff.Level{}
		for _, d := range *r.Noise {
			noise[d.Field] = max(noise[d.Field], d.Kind.Level())
		}
	}
	if !r.Equal {
		if _, err := fmt.Fprintf(std.out, "--- %s\n+++ %s\n\n", left, right); err != nil {
			return err
		}
	}
	e := diff.Explanation{Noise: noise, Color: colored(std)}
	if err := e.Write(std.out, r.Differences); err != nil {
		return err
	}
	_, err := fmt.Fprintln(std.out, r.summary(noise, ignored))
	return err
}

// summary is the last line.
func (r *diffReport) summary(noise map[string]diff.Level, ignored int) string {
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
	if ignored > 0 {
		text += fmt.Sprintf("; %s ignored by rules", plural(ignored, "value"))
	}
	return text
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

// colored says whether the answer goes to a terminal that may show colours (https://no-color.org).
func colored(std stdio) bool {
	file, ok := std.out.(*os.File)
	return ok && isatty.IsTerminal(file.Fd()) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// contentTypeOf tells what a file holds by its name.
func contentTypeOf(file string) string {
	switch {
	case strings.HasSuffix(file, ".json"):
		return "application/json"
	case strings.HasSuffix(file, ".ndjson"), strings.HasSuffix(file, ".jsonl"):
		return "application/x-ndjson"
	}
	return ""
}
