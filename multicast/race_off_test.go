//go:build !race

package multicast

// crowded is how many shadows a test lets hang at once.
const crowded = 3000
