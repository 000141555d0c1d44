package diff

// Limits bound what one comparison may keep and how hard it may try. They never make two values equal that differ.
type Limits struct {
	Differences int // kept a side; the rest is counted but not listed
	Excerpt     int // bytes of one Excerpt
	Depth       int // levels that are walked; what lies deeper is one difference as a whole
	GapPairs    int // pairs of elements tried in one gap of an array; above it the gap is paired by position
	Work        int // steps of aligning and pairing in one comparison of two documents, then by position too
}

// DefaultLimits are those of the service: 200 differences of 2 KiB a side, 10,000 levels, 10,000 pairs in a gap, and
// sixteen million steps, a second at worst.
func DefaultLimits() Limits {
	return Limits{Differences: 200, Excerpt: 2 << 10, Depth: 10_000, GapPairs: 10_000, Work: 16_000_000}
}
