package diff

import "shadowdiff/normalize"

// Compare lists how right differs from left: status, headers, cookies, trailers, then the body, each in the order of the
// left. When cut is true there were more differences than limits.Differences.
func Compare(left, right *normalize.Document, limits Limits) (differences []Difference, cut bool) {
	panic("diff: being built")
}
