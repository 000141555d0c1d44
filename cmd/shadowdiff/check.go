package main

import (
	"fmt"
	"os"
)

func runCheck(args []string, std stdio) int {
	fs := newFlagSet("check", `
Usage: shadowdiff check -config FILE

Prints every fault of a configuration file, one a line as FILE:LINE:COLUMN: MESSAGE. Nothing is started, opened or
asked. Exit code 0 when there is none, else 2. What is allowed and makes a comparison less than it seems is said as a
warning, as serve says it in its log.`)
	file := fs.String("config", "", "the `FILE` to check")
	if code, done := parseWithFiles(fs, args, std); done {
		return code
	}
	if *file == "" && fs.NArg() == 1 { // as people type it
		*file = fs.Arg(0)
	} else if fs.NArg() > 0 {
		fmt.Fprintf(std.err, "shadowdiff check: unexpected argument %q\n", fs.Arg(0))
		return exitTrouble
	}
	if *file == "" {
		fmt.Fprintln(std.err, "shadowdiff check: -config FILE is missing")
		return exitTrouble
	}
	cfg, faults := readConfig(*file, nil, os.LookupEnv)
	for _, f := range faults {
		if f.at.line > 0 {
			fmt.Fprintln(std.out, f.line("check"))
		} else {
			fmt.Fprintln(std.err, f.line("check"))
		}
	}
	if len(faults) > 0 {
		return exitTrouble
	}
	fmt.Fprintf(std.out, "%s: ok; %s\n", *file, cfg.summary())
	for _, warning := range append(cfg.warnings(), cfg.unfair()...) {
		fmt.Fprintf(std.err, "%s: warning: %s\n", *file, warning)
	}
	return exitOK
}
