package main

import "fmt"

func runCheck(args []string, std stdio) int {
	fmt.Fprintln(std.err, "shadowdiff check: not in this version yet")
	return exitTrouble
}
