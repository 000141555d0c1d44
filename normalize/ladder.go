package normalize

import (
	"fmt"
	"sort"
	"strings"
)

// Ladder is a list of tolerances, each wider than the one before, in round figures.
type Ladder []Rung

// Rung is one of them.
type Rung struct {
	Within    string // as a tolerate rule has it
	tolerance *Tolerance
}

// Reach is the first rung, from one on, on which two values are equal; len(l) where they are on none.
func (l Ladder) Reach(a, b *Value, from int) int {
	holds := func(i int) bool { return l[i].tolerance.Close(a, b) }
	if from >= len(l) || holds(from) {
		return from
	}
	from++
	return from + sort.Search(len(l)-from, func(i int) bool { return holds(from + i) })
}

// NumberLadder has 1, 2 and 5 times the powers of ten from 1e-12 to 1e18.
func NumberLadder() Ladder {
	var texts []string
	for power := -12; power <= 18; power++ {
		for _, digit := range []string{"1", "2", "5"} {
			texts = append(texts, decimalText(digit, power))
		}
	}
	return newLadder(texts)
}

// ShareLadder has shares of the larger number from 0.001 % to 50 %.
func ShareLadder() Ladder {
	var texts []string
	for power := -3; power <= 1; power++ {
		for _, digit := range []string{"1", "2", "5"} {
			texts = append(texts, decimalText(digit, power)+"%")
		}
	}
	return newLadder(texts)
}

// TimeLadder has durations from a microsecond to an hour.
func TimeLadder() Ladder {
	var texts []string
	for _, unit := range []string{"us", "ms"} {
		for _, n := range []int{1, 2, 5, 10, 20, 50, 100, 200, 500} {
			texts = append(texts, fmt.Sprint(n, unit))
		}
	}
	return newLadder(append(texts, "1s", "2s", "3s", "5s", "10s", "20s", "30s", "1m", "2m", "5m", "10m", "15m", "30m", "1h"))
}

// decimalText writes a digit times a power of ten without an exponent.
func decimalText(digit string, power int) string {
	if power < 0 {
		return "0." + strings.Repeat("0", -power-1) + digit
	}
	return digit + strings.Repeat("0", power)
}

func newLadder(texts []string) Ladder {
	ladder := make(Ladder, len(texts))
	for i, text := range texts {
		ladder[i].Within = text
		ladder[i].tolerance, _ = parseTolerance(text) // constants; a test reads all of them
	}
	return ladder
}
