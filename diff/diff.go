// Package diff compares: two documents into differences, the two comparisons of an exchange into one Comparison,
// comparisons into tallies, and tallies into a verdict.
//
//	Document × 2 ──► []Difference ──► Comparison ──► Tally ──► Verdict
//
// It promises that a verdict is a function of the counts alone, so that it may be watched, merged and computed again.
// It holds no goroutine, clock, file or log.
package diff
