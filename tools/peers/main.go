// Command peers measures what one exchange costs to compare, in one run on one machine: three JSON answers read, put in
// their comparable form, and compared twice, the primary's with each of the shadows'. Beside shadowdiff it takes what
// else compares JSON in Go, and as the floor what it costs merely to parse the three with the fastest parser.
//
//	peers [-rounds 15] [-turn 20ms] [-only REGEXP]
//
// All of them take short turns, one after another in each round, since other programs use the machine too: figures are
// medians of CPU time, and ratios are taken within each round. It runs on Linux. It prints Markdown tables and, at the end, which of the bars are met.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// config is what the flags say.
type config struct {
	rounds int
	turn   time.Duration // of one peer in one round
	limit  time.Duration // of CPU, for one comparison; a peer that takes longer is not measured
	only   *regexp.Regexp
	peers  *regexp.Regexp
}

func main() {
	cfg := config{limit: 3 * time.Second}
	fs := flag.NewFlagSet("peers", flag.ExitOnError)
	fs.IntVar(&cfg.rounds, "rounds", 15, "rounds; each peer takes one turn in each")
	fs.DurationVar(&cfg.turn, "turn", 20*time.Millisecond, "how long a turn lasts")
	only := fs.String("only", "", "measure only the cases whose name matches this `REGEXP`")
	among := fs.String("peers", "", "measure only the peers whose name matches this `REGEXP`")
	once := fs.String("once", "", "for the child process: compare `CASE/PEER` once")
	_ = fs.Parse(os.Args[1:])

	err := errors.New("-rounds and -turn are above zero")
	if cfg.rounds > 0 && cfg.turn > 0 {
		cfg.only, err = regexp.Compile(*only)
	}
	if err == nil {
		cfg.peers, err = regexp.Compile(*among)
	}
	switch {
	case err != nil:
	case *once != "":
		err = runOnce(*once, cfg.limit)
	default:
		err = run(cfg)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func run(cfg config) error {
	fmt.Printf("%d processors, %s; %s\nrounds: %d, of turns of %v; medians of CPU time; three documents into two comparisons\n",
		runtime.NumCPU(), runtime.GOOS, runtime.Version(), cfg.rounds, cfg.turn)
	var all []figures
	for _, c := range cases() {
		if !cfg.only.MatchString(c.name) {
			continue
		}
		f, err := cfg.measure(c)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		all = append(all, f)
		f.table().write(os.Stdout)
	}
	bars(all).write(os.Stdout)
	return nil
}

// runOnce is for the child process that finds out whether a peer takes too long.
func runOnce(name string, limit time.Duration) error {
	seconds := uint64(limit / time.Second)
	if err := unix.Setrlimit(unix.RLIMIT_CPU, &unix.Rlimit{Cur: seconds, Max: seconds}); err != nil {
		return err
	}
	for _, c := range cases() {
		for _, p := range peers(c) {
			if c.name+"/"+p.name == name {
				return p.compare()
			}
		}
	}
	return fmt.Errorf("no such comparison: %s", name)
}
