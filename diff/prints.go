package diff

import "math/bits"

// prints are fingerprints of all beginnings of both arrays, from which that of any stretch follows: its elements as
// the digits of a number to an odd base, modulo the prime 2^61 - 1 (Karp and Rabin, "Efficient randomized
// pattern-matching algorithms", 1987). Equal stretches have equal ones; what they find is compared before it is believed.
type prints struct {
	left, right, power []uint64
}

const (
	printPrime = 1<<61 - 1
	printBase  = 0x1d3a5b79c4e6f081
)

// printTimes multiplies modulo 2^61 - 1.
func printTimes(x, y uint64) uint64 {
	hi, lo := bits.Mul64(x, y)
	sum := lo&printPrime + (hi<<3 | lo>>61)
	sum = sum&printPrime + sum>>61
	if sum >= printPrime {
		sum -= printPrime
	}
	return sum
}

func printsOf(s []int32) []uint64 {
	p := make([]uint64, len(s)+1)
	for i, c := range s {
		p[i+1] = printTimes(p[i], printBase) + uint64(c) + 1
		if p[i+1] >= printPrime {
			p[i+1] -= printPrime
		}
	}
	return p
}

// stretch returns the fingerprint of n elements from i on.
func (p *prints) stretch(side []uint64, i, n int) uint64 {
	whole, before := side[i+n], printTimes(side[i], p.power[n])
	if whole < before {
		whole += printPrime
	}
	return whole - before
}

// longest finds the longest block of an area by searching for its length: whether there is a block of a given length is
// asked of the fingerprints. It answers false when the work is used up.
func (a *aligner) longest(at area) (block, bool) {
	a.fingerprint()
	best := block{at.i0, at.j0, 0}
	for best.i+best.n < at.i1 && best.j+best.n < at.j1 && a.left[best.i+best.n] == a.right[best.j+best.n] {
		best.n++
	}
	over := min(at.i1-at.i0, at.j1-at.j0) + 1 // no block is as long as that
	for step := 1; best.n+1 < over; {
		n := best.n + step
		if n >= over {
			n = (best.n + over) / 2
		}
		if *a.work < 0 {
			return block{}, false
		}
		if b, ok := a.first(at, n); ok {
			best, step = a.longer(at, b), 2*step
		} else {
			over, step = n, max(step/2, 1)
		}
	}
	if best.n == 0 {
		return block{}, false
	}
	if best.i == at.i0 && best.j == at.j0 {
		return best, true // nothing of that length lies further left
	}
	return a.first(at, best.n)
}

func (a *aligner) fingerprint() {
	if a.prints.power != nil {
		return
	}
	power := make([]uint64, max(len(a.left), len(a.right))+1)
	power[0] = 1
	for i := range power[1:] {
		power[i+1] = printTimes(power[i], printBase)
	}
	a.prints = prints{printsOf(a.left), printsOf(a.right), power}
}

// first finds the leftmost block of n elements.
func (a *aligner) first(at area, n int) (block, bool) {
	*a.work -= at.i1 - at.i0 + at.j1 - at.j0
	places := make(map[uint64]int32, at.j1-at.j0-n+1)
	for j := at.j1 - n; j >= at.j0; j-- {
		places[a.prints.stretch(a.prints.right, j, n)] = int32(j)
	}
	for i := at.i0; i+n <= at.i1; i++ {
		if j, ok := places[a.prints.stretch(a.prints.left, i, n)]; ok && a.same(i, int(j), n) {
			return block{i, int(j), n}, true
		}
	}
	return block{}, false
}

func (a *aligner) same(i, j, n int) bool {
	for k := range n {
		if a.left[i+k] != a.right[j+k] {
			return false
		}
	}
	return true
}

// longer extends a block to the right as far as it goes.
func (a *aligner) longer(at area, b block) block {
	for b.i+b.n < at.i1 && b.j+b.n < at.j1 && a.left[b.i+b.n] == a.right[b.j+b.n] {
		b.n++
	}
	return b
}
