package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"shadowdiff/replay"
	"shadowdiff/traffic"
)

const replayHelp = `
Usage: shadowdiff replay [-config FILE] [FLAGS] FILE...

Asks recorded requests again, of the primary, the secondary and the candidate, and judges what they answer as the service
does. Files are recordings of shadowdiff (or the folder that has them), HAR, GoReplay's .gor, access logs in the common or
combined format, and lists of curl commands; gzip and zstd are undone, - is standard input. The result is a run in the
database, and an exit code for CI:

  0 equivalent    1 different    3 undecided    2 trouble: nothing could be judged, or the replay did not come to its end

Only GET and HEAD are asked, unless -methods names others: what a POST changes, it changes again, in all three. A line that
holds no request is named, counted and left out. A replay that was interrupted goes on with -resume and asks nothing twice.

  shadowdiff replay -config shadowdiff.yaml -speed 2x recordings/
  shadowdiff replay -against recorded -secondary http://127.0.0.1:9002 -candidate http://127.0.0.1:9003 recordings/
  shadowdiff replay -config shadowdiff.yaml -rate 50/s -header 'Authorization: Bearer ${TOKEN}' access.log`

// replayFlags are those of the command's flags that stand for a key of the configuration.
func replayFlags() []serveFlag {
	return []serveFlag{
		{"primary", "primary", "the `URL` of the primary"},
		{"secondary", "secondary", "the `URL` of a second instance of the primary's code: the control"},
		{"candidate", "candidate", "the `URL` of the code on trial"},
		{"db", "store.path", "keep counts and samples in this `FILE` (default shadowdiff.db)"},
		{"admin", "web.listen", "show the dashboard on this `ADDR` while it goes on, to look at and not to change anything"},
	}
}

// replayOrder is what the command line asks for.
type replayOrder struct {
	cfg         config
	what        replay.Config
	name        string // of the run
	journalFile string
	headers     []string
	resume      bool
	json        bool
	junit       string
	report      string
	pages       bool // are shown

	against, methods, format string // as they were given: prepare reads them
}

// flags are what the command line may say of it.
func (o *replayOrder) flags(fs *flag.FlagSet) {
	for _, f := range replayFlags() {
		fs.String(f.flag, "", f.usage)
	}
	fs.StringVar(&o.against, "against", "live", "`live`: the primary is asked; recorded: its recorded answer stands for it, and is redacted as the others are")
	fs.StringVar(&o.format, "format", "", "the files are of this `FORMAT`: har, gor, ndjson, log or curl (default: their beginnings tell)")
	fs.Func("speed", "keep the recorded gaps, but so many times as fast: `2x`; max: as fast as answers come (default 1x)", o.what.Pace.ParseSpeed)
	fs.Func("rate", "ask at this `RATE`, such as 100/s, whatever was recorded", o.what.Pace.ParseRate)
	fs.BoolVar(&o.what.Loop, "loop", false, "begin again at the end, until -limit or Ctrl-C")
	fs.Int64Var(&o.what.Limit, "limit", 0, "end when so `MANY` requests were asked (default: all)")
	fs.Func("match", "ask only `WHAT` fits: a method, a route as \"GET /users/{id}\" or \"shop.example/*\", or header.NAME=VALUE;\nmay be given again: one of the methods and routes must fit, and one of the headers", o.what.Choice.Match)
	fs.StringVar(&o.methods, "methods", "GET,HEAD", "ask these methods, with what they change: `LIST`")
	fs.Func("header", "send this header in place of the recorded one: `NAME: VALUE`; \"NAME:\" leaves it out;\n${VARIABLE} is taken from the environment; may be given again", func(text string) error {
		o.headers = append(o.headers, text) // looked at later: the flag package would repeat a secret
		return nil
	})
	fs.IntVar(&o.what.Concurrency, "concurrency", 32, "at most so `MANY` requests are under way")
	fs.StringVar(&o.name, "run", "", "call the run `NAME` (default: after the files)")
	fs.BoolVar(&o.resume, "resume", false, "go on with the replay of these files that was interrupted")
	fs.BoolVar(&o.json, "json", false, "print one JSON object on standard output instead of text")
	fs.StringVar(&o.junit, "junit", "", "write a JUnit report to this `FILE`")
	fs.StringVar(&o.report, "report", "", "save the run's report to this `FILE` (HTML, or JSON if it ends in .json)")
}

