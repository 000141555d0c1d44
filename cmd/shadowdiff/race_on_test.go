//go:build race

package main

// underRace says that the race detector slows all of this down.
const underRace = true
