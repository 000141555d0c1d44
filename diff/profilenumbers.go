package diff

import (
	"cmp"
	"math"
	"slices"
)

// Numbers holds a distribution of numbers, negative ones and zero included, from which quantiles are read with a known
// relative error: 1 % as long as what is in it lies close together, and twice as much each time that its bins become too
// many and are joined two by two. It takes 1 KiB at most, merges without loss beyond that, and the zero Numbers is empty.
//
// Source: Epicoco, Melle, Cafaro, Pulimeno and Morleo, "UDDSketch: accurate tracking of quantiles in data streams"
// (IEEE Access 2020, arXiv 2004.08604), with one list of bins for either sign.
type Numbers struct {
	level    uint8 // how often the bins were joined
	zeros    int64
	positive []numberBin // sorted by index
	negative []numberBin // of the numbers without their sign
	least    float64     // exact; meaningless when empty
	most     float64
}

// numberBin counts the numbers in (γ^(index-1), γ^index], γ being that of the level.
type numberBin struct {
	index int32
	count int64
}

const (
	numberBins   = 64 // of both signs together
	numberLevels = 20 // by then there is one bin for everything
)

// lnGamma is ln γ of level 0, for a relative error of sketchError.
var lnGamma = math.Log((1 + sketchError) / (1 - sketchError))

// Add counts one number; what is not finite counts as the greatest there is, or the least.
func (n *Numbers) Add(x float64) {
	if math.IsNaN(x) {
		return
	}
	x = min(max(x, -math.MaxFloat64), math.MaxFloat64)
	if n.Count() == 0 {
		n.least, n.most = x, x
	}
	n.least, n.most = min(n.least, x), max(n.most, x)
	switch {
	case x == 0:
		n.zeros++
		return
	case x > 0:
		n.positive = addBin(n.positive, n.index(x), 1)
	default:
		n.negative = addBin(n.negative, n.index(-x), 1)
	}
	n.shrink()
}

// index is the bin of a number above 0.
func (n *Numbers) index(x float64) int32 {
	i := int32(math.Ceil(math.Log(x) / lnGamma))
	for range n.level {
		i = joined(i)
	}
	return i
}

// joined is where a bin goes when the bins are joined two by two: ⌈i/2⌉.
func joined(i int32) int32 { return (i + 1) >> 1 }

// addBin counts in a bin, which it makes where there is none.
func addBin(bins []numberBin, index int32, count int64) []numberBin {
	at, found := slices.BinarySearchFunc(bins, index, func(b numberBin, i int32) int { return cmp.Compare(b.index, i) })
	if found {
		bins[at].count += count
		return bins
	}
	return slices.Insert(bins, at, numberBin{index, count})
}

// shrink joins bins until they are few enough.
func (n *Numbers) shrink() {
	for len(n.positive)+len(n.negative) > numberBins && n.level < numberLevels {
		n.coarsen()
	}
}

func (n *Numbers) coarsen() {
	n.level++
	n.positive, n.negative = joinBins(n.positive), joinBins(n.negative)
}

func joinBins(bins []numberBin) []numberBin {
	out := bins[:0]
	for _, b := range bins {
		b.index = joined(b.index)
		if last := len(out) - 1; last >= 0 && out[last].index == b.index {
			out[last].count += b.count
		} else {
			out = append(out, b)
		}
	}
	return out
}

// Count is how many numbers were added.
func (n *Numbers) Count() int64 {
	count := n.zeros
	for _, bins := range [2][]numberBin{n.positive, n.negative} {
		for _, b := range bins {
			count += b.count
		}
	}
	return count
}

// Error is the greatest relative error of a quantile by now.
func (n *Numbers) Error() float64 { return math.Tanh(n.width() / 2) }

// width is ln γ of the level.
func (n *Numbers) width() float64 { return math.Ldexp(lnGamma, int(n.level)) }

// Least and Most are exact; 0 when nothing was added.
func (n *Numbers) Least() float64 { return n.least }

