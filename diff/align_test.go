package diff

import (
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// slowAlign is the definition, word for word.
func slowAlign(left, right []int32) []block {
	var best block
	for i := range left {
		for j := range right {
			n := 0
			for i+n < len(left) && j+n < len(right) && left[i+n] == right[j+n] {
				n++
			}
			if n > best.n {
				best = block{i, j, n}
			}
		}
	}
	if best.n == 0 {
		return nil
	}
	after := slowAlign(left[best.i+best.n:], right[best.j+best.n:])
	for k := range after {
		after[k].i += best.i + best.n
		after[k].j += best.j + best.n
	}
	return append(append(slowAlign(left[:best.i], right[:best.j]), best), after...)
}

func drawClasses(t *rapid.T, label string, classes int) []int32 {
	return rapid.SliceOfN(rapid.Int32Range(0, int32(classes-1)), 0, 60).Draw(t, label)
}

func TestAlignmentIsTheLongestBlockFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		classes := rapid.IntRange(1, 30).Draw(t, "classes")
		left, right := drawClasses(t, "left", classes), drawClasses(t, "right", classes)
		work := 1 << 30
		got, given := align(left, right, classes, &work)
		if want := slowAlign(left, right); !slices.Equal(got, want) || len(given) > 0 {
			t.Fatalf("blocks %v, given up %v, want %v", got, given, want)
		}
	})
}

// TestFingerprintsFindTheSameBlocks takes the road for arrays with many equal elements on small ones.
func TestFingerprintsFindTheSameBlocks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		classes := rapid.IntRange(1, 8).Draw(t, "classes")
		left, right := drawClasses(t, "left", classes), drawClasses(t, "right", classes)
		work := 1 << 30
		a := &aligner{left: left, right: right, work: &work, seen: make([]int32, classes)}
		got, ok := a.longest(area{0, len(left), 0, len(right)})
		want := block{}
		for _, b := range slowAlign(left, right) {
			if b.n > want.n {
				want = b
			}
		}
		if ok != (want.n > 0) || got != want {
			t.Fatalf("longest %v %v, want %v", got, ok, want)
		}
	})
}

func TestAlignmentOfLongArrays(t *testing.T) {
	const n = 12_000
	count := func(f func(i int) int32) []int32 {
		s := make([]int32, n)
		for i := range s {
			s[i] = f(i)
		}
		return s
	}
	random := func(classes int32, seed uint64) []int32 {
		r := rand.New(rand.NewPCG(seed, 0))
		return count(func(int) int32 { return r.Int32N(classes) })
	}
	bits := random(2, 1)
	flipped := slices.Clone(bits)
	flipped[n/2] = 1 - flipped[n/2]
	for _, test := range []struct {
		name        string
		left, right []int32
		blocks      int  // at most; -1: any
		given       bool // some of it, because the work is used up
	}{
		{"equal", count(func(i int) int32 { return int32(i) }), count(func(i int) int32 { return int32(i) }), 1, false},
		{"nothing in common", count(func(i int) int32 { return int32(i) }), count(func(i int) int32 { return int32(n + i) }), 0, false},
		{"one in front", count(func(i int) int32 { return int32(i) }), count(func(i int) int32 { return int32(i + 1) }), 1, false},
		{"reversed", count(func(i int) int32 { return int32(i) }), count(func(i int) int32 { return int32(n - 1 - i) }), 1, false},
		{"every second one kept", count(func(i int) int32 { return int32(i) }), count(func(i int) int32 { return int32(i + i%2*n) }), n / 2, false},
		{"all alike", make([]int32, n), make([]int32, n-7), 1, false},
		{"one bit of many flipped", bits, flipped, 2, false},
		{"random bits", bits, random(2, 7), -1, false},
		{"random digits", random(10, 3), random(10, 9), -1, false},
		{"runs of two lengths", count(func(i int) int32 { return int32(i % 3 / 2) }), count(func(i int) int32 { return int32(i % 5 / 4) }), -1, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			work := DefaultLimits().Work
			blocks, given := align(test.left, test.right, 2*n, &work)
			t.Logf("%d blocks, %d areas given up, %d steps left", len(blocks), len(given), work)
			if test.blocks >= 0 && len(blocks) > test.blocks {
				t.Errorf("%d blocks, want at most %d", len(blocks), test.blocks)
			}
			if len(given) > 0 != test.given {
				t.Errorf("areas given up: %v", given)
			}
			end := block{}
			for _, b := range blocks {
				if b.i < end.i+end.n || b.j < end.j+end.n || !slices.Equal(test.left[b.i:b.i+b.n], test.right[b.j:b.j+b.n]) {
					t.Fatalf("block %v after %v", b, end)
				}
				end = b
			}
		})
	}
}
