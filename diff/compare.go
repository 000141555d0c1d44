package diff

import "shadowdiff/normalize"

// Compare lists how right differs from left: status, headers, cookies, trailers, then the body in the left one's order.
// When cut is true there were more differences than limits.Differences; each field that differs is then still listed
// once as long as there are no more than twice as many.
func Compare(left, right *normalize.Document, limits Limits) (differences []Difference, cut bool) {
	f := newFound(limits)
	f.documents(left, right)
	return f.differences, f.cut
}

func (f *found) documents(l, r *normalize.Document) {
	f.heads(l, r)
	f.bodies(&l.Body, &r.Body)
}
