//go:build race

package multicast

// crowded is how many shadows a test lets hang at once: the race detector takes milliseconds for each.
const crowded = 800
