package main

import (
	"fmt"

	"shadowdiff/diff"
	"shadowdiff/normalize"
)

// beside is a comparer under the rules in force of which nobody learns anything: neither what rules have done, nor what
// rules to suggest, nor how routes are called.
func (j *judging) beside() (*diff.Comparer, error) {
	rules, err := normalize.New(j.normal)
	if err != nil {
		return nil, fmt.Errorf("compiling the rules: %w", err)
	}
	return diff.NewComparer(rules, new(normalize.Names), diff.DefaultLimits()), nil
}