func runReplay(args []string, std stdio) int {
	var o replayOrder
	fs := newFlagSet("replay", replayHelp)
	file := fs.String("config", "", "read this YAML `FILE`, as serve does")
	o.flags(fs)
	if code, done := parseWithFiles(fs, args, std); done {
		return code
	}
	o.what.Recorded = o.against == "recorded"
	if err := o.prepare(fs.Args()); err != nil {
		fmt.Fprintf(std.err, "shadowdiff replay: %s\n", err)
		return exitTrouble
	}
	from := source{*file, givenOf(fs, replayFlags()), os.LookupEnv}
	if o.what.Recorded { // which nobody asks
		if _, given := from.flags["primary"]; !given && *file == "" {
			from.flags["primary"] = flagValue{"-primary", "http://127.0.0.1:1"}
		}
	}
	_, o.pages = from.flags["web.listen"]
	cfg, d := from.read()
	for _, f := range d.sorted() {
		fmt.Fprintln(std.err, f.line("replay"))
	}
	if len(d.faults) > 0 {
		return exitTrouble
	}
	if cfg.Candidate == "" {
		fmt.Fprintln(std.err, "shadowdiff replay: there is no candidate to compare with: give -candidate URL, or candidate: in the file")
		return exitTrouble
	}
	o.cfg = o.configured(cfg)
	heap := floor()
	defer runtime.KeepAlive(heap)
	return o.replay(std)
}

// prepare checks what was asked for, before anything is opened.
func (o *replayOrder) prepare(args []string) (err error) {
	switch {
	case len(args) == 0:
		return errors.New("no FILE is given; `shadowdiff replay -h` tells what may be one")
	case o.against != "live" && o.against != "recorded":
		return fmt.Errorf("-against: must be live or recorded, is %q", o.against)
	case o.what.Limit < 0 || o.what.Concurrency < 1 || o.what.Concurrency > 10_000:
		return errors.New("-limit must be 0 or more, and -concurrency from 1 to 10000")
	case o.what.Pace.Rate > 0 && (o.what.Pace.Full || o.what.Pace.Speed > 0):
		return errors.New("-rate and -speed exclude each other")
	}
	for _, arg := range args {
		if strings.HasPrefix(arg, "-") && arg != "-" {
			return fmt.Errorf("%s stands behind a FILE; flags come before", arg)
		}
	}
	for _, text := range o.headers {
		if text, err = expand(text, os.LookupEnv); err == nil {
			err = o.what.Header.Add(text)
		}
		if err != nil {
			return fmt.Errorf("-header: %w", err)
		}
	}
	for method := range strings.SplitSeq(o.methods, ",") {
		o.what.Choice.Methods = append(o.what.Choice.Methods, strings.ToUpper(strings.TrimSpace(method)))
	}
	if o.what.Format, err = traffic.ParseFormat(o.format); err != nil {
		return fmt.Errorf("-format: %w", err)
	}
	if o.what.Files, err = traffic.Files(args); err != nil {
		return err
	}
	if o.name == "" {
		o.name = "replay of " + filepath.Base(filepath.Clean(args[0]))
	}
	if o.resume && slices.Contains(o.what.Files, "-") {
		return errors.New("-resume needs files: of standard input nobody knows what was asked")
	}
	if err := o.what.Check(); err != nil {
		return err
	}
	return canReport(o.junit, o.report)
}

// configured is the configuration as a replay needs it: nothing is sampled, guarded or recorded, all runs are this one.
func (o *replayOrder) configured(cfg config) config {
	cfg.Methods = o.what.Choice.Methods
	cfg.Guard, cfg.Ramp = defaultConfig().Guard, defaultConfig().Ramp
	cfg.Record.Dir = ""
	cfg.Web.ReadOnly = true
	cfg.VersionHeader = noVersionHeader
	cfg.Replay = true
	cfg.Shadow.Concurrency = o.what.Concurrency
	o.journalFile = cfg.Store.Path + ".replay"
	return cfg
}

// replay runs until the files are at their end or a signal ends it.
func (o *replayOrder) replay(std stdio) int {
	log := slog.New(slog.NewTextHandler(std.err, &slog.HandlerOptions{Level: slog.LevelWarn}))
	defer catchStray(log)()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second Ctrl-C does not wait
	p := player{replayOrder: o, std: std, log: log, screen: newScreen(std.err)}
	if !o.resume && o.what.AsksNothing(ctx) {
		return p.tellNothing(ctx)
	}
	if err := p.open(); err != nil {
		fmt.Fprintf(std.err, "shadowdiff replay: %s\n", withAdvice(errors.Join(err, p.close())))
		return exitTrouble
	}
	return p.play(ctx)
}
