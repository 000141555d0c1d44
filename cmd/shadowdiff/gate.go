package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"shadowdiff/diff"
	"shadowdiff/web"
)

// Exit codes of gate beside those of the other commands that compare.
const (
	exitEquivalent = 0
	exitUndecided  = 3
)

const gateHelp = `
Usage: shadowdiff gate [-url URL]... [FLAGS]

Waits until the verdict of a running shadowdiff is decided, or the time is over, prints it with its reasons, and ends with
a code for CI:

  0 equivalent    1 different    3 undecided when the time is over
  2 trouble: the service does not answer, the token is wrong, the run never came, wrong use

Several -url are proxies of the same candidate: their counts are added up and judged as one. With -run it waits until a
run of that name is there, so that it never reads that of the candidate before. A token is read from -token-file, or from
the environment variable SHADOWDIFF_TOKEN.

  shadowdiff gate -url http://127.0.0.1:8881 -run v2.3.1 -wait 15m -junit shadowdiff.xml`

// runGate is the verdict as an exit code.
func runGate(args []string, std stdio) int { return gateAtPace(args, std, pollEvery, patience) }

func gateAtPace(args []string, std stdio, every, patience time.Duration) int {
	g := gate{std: std, every: every, patience: patience}
	fs := newFlagSet("gate", gateHelp)
	fs.Func("url", "the dashboard's `URL`; may be given again, and then all add up\n(default http://127.0.0.1:8881)", func(text string) error {
		g.urls = append(g.urls, text) // looked at later: the flag package would repeat a password
		return nil
	})
	fs.StringVar(&g.run, "run", "", "judge the run of this `NAME` (or id), and wait until it is there (default: the one in force)")
	fs.StringVar(&g.route, "route", "", "judge this `ROUTE` alone, as \"GET /users/{id}\"")
	fs.DurationVar(&g.wait, "wait", 10*time.Minute, "wait so `LONG` for a decision; 0: look once")
	tokenFile := fs.String("token-file", "", "read the token (web.token) from this `FILE`")
	ca := fs.String("ca", "", "trust the certificates in this PEM `FILE`, too")
	fs.BoolVar(&g.json, "json", false, "print one JSON object on standard output instead of text")
	fs.StringVar(&g.junit, "junit", "", "write a JUnit report to this `FILE`")
	fs.StringVar(&g.report, "report", "", "save the run's report to this `FILE` (HTML, or JSON if it ends in .json)")
	if code, done := parse(fs, args, std); done {
		return code
	}
	if err := g.prepare(*tokenFile, *ca); err != nil {
		fmt.Fprintf(std.err, "shadowdiff gate: %s\n", err)
		return exitTrouble
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return g.judge(ctx)
}

const (
	pollEvery = 2 * time.Second
	patience  = 30 * time.Second // with a service that has never answered
)

// gate is one call of the command.
type gate struct {
	std           stdio
	urls          []string
	run, route    string
	wait          time.Duration
	json          bool
	junit, report string
	client        *apiClient
	every         time.Duration
	patience      time.Duration
}

// prepare checks what was asked for, before anything is waited for.
func (g *gate) prepare(tokenFile, ca string) (err error) {
	switch {
	case g.wait < 0:
		return fmt.Errorf("-wait %s is below 0", g.wait)
	case g.report != "" && len(g.urls) > 1:
		return errors.New("-report is of one service; give one -url, or save the report of each")
	}
	for i := range g.urls {
		if g.urls[i], err = dashboardURL(g.urls[i]); err != nil {
			return fmt.Errorf("-url: %w", err)
		}
	}
	for i, u := range g.urls {
		for _, other := range g.urls[:i] {
			if u == other {
				return fmt.Errorf("-url %s is given twice: its counts would count twice", u)
			}
		}
	}
	if len(g.urls) == 0 {
		g.urls = []string{"http://127.0.0.1:8881"}
	}
	if err := canReport(g.junit, g.report); err != nil {
		return err
	}
	g.client, err = newAPIClient(tokenFile, ca, os.LookupEnv)
	return err
}

// canReport finds out early that a report cannot be written.
func canReport(junit, report string) error {
	for _, file := range []struct{ flag, name string }{{"-junit", junit}, {"-report", report}} {
		if file.name == "-" {
			return fmt.Errorf("%s -: standard output has the verdict; name a file", file.flag)
		}
		if err := canReplace(file.name); err != nil {
			return err
		}
	}
	return nil
}

// reportFormat is that of a report which is saved under a name.
func reportFormat(name string) string {
	if strings.HasSuffix(name, ".json") {
		return "json"
	}
	return "html"
}

// outcome is how the gate ended.
type outcome struct {
	code    int
	trouble error  // nil unless the code is that of trouble
	last    *state // as last seen; nil: never
	started time.Time
	ended   time.Time
}

// judge waits, and tells what came of it in every form that was asked for.
func (g *gate) judge(ctx context.Context) int {
	started := time.Now()
	log := newGateLog(g.std.err, g.subject(), started)
	last, code, trouble := g.watch(ctx, log)
	log.end()
	if last != nil {
		g.readDrops(last)
	}
	out := outcome{code: code, trouble: trouble, last: last, started: started, ended: time.Now()}
	if err := g.tell(&out); err != nil {
		fmt.Fprintf(g.std.err, "shadowdiff gate: %s\n", err)
		return exitTrouble
	}
	return out.code
}

// subject names what is waited for.
func (g *gate) subject() string {
	of := "the run in force"
	if g.run != "" {
		of = runWord(g.run)
	}
	if g.route != "" {
		of = g.route + " in " + of
	}
	return of + " at " + strings.Join(g.urls, " + ")
}

// watch looks again and again until there is a decision, or none can come any more.
func (g *gate) watch(ctx context.Context, log *gateLog) (last *state, code int, trouble error) {
	over := time.Now().Add(g.wait)
	view := newView(g)
	var fault error // of the last look
	for {
		look, err := view.look(ctx)
		if ctx.Err() != nil {
			return last, exitTrouble, errors.New("interrupted before a decision")
		}
		fault = err
		if err == nil {
			last = look
			log.seen(look)
			if err := g.ofARelease(look); err != nil {
				return last, exitTrouble, err
			}
			if code, decided := look.decision(); decided {
				return last, code, nil
			}
		} else {
			log.failed(err)
			if permanent(err) {
				return last, exitTrouble, err
			}
			if g.hopeless(err, view, log) {
				return last, exitTrouble, fmt.Errorf("no answer within %s: %w", g.patience, err)
			}
		}
		pause := view.pause(g.every)
		if left := time.Until(over); left <= 0 {
			break
		} else if pause > left {
			pause = left
		}
		if !rest(ctx, pause) {
			return last, exitTrouble, errors.New("interrupted before a decision")
		}
	}
	if fault != nil {
		return last, exitTrouble, fmt.Errorf("after %s: %w", g.wait, fault)
	}
	return last, exitUndecided, nil
}

// hopeless tells that a service which has never answered has had its time. One that answers, but not yet with the run
// that is waited for, has all of it.
func (g *gate) hopeless(err error, view *view, log *gateLog) bool {
	return !errors.Is(err, errNoRun) && !view.answered && time.Since(log.started) >= g.patience
}

// rest waits, and answers false when that was cut short.
func rest(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// decision is the exit code of a verdict that ends the wait. Of a run that has ended nothing more will come.
func (s *state) decision() (code int, decided bool) {
	switch s.verdict.Word {
	case diff.Different:
		return exitDifferent, true
	case diff.Equivalent:
		return exitEquivalent, true
	}
	return exitUndecided, s.ended()
}

// tell writes everything that was asked for.
func (g *gate) tell(out *outcome) error {
	var faults []error
	if g.report != "" && out.last != nil {
		faults = append(faults, g.saveReport(out.last))
	}
	if g.junit != "" {
		faults = append(faults, g.saveJUnit(out))
	}
	if g.json {
		faults = append(faults, writeGateJSON(g.std.out, g, out))
		if out.trouble != nil {
			fmt.Fprintf(g.std.err, "shadowdiff gate: %s\n", out.trouble)
		}
	} else {
		printGate(g.std, g, out)
	}
	return errors.Join(faults...)
}

// saveReport asks the service for its report of the run that was judged.
func (g *gate) saveReport(last *state) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	text, err := g.client.report(ctx, last.services[0], reportFormat(g.report))
	if err != nil {
		return fmt.Errorf("the report could not be had: %w", err)
	}
	return saveText(g.report, text)
}

// pageOf is the address of a difference's page; of several proxies it is that of the first.
func (s *state) pageOf(f diff.Finding) string { return s.services[0].url + web.FindingPage(f) }
