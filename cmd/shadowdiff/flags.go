package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"shadowdiff/normalize"
)

// newFlagSet returns the flags of one command. Its Usage prints head (usage line, what the command does, examples) and
// the flags; parse shows it on standard output for -h. A word in backquotes in a flag's text names its value.
func newFlagSet(name, head string) *flag.FlagSet {
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	fs.Usage = func() {
		fmt.Fprintln(fs.Output(), strings.TrimSpace(head))
		printFlags(fs)
	}
	return fs
}

// parse reads args, which are flags alone, into fs. When done is true the command has nothing more to do than to end with
// code: help was asked for, or what is wrong has been named.
func parse(fs *flag.FlagSet, args []string, std stdio) (code int, done bool) {
	code, done = parseWithFiles(fs, args, std)
	if !done && fs.NArg() > 0 {
		fmt.Fprintf(std.err, "shadowdiff %s: unexpected argument %q; flags begin with a dash\n", fs.Name(), fs.Arg(0))
		return exitTrouble, true
	}
	return code, done
}

// parseWithFiles is parse for a command that takes files behind its flags, in fs.Args.
func parseWithFiles(fs *flag.FlagSet, args []string, std stdio) (code int, done bool) {
	usage := fs.Usage
	fs.Usage = func() {}
	err := fs.Parse(args)
	fs.Usage = usage
	switch {
	case err == nil:
		return exitOK, false
	case errors.Is(err, flag.ErrHelp):
		fs.SetOutput(std.out)
		fs.Usage()
		return exitOK, true
	}
	fmt.Fprintf(std.err, "shadowdiff %s: %s\n", fs.Name(), flagFault(fs, err))
	return exitTrouble, true
}

// flagFault words what the flag package found, with the nearest right flag for one that does not exist.
func flagFault(fs *flag.FlagSet, err error) string {
	name, unknown := strings.CutPrefix(err.Error(), "flag provided but not defined: -")
	if !unknown {
		return worded(fs, err.Error())
	}
	if instead := fromDiffy(name); instead != "" && fs.Name() == "serve" {
		return fmt.Sprintf("-%s is Diffy's: %s", name, instead)
	}
	var names []string
	fs.VisitAll(func(f *flag.Flag) { names = append(names, f.Name) })
	if near := normalize.Nearest(name, names); near != "" {
		return fmt.Sprintf("unknown flag -%s; did you mean -%s?", name, near)
	}
	return fmt.Sprintf("unknown flag -%s; `shadowdiff %s -h` lists them", name, fs.Name())
}

// printFlags prints one flag in two lines at most: its name and value, then what it does and its default.
func printFlags(fs *flag.FlagSet) {
	first := true
	fs.VisitAll(func(f *flag.Flag) {
		if first {
			fmt.Fprint(fs.Output(), "\nFlags:\n\n")
			first = false
		}
		value, text := flag.UnquoteUsage(f)
		head := "-" + f.Name
		if value != "" {
			head += " " + value
		}
		if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "0" && f.DefValue != "0s" {
			text += " (default " + f.DefValue + ")"
		}
		fmt.Fprintf(fs.Output(), "  %-22s %s\n", head, strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", 25)))
	})
}

// worded says it shorter where the flag package and the flag's own fault both name the value, and says what is expected
// where the flag package says "parse error": of a time that is none, and of a number.
func worded(fs *flag.FlagSet, fault string) string {
	rest, invalid := strings.CutPrefix(fault, "invalid value ")
	value, err := strconv.QuotedPrefix(rest)
	if !invalid || err != nil {
		return fault
	}
	name, cause, _ := strings.Cut(strings.TrimPrefix(rest[len(value):], " for flag -"), ": ")
	f := fs.Lookup(name)
	switch {
	case f == nil:
		return fault
	case strings.Contains(cause, value):
		return "-" + name + ": " + cause
	case cause != "parse error":
		return fault
	}
	before := strings.TrimSuffix(fault, cause)
	if get, ok := f.Value.(flag.Getter); ok {
		switch get.Get().(type) {
		case time.Duration:
			return before + "give a time with its unit, as 5s, 10m or 1h30m"
		case int, int64:
			return before + "give a whole number"
		}
	}
	return fault
}
