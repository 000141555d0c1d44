package main

import (
	"math/rand/v2"
	"testing"

	"shadowdiff/diff"
)

// The Diffy's rule, where it errs and where it does not.
func TestDiffysRuleIsTheirs(t *testing.T) {
	for _, c := range []struct {
		requests, raw, noise int64
		flagged              bool
	}{
		{1, 1, 0, true},
		{3333, 1, 0, true},
		{3334, 1, 0, false},
		{10_000, 3, 0, false},
		{1000, 120, 80, false},
		{1000, 121, 80, true},
		{1000, 1000, 700, false},
		{1000, 1000, 600, true},
		{1000, 500, 1000, false},
	} {
		if got := diffyFlags(c.raw, c.noise, c.requests); got != c.flagged {
			t.Errorf("%d and %d of %d: flagged %v", c.raw, c.noise, c.requests, got)
		}
	}
}

// What is watched with marks what the product's judge does, where there are faults, too.
func TestTheWatcherMarksWhatTheJudgeDoes(t *testing.T) {
	for _, w := range worlds() {
		if err := checked(w.begin(rand.New(rand.NewPCG(1, 1))), 200); err != nil {
			t.Errorf("%s: %v", w.name, err)
		}
	}
	if err := checked(arrival{40, 40, 5, 0.01, 0.1, 0.05, false}.begin(rand.New(rand.NewPCG(2, 2))), 600); err != nil {
		t.Error(err)
	}
}

func TestTheMarginIsThatOfChance(t *testing.T) {
	for _, c := range [][2]int{{20, 6}, {100, 14}, {400, 38}, {20_000, 1116}} {
		if got := most(c[0]); got < c[1]-1 || got > c[1]+1 {
			t.Errorf("of %d runs %d may go wrong, want about %d", c[0], got, c[1])
		}
	}
}

func TestARealDifferenceIsFound(t *testing.T) {
	r := real{"", 0.05, 0, 0, diff.Evidence}
	w := r.watched(rand.New(rand.NewPCG(3, 3)), 10_000)
	if w.twenty == 0 || w.confirmed <= w.twenty || w.diffy == 0 || !w.still {
		t.Errorf("%+v", w)
	}
	if w := (real{"", 0, 0, 1, diff.Evidence}).watched(rand.New(rand.NewPCG(3, 3)), 1000); w != (when{}) {
		t.Errorf("noise alone: %+v", w)
	}
}
