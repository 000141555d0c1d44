// Command verdict simulates what docs/verdict.md promises, with the product's own counting and evidence, beside the
// default rule of Diffy: how often noise is ever marked while one looks after every request, how many requests it takes
// to find a real difference, and how often an interval misses. Seeds are fixed, so that it prints the same each time.
//
//	verdict [-quick] [-seed 1]
//
// It ends with 1 when noise was marked in more runs, or an interval missed in more, than chance would have it once in
// ten thousand times if the true rate were alpha; and when what it watches with and Watch.Judge part ways.
package main

import (
	"flag"
	"fmt"
	"os"
	"time"
)

// alpha is the default of the product.
const alpha = 0.05

// config is what the flags say.
type config struct {
	seed  uint64
	quick bool
}

// of is how much of something is done: a tenth of it when it is to be quick.
func (c config) of(n int) int {
	if c.quick {
		return max(n/10, 20)
	}
	return n
}

func main() {
	var cfg config
	flag.BoolVar(&cfg.quick, "quick", false, "a tenth of the runs")
	flag.Uint64Var(&cfg.seed, "seed", 1, "seed of all random numbers")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "verdict: takes no arguments, only -quick and -seed")
		os.Exit(2)
	}

	began := time.Now()
	fmt.Printf("Seed %d, alpha %g. Looked at after every request; fails where the rate is above alpha by more than chance.\n", cfg.seed, alpha)
	var broken []string
	for _, part := range []func(config) []string{falseAlarms, onceLooked, manyFields, power, found, misses, ratios, proofs} {
		broken = append(broken, part(cfg)...)
		fmt.Fprintf(os.Stderr, "%d s\n", int(time.Since(began).Seconds())) // not among what is the same each time
	}
	for _, what := range broken {
		fmt.Println("BROKEN:", what)
	}
	if len(broken) > 0 {
		os.Exit(1)
	}
}
