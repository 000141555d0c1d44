// Command soak puts shadowdiff under full load for a while, with shadows that in turn are healthy, hang, reset, answer
// with bombs and garbage, flap, are slow or do not read, and with clients of many kinds. Each answer that a client gets is
// checked. At the end everything must be back where it was: the counters add up, nothing is held, and goroutines,
// descriptors and memory are what they were.
//
//	soak -shadowdiff bin/shadowdiff [-for 20m]
//
// It ends with exit code 1 when a client saw an error, when the counters do not add up, or when something was left behind.
// It runs on Linux.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// config is what the flags say.
type config struct {
	binary  string
	time    time.Duration
	every   time.Duration // between two lines
	clients int
	timeout time.Duration // shadow.timeout
	seed    uint64
}

func main() {
	var cfg config
	flag.StringVar(&cfg.binary, "shadowdiff", "bin/shadowdiff", "run this `BINARY`")
	flag.DurationVar(&cfg.time, "for", 20*time.Minute, "how long")
	flag.DurationVar(&cfg.every, "every", 0, "a line of figures so often (default: each minute, or each sixth of the time)")
	flag.IntVar(&cfg.clients, "clients", 32, "clients at once")
	flag.DurationVar(&cfg.timeout, "timeout", time.Second, "shadow.timeout")
	flag.Uint64Var(&cfg.seed, "seed", uint64(time.Now().UnixNano()), "what the clients do is drawn by this number")
	flag.Parse()
	if cfg.every == 0 {
		cfg.every = min(time.Minute, cfg.time/6)
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	faults, err := run(ctx, cfg, os.Stdout)
	switch {
	case errors.Is(err, context.Canceled):
		fmt.Println("interrupted")
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(2)
	case len(faults) > 0:
		for _, f := range faults {
			fmt.Println("FAULT:", f)
		}
		os.Exit(1)
	}
	fmt.Println("no fault")
}
