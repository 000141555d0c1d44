package web

import "math"

// whisker is an interval with its estimate, drawn by the server. All whiskers share one scale, the signed cube root of
// the share from −100 % to +100 %: the same length means the same on every page and at every moment, and a budget of
// 0.1 % can still be told from nothing.
type whisker struct {
	Lo, At, Hi float64 // across, in hundredths of the width
	Budget     float64
	Zero       float64
	Over       bool   // the interval lies above the budget as a whole
	Under      bool   // it lies at or below the budget as a whole
	Label      string // the same in words, for those who do not see it
}

// across is where a share stands on the scale, from 0 to 100.
func across(x float64) float64 {
	return math.Round(1000*(50+50*math.Cbrt(min(1, max(-1, x))))) / 1000
}

// whiskerOf draws an excess, its interval and the budget.
func whiskerOf(at float64, bounds [2]float64, budget float64) whisker {
	return whisker{
		Lo: across(bounds[0]), At: across(at), Hi: across(bounds[1]), Budget: across(budget), Zero: 50,
		Over: bounds[0] > budget, Under: bounds[1] <= budget,
		Label: "excess " + rate(at, bounds[1]-bounds[0]) + ", between " + between(bounds[0], bounds[1]) +
			"; the budget is " + plain(budget),
	}
}

// leaning is the whisker of a difference for which no budget counts, and whose sign has no good side.
func (w whisker) leaning() whisker {
	w.Over, w.Under = w.Lo > w.Zero || w.Hi < w.Zero, false
	return w
}

// tick is one mark of the scale above a column of whiskers.
type tick struct {
	X     float64
	Label string
	Minor bool // left out where there is little room
}

// ticks of the scale; the same everywhere.
func ticks() []tick {
	return []tick{
		{across(-.1), "−10", false}, {across(-.01), "−1", true}, {50, "0", false}, {across(.01), "1", true}, {across(.1), "10\u202f%", false},
	}
}

// bar is a rate as a length, linear from 0 to the largest in its table.
type bar struct{ Candidate, Control float64 }

func barOf(candidate, control, most float64) bar {
	if most <= 0 {
		return bar{}
	}
	scale := func(x float64) float64 { return math.Round(1e4*x/most) / 100 }
	return bar{Candidate: scale(candidate), Control: scale(control)}
}
