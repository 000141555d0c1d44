// Command testcount reads the output of `go test -json`, prints a line a package and whatever failed in full, and ends
// with the count. A package may come again, with other tests of it: each time it has a line, and counts. It fails when a
// test failed, when a test was skipped, when a package did not end, and when there was no test at all.
//
//	go test -json ./... 2>&1 | testcount
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
)

// event is one line of `go test -json` (see `go doc test2json`).
type event struct {
	Action      string
	Package     string
	ImportPath  string // of build output
	FailedBuild string
	Test        string
	Elapsed     float64 // seconds
	Output      string
}

// result is what is known of one package, each time that it comes.
type result struct {
	ended  string              // pass, fail or skip; empty until it has
	output map[string][]string // by test; "" is the package's own
	tests  map[string]string   // test to pass, fail, skip or run
	build  string              // the import path whose build failed
}

// count gathers the packages of one run.
type count struct {
	out      io.Writer
	packages map[string][]*result // in the order they came
	builds   map[string][]string  // build output by import path
	other    []string             // lines that are no event
}

func main() {
	c := count{out: os.Stdout, packages: make(map[string][]*result), builds: make(map[string][]string)}
	if err := c.read(os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, "testcount:", err)
		os.Exit(2)
	}
	if !c.report() {
		os.Exit(1)
	}
}

// read takes every line, and tells of each package as it ends.
func (c *count) read(r io.Reader) error {
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			c.line(line)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (c *count) line(line string) {
	var e event
	if err := json.Unmarshal([]byte(line), &e); err != nil || e.Action == "" {
		c.other = append(c.other, line)
		return
	}
	if e.Package == "" {
		if e.Action == "build-output" {
			c.builds[e.ImportPath] = append(c.builds[e.ImportPath], e.Output)
		}
		return
	}
	p := c.open(e.Package)
	switch e.Action {
	case "output":
		p.output[e.Test] = append(p.output[e.Test], e.Output)
	case "run":
		p.tests[e.Test] = "run"
	case "pass", "fail", "skip":
		if e.Test != "" {
			p.tests[e.Test] = e.Action
			return
		}
		p.ended, p.build = e.Action, e.FailedBuild
		c.tell(e.Package, p, e.Elapsed)
	}
}

// open answers what goes on of a package, or begins it: at first, and again once it has ended.
func (c *count) open(name string) *result {
	came := c.packages[name]
	if n := len(came); n > 0 && came[n-1].ended == "" {
		return came[n-1]
	}
	p := &result{output: make(map[string][]string), tests: make(map[string]string)}
	c.packages[name] = append(came, p)
	return p
}

// tell prints a package's line and, where something is wrong, what its tests wrote.
func (c *count) tell(name string, p *result, seconds float64) {
	passed, failed, skipped := p.totals()
	switch {
	case p.ended == "fail":
		fmt.Fprintf(c.out, "FAIL  %-32s %6.1fs  %d passed, %d failed\n", name, seconds, passed, failed)
	case passed+failed+skipped == 0:
		fmt.Fprintf(c.out, "  -   %-32s          no tests\n", name)
	default:
		fmt.Fprintf(c.out, "ok    %-32s %6.1fs  %d tests\n", name, seconds, passed)
	}
	if p.ended != "fail" {
		return
	}
	for _, line := range c.builds[p.build] {
		fmt.Fprint(c.out, "      ", line)
	}
	for _, test := range slices.Sorted(maps.Keys(p.output)) {
		if s := p.tests[test]; test == "" || s == "fail" || s == "run" {
			for _, line := range p.output[test] {
				fmt.Fprint(c.out, "      ", line)
			}
		}
	}
}

// totals counts the tests that hold no others: a test with subtests is the sum of them.
func (p *result) totals() (passed, failed, skipped int) {
	parents := make(map[string]bool)
	for test := range p.tests {
		for i, r := range test {
			if r == '/' {
				parents[test[:i]] = true
			}
		}
	}
	for test, state := range p.tests {
		switch {
		case parents[test] && state != "fail":
		case parents[test] && p.failedBelow(test):
		case state == "pass":
			passed++
		case state == "skip":
			skipped++
		default: // failed, or never ended: a panic, or the time limit
			failed++
		}
	}
	return passed, failed, skipped
}

// failedBelow says whether a subtest accounts for the failure of its parent.
func (p *result) failedBelow(parent string) bool {
	for test, state := range p.tests {
		if strings.HasPrefix(test, parent+"/") && (state == "fail" || state == "run") {
			return true
		}
	}
	return false
}

// report prints what concerns the whole run, and the count. It answers whether all is well.
func (c *count) report() bool {
	var passed, failed, skipped, broken int
	for _, name := range slices.Sorted(maps.Keys(c.packages)) {
		for _, p := range c.packages[name] {
			ok, bad, left := p.totals()
			passed, failed, skipped = passed+ok, failed+bad, skipped+left
			if p.ended == "" || p.ended == "fail" && bad == 0 {
				broken++
				fmt.Fprintf(c.out, "FAIL  %s did not build, or did not end\n", name)
			}
			for _, test := range slices.Sorted(maps.Keys(p.tests)) {
				if p.tests[test] == "skip" {
					fmt.Fprintf(c.out, "SKIP  %s %s: a skipped test fails the run\n", name, test)
				}
			}
		}
	}
	if failed+broken > 0 || passed == 0 {
		for _, line := range c.other {
			fmt.Fprint(c.out, line)
		}
	}
	fmt.Fprintf(c.out, "%d passed, %d failed", passed, failed)
	if skipped > 0 {
		fmt.Fprintf(c.out, ", %d skipped", skipped)
	}
	if broken > 0 {
		fmt.Fprintf(c.out, ", %d packages broken", broken)
	}
	fmt.Fprintln(c.out)
	return passed > 0 && failed == 0 && skipped == 0 && broken == 0
}
