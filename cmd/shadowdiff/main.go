// Command shadowdiff serves every client from a primary, sends copies of sampled requests to a candidate and to a
// secondary (the primary's twin), and says whether the candidate disagrees beyond the noise.
//
// It holds no logic: one file a command, the wiring of the packages (service.go), the configuration file (config.go and
// its neighbours), signals and exit codes.
package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"shadowdiff/normalize"
)

// Exit codes. A command that compares answers with 1 for "different", as diff(1) does.
const (
	exitOK      = 0
	exitCut     = 1 // serve: a second signal cut the shutdown short
	exitTrouble = 2 // wrong use, a bad configuration, or something that failed
)

// stdio is what a command reads from and writes to.
type stdio struct {
	in       io.Reader
	out, err io.Writer
}

// command is one word after shadowdiff.
type command struct {
	name    string
	summary string
	run     func(args []string, std stdio) int // answers with the exit code
}

// commands lists them in the order in which help shows them.
func commands() []command {
	return []command{
		{"serve", "serve clients from the primary, shadow to the candidate and the secondary", runServe},
		{"demo", "the whole product in one process, with traffic, noise and known faults", runDemo},
		{"check", "print every fault of a configuration file", runCheck},
		{"diff", "compare two responses as the service would", runDiff},
		{"gate", "wait for the verdict; an exit code for CI", runGate},
		{"record", "serve clients from the primary and record the traffic, nothing else", runRecord},
		{"replay", "ask recorded traffic again, and judge the answers", runReplay},
		{"backup", "save the database of a running shadowdiff", runBackup},
		{"purge", "delete what was kept of requests and answers", runPurge},
		{"health", "ask a running shadowdiff how it is; a container's health check", runHealth},
		{"version", "print version, commit and Go version", runVersion},
	}
}

func main() {
	os.Exit(run(os.Args[1:], stdio{in: os.Stdin, out: os.Stdout, err: os.Stderr}))
}

// run picks the command and answers with the process's exit code.
func run(args []string, std stdio) int {
	if len(args) == 0 {
		printHelp(std.err)
		return exitTrouble
	}
	switch {
	case isHelp(args[0]):
		return runHelp(args[1:], std)
	case args[0] == "-version", args[0] == "--version":
		return runVersion(nil, std)
	}
	cmd, ok := findCommand(args[0])
	if !ok {
		return unknownCommand(args[0], std)
	}
	return cmd.run(args[1:], std)
}

// runHelp prints the help of shadowdiff, or of the command that is named.
func runHelp(args []string, std stdio) int {
	if len(args) == 0 {
		printHelp(std.out)
		return exitOK
	}
	if isHelp(args[0]) {
		return runHelp(nil, std)
	}
	cmd, ok := findCommand(args[0])
	if !ok {
		return unknownCommand(args[0], std)
	}
	return cmd.run([]string{"-h"}, std)
}

// isHelp tells that a word asks for help, as a command or as a flag.
func isHelp(word string) bool {
	return slices.Contains([]string{"help", "-h", "-help", "--help"}, word)
}

func findCommand(name string) (command, bool) {
	for _, cmd := range commands() {
		if cmd.name == name {
			return cmd, true
		}
	}
	return command{}, false
}

// unknownCommand names the nearest right one. A lone flag is most often serve's.
func unknownCommand(name string, std stdio) int {
	names := []string{"help"}
	for _, cmd := range commands() {
		names = append(names, cmd.name)
	}
	near := normalize.Nearest(name, names)
	switch {
	case strings.HasPrefix(name, "-"):
		fmt.Fprintf(std.err, "shadowdiff: %s stands before a command; flags follow it: shadowdiff serve %s\n", name, name)
	case name == "report": // near to record, and not meant
		fmt.Fprintf(std.err, "shadowdiff: there is no command %q: gate -report FILE and replay -report FILE save one\n", name)
	case near != "":
		fmt.Fprintf(std.err, "shadowdiff: unknown command %q; did you mean %q?\n", name, near)
	default:
		fmt.Fprintf(std.err, "shadowdiff: unknown command %q; `shadowdiff help` lists them\n", name)
	}
	return exitTrouble
}

func printHelp(w io.Writer) {
	fmt.Fprint(w, `shadowdiff tells whether a new version of an HTTP service still answers as the old one does.

It stands in front of the running service (the primary) and answers every client from it. Sampled
requests are copied to the new version (the candidate) and to a second instance of the old one (the
secondary). What differs between the two old ones is noise; what the candidate adds to it is found.

Usage:

  shadowdiff COMMAND [FLAGS]

Commands:

`)
	tw := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	for _, cmd := range commands() {
		fmt.Fprintf(tw, "  %s\t%s\n", cmd.name, cmd.summary)
	}
	tw.Flush()
	fmt.Fprint(w, `
Start here:

  shadowdiff demo
  shadowdiff serve -primary http://127.0.0.1:9001 -secondary http://127.0.0.1:9002 -candidate http://127.0.0.1:9003

"shadowdiff help COMMAND" tells more of one command.
`)
}
