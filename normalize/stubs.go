package normalize

import "regexp"

// The verbs that change one value, each until its own file is there.

// newRound rounds numbers to so many decimals, which may be negative: -2 is hundreds.
func newRound(places int) valueChange { return func(*Value) bool { return false } }

// newMask replaces what an expression matches.
func newMask(re *regexp.Regexp, with string, numbered bool) textChange { return sameText }

func newLower() textChange   { return sameText }
func newTrim() textChange    { return sameText }
func newSqueeze() textChange { return sameText }
func newNFC() textChange     { return sameText }

// newCoerce turns scalars into number, string, bool or time where they can be read as one. Its error says what else `to`
// may be.
func newCoerce(to string) (valueChange, error) { return func(*Value) bool { return false }, nil }

// parseTolerance reads what stands behind within: 0.01, 1% or 2s. Its error says what is possible.
func parseTolerance(text string) (*Tolerance, error) { return &Tolerance{}, nil }

// takes tells whether the tolerance is one for a value: of numbers for a number, of times for a time.
func (t *Tolerance) takes(v *Value) bool { return v.Type == Number }

// String is the tolerance's canonical text: two that are the same are spelt the same.
func (t *Tolerance) String() string { return "" }

func sameText(text string, _ *numbering) string { return text }
