package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"syscall"
)

// runServe is the service. Exit code 0 after an orderly stop, 1 when a second signal cut that short, 2 when it could not
// start or had to end.
func runServe(args []string, std stdio) int {
	fs := newFlagSet("serve", `
Usage: shadowdiff serve [-config FILE] [FLAGS]

Serves every client from the primary, and asks the candidate and the secondary (a second instance of the primary's
code) the same for sampled requests. The dashboard, its API and /metrics are on the admin address. Flags override the
file; without a file the three addresses are enough:

  shadowdiff serve -primary http://127.0.0.1:9001 -secondary http://127.0.0.1:9002 -candidate http://127.0.0.1:9003

SIGHUP reads the file again: a good one takes effect within a second, of one with a fault nothing does. SIGTERM and
SIGINT let the requests under way finish, then end with exit code 0; a second signal ends at once.`)
	file := fs.String("config", "", "read this YAML `FILE` (\"shadowdiff check\" finds its faults)")
	for _, o := range serveFlags() {
		fs.String(o.flag, "", o.usage)
	}
	addCalibrateFlags(fs)
	if code, done := parse(fs, args, std); done {
		return code
	}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGHUP) // the others may still end a start that waits for its file
	defer signal.Stop(signals)
	from := source{*file, givenFlags(fs), os.LookupEnv}
	cfg, d := from.read()
	faults := d.sorted()
	for _, f := range faults {
		fmt.Fprintln(std.err, f.line("serve"))
	}
	if len(faults) > 0 {
		return exitTrouble
	}
	heap := floor()
	defer runtime.KeepAlive(heap)
	log, out := openLog(std.err)
	defer out.close()
	std.err = out
	return serve(cfg, from, log, std, signals)
}

// serveFlag is a flag that stands for a key of the configuration.
type serveFlag struct{ flag, key, usage string }

func serveFlags() []serveFlag {
	return []serveFlag{
		{"listen", "listen", "take clients on this `ADDR` (default :8880)"},
		{"admin", "web.listen", "show the dashboard on this `ADDR` (default 127.0.0.1:8881)"},
		{"primary", "primary", "answer clients from this `URL`; required here or in the file"},
		{"secondary", "secondary", "the `URL` of a second instance of the primary's code: the control"},
		{"candidate", "candidate", "the `URL` of the code on trial"},
		{"sample", "sample", "shadow this `SHARE` of the requests that may be (default 100%)"},
		{"run", "run", "call the run `NAME`: another name than last time begins another run"},
		{"db", "store.path", "keep counts and samples in this `FILE` (default shadowdiff.db)"},
	}
}

// flagOf names the flag that stands for a key, or none.
func flagOf(key string) string {
	for _, o := range serveFlags() {
		if o.key == key {
			return "-" + o.flag
		}
	}
	return ""
}

// givenFlags are the flags that were set, by the key that each overrides.
func givenFlags(fs *flag.FlagSet) flagValues {
	given := givenOf(fs, serveFlags())
	calibration(fs, given)
	return given
}

// givenOf are those of a command's flags that were set and stand for a key.
func givenOf(fs *flag.FlagSet, flags []serveFlag) flagValues {
	given := make(flagValues)
	for _, o := range flags {
		fs.Visit(func(f *flag.Flag) {
			if f.Name == o.flag {
				given[o.key] = flagValue{"-" + f.Name, f.Value.String()}
			}
		})
	}
	return given
}

// serve runs the service until a signal asks it to end. SIGHUP comes over the channel already.
func serve(cfg config, from source, log *slog.Logger, std stdio, signals chan os.Signal) int {
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer catchStray(log)()

	s, err := newService(cfg, from, log)
	if err != nil {
		fmt.Fprintf(std.err, "shadowdiff serve: %s\n", withAdvice(err))
		return exitTrouble
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()

	for asked := false; ; {
		select {
		case err := <-done:
			if err != nil {
				fmt.Fprintf(std.err, "shadowdiff serve: %s\n", err)
				return exitTrouble
			}
			return exitOK
		case sig := <-signals:
			switch {
			case sig == syscall.SIGHUP:
				s.Hangup()
			case asked:
				log.Warn("a second signal: ending at once", "signal", sig.String())
				return exitCut
			default:
				log.Info("asked to stop", "signal", sig.String())
				asked = true
				cancel()
			}
		}
	}
}

// withAdvice adds to a failed start what most often mends it.
func withAdvice(err error) string {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return err.Error() + "; another program has this port (is shadowdiff running already?): end it, or choose another with -listen or -admin"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return err.Error() + "; this machine has no such address: give one that it has, or the port alone, as :8880"
	}
	return err.Error()
}

// newLogger writes to w: text where the lines end up on a terminal, and JSON everywhere else. Durations have their unit in both,
// as in 5s.
func newLogger(w, end io.Writer) *slog.Logger {
	if isTerminal(end) {
		return slog.New(slog.NewTextHandler(w, nil))
	}
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Value.Kind() == slog.KindDuration {
			a.Value = slog.StringValue(a.Value.Duration().String()) // a bare number of nanoseconds otherwise
		}
		return a
	}}))
}
