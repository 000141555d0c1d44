package main

import "fmt"

// position is a place in a configuration file, both from 1. The zero position is no place in it.
type position struct{ line, column int }

// fault is one thing wrong with the configuration: in the file at a position, or with a flag.
type fault struct {
	source  string // the file's name as it was given, or the flag's with its dash
	at      position
	message string
}

// line is the fault as a command prints it: FILE:LINE:COLUMN: MESSAGE, or with the command where no file is at fault.
func (f fault) line(command string) string {
	switch {
	case f.at.line > 0:
		return fmt.Sprintf("%s:%d:%d: %s", f.source, f.at.line, f.at.column, f.message)
	case f.source != "":
		return fmt.Sprintf("shadowdiff %s: %s: %s", command, f.source, f.message)
	default:
		return fmt.Sprintf("shadowdiff %s: %s", command, f.message)
	}
}
