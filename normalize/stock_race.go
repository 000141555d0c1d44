//go:build race

package normalize

// poisoned has the values that are given back overwritten.
const poisoned = true
