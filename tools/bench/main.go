// Command bench measures what shadowdiff costs, in one run on one machine: requests per second, latency and CPU of no proxy,
// a bare httputil.ReverseProxy, HAProxy, nginx with and without mirrors, and shadowdiff with shadowing off, at several
// rates, with healthy, slow and hanging shadows. Only ratios mean anything on another machine; rows take turns, so that what
// else the machine does meets all of them alike.
//
//	bench -shadowdiff bin/shadowdiff [-quick] [-turns 15] [-fixed-turns 20] [-only REGEXP] [-profile DIR]
//
// It prints Markdown tables and, at the end, which of the bars are met. Clients, upstreams and proxies share the machine,
// over loopback. It runs on Linux.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"syscall"
	"time"
)

// config is what the flags say.
type config struct {
	binary      string
	conns       int
	size        int
	warm        time.Duration // before each measurement
	turns       int           // at full speed
	time        time.Duration // of a row's part of one of them
	fixedTurns  int           // at the fixed rate
	fixedTime   time.Duration
	rate        float64
	delay       time.Duration
	concurrency int
	queue       int
	memory      string
	only        string
	quick       bool
	profile     string // folder for CPU profiles
	source      string // the product's, for profiles
}

func main() {
	var cfg config
	var up upstreamConfig
	var primary string
	fs := flag.NewFlagSet("bench", flag.ExitOnError)
	fs.StringVar(&cfg.binary, "shadowdiff", "bin/shadowdiff", "measure this `BINARY`")
	fs.IntVar(&cfg.conns, "conns", 64, "keep-alive connections of the clients")
	fs.IntVar(&cfg.size, "size", 2048, "`BYTES` of an answer's body")
	fs.DurationVar(&cfg.warm, "warm", 500*time.Millisecond, "time before each measurement")
	fs.IntVar(&cfg.turns, "turns", 15, "turns at full speed; each row has its part of each")
	fs.DurationVar(&cfg.time, "for", 600*time.Millisecond, "time of a row's part of a turn at full speed")
	fs.IntVar(&cfg.fixedTurns, "fixed-turns", 20, "turns at the fixed rate")
	fs.DurationVar(&cfg.fixedTime, "fixed-for", time.Second, "time of a row's part of a turn at the fixed rate")
	fs.Float64Var(&cfg.rate, "rate", 1000, "the fixed rate, in requests/s")
	fs.DurationVar(&cfg.delay, "delay", 200*time.Millisecond, "what a slow shadow takes")
	fs.IntVar(&cfg.concurrency, "concurrency", 64, "shadow.concurrency")
	fs.IntVar(&cfg.queue, "queue", 256, "shadow.queue")
	fs.StringVar(&cfg.memory, "memory", "64MiB", "shadow.memory")
	fs.StringVar(&cfg.only, "only", "", "measure only the rows whose name matches this `REGEXP`, and those they are compared with")
	fs.BoolVar(&cfg.quick, "quick", false, "one short turn: whether it works, not how fast it is")
	fs.StringVar(&cfg.profile, "profile", "", "take CPU profiles of shadowdiff into this `FOLDER`, and say where the time goes; needs -source")
	fs.StringVar(&cfg.source, "source", ".", "`FOLDER` of shadowdiff's source")
	fs.StringVar(&primary, "primary", "", "for the child process bare")
	fs.StringVar(&up.role, "role", "", "for the child process upstream")
	fs.IntVar(&up.rows, "rows", 1, "for the child process upstream")
	_ = fs.Parse(os.Args[1:])
	up.size, up.delay = cfg.size, cfg.delay

	var err error
	switch fs.Arg(0) {
	case "":
		err = run(cfg)
	case "bare":
		err = runBare(primary)
	case "upstream":
		err = runUpstream(up)
	default:
		err = fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run measures everything and prints it. Interrupted, it prints what it has.
func run(cfg config) error {
	only, err := regexp.Compile(cfg.only)
	if err != nil {
		return err
	}
	if cfg.profile != "" {
		if cfg.profile, err = filepath.Abs(cfg.profile); err != nil {
			return err
		}
	}
	if cfg.quick {
		cfg.turns, cfg.fixedTurns, cfg.warm, cfg.time, cfg.fixedTime = 1, 1, 200*time.Millisecond, 300*time.Millisecond, 500*time.Millisecond
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	unwatched(3 + 2*runtime.NumCPU())
	b, err := newBench(ctx, cfg, chosen(trials(), only))
	if err != nil {
		return err
	}
	defer b.close()
	b.describe(os.Stdout)
	err = b.measureAll(ctx)
	b.report(os.Stdout)
	if err == nil && cfg.profile != "" {
		err = b.explain(ctx, os.Stdout)
	}
	return err
}

// self is this program, which is its own children, too.
func self() string { return "/proc/self/exe" }
