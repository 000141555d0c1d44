//go:build !race

package multicast

// poisoned has the room that a stock takes back overwritten.
const poisoned = false
