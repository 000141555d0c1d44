package main

import "fmt"

func runServe(args []string, std stdio) int {
	fmt.Fprintln(std.err, "shadowdiff serve: not in this version yet")
	return exitTrouble
}