// Most is the greatest number that was added.
func (n *Numbers) Most() float64 { return n.most }

// Quantile returns the number below which the share q of all lies, and false when nothing was added or q is not within 0
// and 1.
func (n *Numbers) Quantile(q float64) (float64, bool) {
	count := n.Count()
	if count == 0 || !(q >= 0 && q <= 1) {
		return 0, false
	}
	rank := int64(q * float64(count-1))
	switch { // the ends are known
	case rank == 0:
		return n.least, true
	case rank == count-1:
		return n.most, true
	}
	for _, b := range n.Bins() {
		if rank -= b.Count; rank < 0 {
			return min(max(n.middle(b), n.least), n.most), true
		}
	}
	return n.most, true
}

// middle is the number from which both ends of a bin are equally far in proportion.
func (n *Numbers) middle(b NumberBin) float64 {
	switch {
	case b.To > 0 && b.From >= 0:
		return b.To * (1 - n.Error())
	case b.From < 0 && b.To <= 0:
		return b.From * (1 - n.Error())
	}
	return 0
}

// NumberBin counts the numbers from one to another; zero has a bin of its own, from 0 to 0.
type NumberBin struct {
	From, To float64
	Count    int64
}

// Bins lists what holds anything, from the least numbers to the greatest.
func (n *Numbers) Bins() []NumberBin {
	out := make([]NumberBin, 0, len(n.negative)+len(n.positive)+1)
	for i := len(n.negative) - 1; i >= 0; i-- {
		b := &n.negative[i]
		out = append(out, NumberBin{-n.edge(b.index), -n.edge(b.index - 1), b.count})
	}
	if n.zeros > 0 {
		out = append(out, NumberBin{Count: n.zeros})
	}
	for _, b := range n.positive {
		out = append(out, NumberBin{n.edge(b.index - 1), n.edge(b.index), b.count})
	}
	return out
}

// edge is the greatest number of a bin.
func (n *Numbers) edge(index int32) float64 {
	return min(math.Exp(float64(index)*n.width()), math.MaxFloat64)
}

// Merge adds everything that o holds; o stays as it is.
func (n *Numbers) Merge(o *Numbers) {
	if o.Count() == 0 {
		return
	}
	from := o.Clone()
	if n.Count() == 0 {
		*n = from
		return
	}
	n.least, n.most = min(n.least, from.least), max(n.most, from.most)
	n.align(&from)
	n.zeros += from.zeros
	for _, b := range from.positive {
		n.positive = addBin(n.positive, b.index, b.count)
	}
	for _, b := range from.negative {
		n.negative = addBin(n.negative, b.index, b.count)
	}
	n.shrink()
}

// align brings two to the coarser level of both.
func (n *Numbers) align(o *Numbers) {
	for n.level < o.level {
		n.coarsen()
	}
	for o.level < n.level {
		o.coarsen()
	}
}

// Clone returns a copy that shares nothing with n.
func (n *Numbers) Clone() Numbers {
	c := *n
	c.positive, c.negative = slices.Clone(n.positive), slices.Clone(n.negative)
	return c
}

// AlignNumbers returns copies that have the same bins, few enough to be drawn beside each other: most of them at most.
func AlignNumbers(most int, all ...*Numbers) []Numbers {
	out := make([]Numbers, len(all))
	level := uint8(0)
	for i, n := range all {
		out[i] = n.Clone()
		level = max(level, n.level)
	}
	for ; ; level++ {
		seen := map[[2]float64]bool{}
		for i := range out {
			for out[i].level < level {
				out[i].coarsen()
			}
			for _, b := range out[i].Bins() {
				seen[[2]float64{b.From, b.To}] = true
			}
		}
		if len(seen) <= most || level >= numberLevels {
			return out
		}
	}
}

// Before tells whether a bin lies below another.
func (b NumberBin) Before(o NumberBin) bool {
	return b.To < o.To || b.To == o.To && b.From < o.From
}
