package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"shadowdiff/multicast"
)

const recordHelp = `
Usage: shadowdiff record [-config FILE] [-listen ADDR] -primary URL -dir DIR [-sample SHARE]

Serves every client from the primary, and records the requests with their answers into files that shadowdiff replay reads.
No shadow is asked, nothing is compared, there is no dashboard. What store.redact names is replaced before anything is
written. Recording takes nothing from clients: what cannot be written in time is not recorded, and counted.

  shadowdiff record -primary http://127.0.0.1:9001 -dir recordings

The same beside shadowing is record: {dir: recordings} in the configuration of serve. SIGTERM and SIGINT let the requests
under way finish, then end with exit code 0.`

// recordFlags are those of the command's flags that stand for a key of the configuration.
func recordFlags() []serveFlag {
	return []serveFlag{
		{"listen", "listen", "take clients on this `ADDR` (default :8880)"},
		{"primary", "primary", "answer clients from this `URL`; required here or in the file"},
		{"dir", "record.dir", "write into this `DIR`; required here or in the file"},
		{"sample", "record.sample", "record this `SHARE` of the requests (default 100%)"},
	}
}

// runRecord is a proxy that records. Exit code 0 after an orderly stop, 2 when it could not start or had to end.
func runRecord(args []string, std stdio) int {
	fs := newFlagSet("record", recordHelp)
	file := fs.String("config", "", "read this YAML `FILE`, as serve does")
	for _, o := range recordFlags() {
		fs.String(o.flag, "", o.usage)
	}
	if code, done := parse(fs, args, std); done {
		return code
	}
	cfg, faults := readConfig(*file, givenOf(fs, recordFlags()), os.LookupEnv)
	for _, f := range faults {
		fmt.Fprintln(std.err, f.line("record"))
	}
	if len(faults) > 0 {
		return exitTrouble
	}
	if cfg.Record.Dir == "" {
		fmt.Fprintln(std.err, "shadowdiff record: no folder is named: give -dir DIR, or record: {dir: DIR} in the file")
		return exitTrouble
	}
	log, out := openLog(std.err)
	defer out.close()
	std.err = out
	defer catchStray(log)()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second Ctrl-C does not wait
	if err := recordUntil(ctx, cfg, log); err != nil {
		fmt.Fprintf(std.err, "shadowdiff record: %s\n", withAdvice(err))
		return exitTrouble
	}
	return exitOK
}

// recordUntil serves and records until ctx ends, or the clients' listener fails.
func recordUntil(ctx context.Context, cfg config, log *slog.Logger) (err error) {
	cfg.Secondary, cfg.Candidate = "", ""
	var to recording
	if err := to.open(cfg, log); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.close()) }()
	proxy, err := multicast.New(cfg.Config, multicast.Deps{Log: log, Record: to.take()})
	if err != nil {
		return fmt.Errorf("setting up the proxy: %w", err)
	}
	listener, err := listen("clients", cfg.Listen)
	if err != nil {
		return err
	}
	ps := parts{log: log}
	ps.start(ctx, "recorder", to.Run)
	ps.start(ctx, "proxy", proxy.Run)
	clients := ps.start(ctx, "clients", func(ctx context.Context) error {
		return serveHTTP(ctx, proxy.Server(), proxy.Listener(listener), cfg.Server.Drain, log)
	})
	log.Info("recording", "clients", cfg.clientsURL(listener), "primary", cfg.Primary, "sample", cfg.Record.Sample, "dir", cfg.Record.Dir,
		"version", readBuildInfo().Version)
	tellRecording(ctx, proxy, clients, log)
	log.Info("stopping", "drain", cfg.Server.Drain.String())
	err = errors.Join(ps.stop("clients"), ps.stop("proxy"), ps.stop("recorder"))
	logRecorded(proxy, log)
	log.Info("stopped")
	return err
}

// tellRecording logs the counts each minute, until ctx ends or no client is served any more.
func tellRecording(ctx context.Context, proxy *multicast.Proxy, clients *part, log *slog.Logger) {
	tick := time.NewTicker(time.Minute)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			logRecorded(proxy, log)
		case <-clients.done:
			return
		case <-ctx.Done():
			return
		}
	}
}

func logRecorded(proxy *multicast.Proxy, log *slog.Logger) {
	counts := proxy.Counts()
	if c := counts.Record; c != nil {
		log.Info("recorded", "requests", counts.Requests, "sampled", c.Sampled, "written", c.Written, "dropped", c.Dropped)
	}
}
