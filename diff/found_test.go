package diff

import (
	"strings"
	"testing"
)

// In a body that nests deeply each pointer is as long as the body: they are bounded together, and the rest is counted.
func TestListedPointersAreBounded(t *testing.T) {
	body := func(number string) string {
		return strings.Repeat(`{"deep":[`, 4000) + number + strings.Repeat(","+number, 2000) + strings.Repeat("]}", 4000)
	}
	l, r := documentOf(t, body("1")), documentOf(t, body("2"))
	f := newFound(Limits{Differences: 100_000, Excerpt: 2 << 10, Depth: 10_000, GapPairs: 10_000, Work: 16_000_000})
	f.documents(l, r)
	size := 0
	for _, d := range f.differences {
		size += len(*d.LeftPointer) + len(*d.RightPointer)
	}
	if longest := 2 * (8000*7 + 8); !f.cut || size > mostPointers+longest || size < mostPointers {
		t.Errorf("%d differences with pointers of %d bytes, cut: %v", len(f.differences), size, f.cut)
	}
	if len(f.sums) != 1 {
		t.Errorf("%d fields", len(f.sums))
	}
	for _, s := range f.sums {
		if s.places != 2001 {
			t.Errorf("%d places are counted, want 2001", s.places)
		}
	}
}
