package main

import (
	"errors"
	"fmt"

	"shadowdiff/diff"
	"shadowdiff/multicast"
	"shadowdiff/normalize"
)

// exitDifferent is diff's answer when the two sides differ, as diff(1)'s.
const exitDifferent = 1

// diffOptions are the flags of diff.
type diffOptions struct {
	rules, contentType, secondary, caseFile, saveCase, route string
	http, json, patch                                        bool
}

func runDiff(args []string, std stdio) int {
	var o diffOptions
	fs := newFlagSet("diff", `
Usage: shadowdiff diff [FLAGS] LEFT RIGHT
       shadowdiff diff [FLAGS] -case FILE

Compares two response bodies as the service would: numbers by value, objects without regard to order, arrays aligned,
HTML, XML and forms as trees, text by lines, all else by length and hash. LEFT and RIGHT are files, and one of them may
be -, standard input. A line with "-" shows what the left has, one with "+" what the right has. docs/comparing.md
explains the rest.

  shadowdiff diff old.json new.json
  curl -s http://127.0.0.1:9003/items/1 | shadowdiff diff saved.json -
  shadowdiff diff -rules rules.yaml old.json new.json
  shadowdiff diff -http -secondary again.http old.http new.http     # each saved by: curl -i --raw URL
  shadowdiff diff -patch old.json new.json                          # JSON Patch, with the old values

Exit code 0 when they are equal, 1 when they differ (in noise too: one answer cannot tell what is noise), 2 when there
was trouble.`)
	fs.StringVar(&o.rules, "rules", "", "a `FILE` with the list that stands under rules: in a configuration")
	fs.StringVar(&o.contentType, "content-type", "", "the bodies' content `TYPE`; otherwise by the files' names (.json, .ndjson, .html, .xml) and what they hold")
	fs.BoolVar(&o.http, "http", false, "compare whole HTTP/1.1 responses, as curl -i --raw saves them, with status and headers")
	fs.StringVar(&o.secondary, "secondary", "", "a `FILE` with a second answer like the left one: where they differ is noise")
	fs.StringVar(&o.route, "route", "", "the `ROUTE`, such as \"GET /items/1\", for rules that hold on some routes only")
	fs.BoolVar(&o.json, "json", false, "one JSON object instead of text")
	fs.BoolVar(&o.patch, "patch", false, "the operations that make the right body of the left (RFC 6902), instead of text")
	fs.StringVar(&o.caseFile, "case", "", "one `FILE` with the answers, the route and the rules, instead of LEFT and RIGHT")
	fs.StringVar(&o.saveCase, "save-case", "", "write all that is compared into a `FILE` for -case")
	if code, done := parseWithFiles(fs, args, std); done {
		return code
	}
	code, err := o.run(fs.Args(), std)
	if err != nil {
		var faults faultList
		if !errors.As(err, &faults) {
			faults = faultList{{message: err.Error()}}
		}
		for _, f := range faults {
			fmt.Fprintln(std.err, f.line("diff"))
		}
		return exitTrouble
	}
	return code
}

// faultList is an error that is told line by line.
type faultList []fault

func (l faultList) Error() string { return fmt.Sprintf("%d faults", len(l)) }

// check says what is wrong with how diff was called.
func (o *diffOptions) check(files []string) error {
	stdin := 0
	for _, file := range append([]string{o.secondary, o.caseFile, o.rules}, files...) {
		if file == "-" {
			stdin++
		}
	}
	switch {
	case o.caseFile != "" && len(files) > 0:
		return fmt.Errorf("-case has both sides in it: %q is one too many; flags stand before the files", files[0])
	case o.caseFile != "" && (o.http || o.contentType != "" || o.secondary != ""):
		return errors.New("-case has whole answers in it: it takes no -http, -content-type or -secondary")
	case o.caseFile == "" && len(files) != 2:
		return fmt.Errorf("two files are compared, LEFT and RIGHT, not %d; flags stand before them", len(files))
	case stdin > 1:
		return errors.New("standard input (-) can be one side only")
	case o.http && o.contentType != "":
		return errors.New("-content-type and -http exclude each other: with -http the responses tell it")
	case o.json && o.patch:
		return errors.New("-json and -patch exclude each other: both are for programs")
	case o.patch && o.secondary != "":
		return errors.New("-patch leads from the left to the right: it takes no -secondary")
	}
	return nil
}

// run reads what is to be compared, compares it and prints.
func (o *diffOptions) run(files []string, std stdio) (code int, err error) {
	if err := o.check(files); err != nil {
		return exitTrouble, err
	}
	var c *diffCase
	if o.caseFile != "" {
		c, err = o.readCase(std)
	} else {
		c, err = o.readFiles(files[0], files[1], std)
	}
	if err != nil {
		return exitTrouble, err
	}
	if o.saveCase != "" {
		if err := c.save(o.saveCase); err != nil {
			return exitTrouble, err
		}
	}
	n, err := normalize.New(c.config)
	if err != nil {
		return exitTrouble, fmt.Errorf("rules: %w", err)
	}
	r := c.compare(n)
	switch {
	case o.patch:
		err = r.writePatch(n, c, std)
	case o.json:
		err = r.writeJSON(std)
	default:
		err = r.writeText(std, c)
	}
	if err != nil {
		return exitTrouble, err
	}
	if r.Equal {
		return exitOK, nil
	}
	return exitDifferent, nil
}

// diffLimits are those of the service, but for what is listed.
func diffLimits() diff.Limits {
	limits := diff.DefaultLimits()
	limits.Differences = 100_000
	return limits
}

// compare holds the answers against each other.
func (c *diffCase) compare(n *normalize.Normalizer) *diffReport {
	document := func(role multicast.Role) *normalize.Document {
		d := n.Document(c.route, role, c.answers[role], nil)
		if c.bodiesOnly {
			d.Headers, d.Cookies = nil, nil
		}
		return d
	}
	primary, candidate := document(multicast.Primary), document(multicast.Candidate)
	r := &diffReport{ignored: primary.Body.Ignored + candidate.Body.Ignored, left: primary, right: candidate}
	r.Differences, r.Cut = diff.Compare(primary, candidate, diffLimits())
	r.Equal = len(r.Differences) == 0
	if c.answers[multicast.Secondary] != nil {
		noise, _ := diff.Compare(primary, document(multicast.Secondary), diffLimits())
		r.Noise = &noise
	}
	r.usage = n.Usage()
	return r
}
