package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"shadowdiff/diff"
	"shadowdiff/normalize"
	"shadowdiff/store"
)

// calibrateFlag stands among the flags by its own name, since no key of the configuration does what it does.
const calibrateFlag = "-calibrate"

// addCalibrateFlags defines the two; calibration adds what they say to those that were given.
func addCalibrateFlags(fs *flag.FlagSet) {
	fs.Bool("calibrate", false, "measure the set-up itself: ask the secondary in the candidate's place, too")
	fs.String("calibrate-url", "", "calibrate with this `URL` in the candidate's place: another instance of the same known-good code")
}

func calibration(fs *flag.FlagSet, given flagValues) {
	on, address := fs.Lookup("calibrate").Value.String() == "true", fs.Lookup("calibrate-url").Value.String()
	if on || address != "" {
		given[calibrateFlag] = flagValue{calibrateFlag, address}
	}
}

// calibrate makes of a configuration one in which known-good code answers in the candidate's place: at an address of its
// own, or without one the secondary again. It is treated as the secondary is, and what holds for a candidate alone is left
// out, so that the pair is fair.
func (c *config) calibrate(address string) error {
	if c.Secondary == "" {
		return errors.New("-calibrate: there must be a secondary, which the known-good code in the candidate's place is held against")
	}
	if address != "" {
		if u, err := url.Parse(address); err != nil || u.Host == "" {
			return fmt.Errorf("-calibrate-url: must be a URL such as http://127.0.0.1:9004, is %q", address)
		}
		if strings.TrimSuffix(address, "/") == strings.TrimSuffix(c.Primary, "/") {
			return errors.New("-calibrate-url: is the primary itself, which serves the clients; give an instance of its own")
		}
	}
	c.Calibrate = true
	c.Candidate = cmp.Or(address, c.Secondary)
	c.Shadow.Candidate = c.Shadow.Secondary
	c.Run = diff.CalibrationRun
	c.Normalize.Rules = slices.DeleteFunc(slices.Clone(c.Normalize.Rules), func(r normalize.RuleConfig) bool { return r.Role != "" })
	return nil
}

// calibrating says so, to those who would take the run for a candidate's.
func (c *config) calibrating() []string {
	switch {
	case !c.Calibrate:
		return nil
	case c.Candidate == c.Secondary:
		return []string{"calibrating: the secondary is asked twice, and no candidate; what is found is the set-up's own, but for what only another instance would show"}
	}
	return []string{"calibrating: known-good code at " + c.Candidate + " is asked, and no candidate; what is found is the set-up's own"}
}

// mayBeCalled tells whether a run may have a name: that of calibrations is theirs alone, and they have no other.
func (c *config) mayBeCalled(name string) error {
	switch {
	case c.Calibrate && name != "" && name != diff.CalibrationRun:
		return fmt.Errorf("shadowdiff calibrates (serve -calibrate): its runs are called %q and nothing else: %w", diff.CalibrationRun, store.ErrRunText)
	case !c.Calibrate && name == diff.CalibrationRun:
		return fmt.Errorf("name %q: is that of runs in which known-good code is asked (serve -calibrate): %w", name, store.ErrRunText)
	}
	return nil
}

// kept is the fingerprint of rules as a run has it: no run of a candidate goes on where one of known-good code ended, nor
// one of clients where a replay did.
func (c *config) kept(rules string) string {
	switch {
	case c.Calibrate:
		return diff.CalibrationRun + " " + rules
	case c.Replay:
		return "replay " + rules
	}
	return rules
}

// ofARelease refuses the verdict on a set-up where one on a candidate is waited for.
func (g *gate) ofARelease(look *state) error {
	for _, p := range look.services {
		if p.run.Name == diff.CalibrationRun && g.run != diff.CalibrationRun {
			return fmt.Errorf("%s calibrates: known-good code answers in the candidate's place, and its verdict is on no release; give -run %s to judge the set-up itself",
				p.url, diff.CalibrationRun)
		}
	}
	return nil
}

// forBoth leaves out, and puts aside, the stored rules for a candidate alone where there is none.
func (c *config) forBoth(stored []store.Rule, set *ruleSet) []store.Rule {
	if !c.Calibrate {
		return stored
	}
	var both []store.Rule
	for i := range stored {
		if rule, err := storedRule(&stored[i]); err == nil && rule.Role != "" {
			set.aside = append(set.aside, asideRule{stored[i], "it is for the candidate alone, and known-good code answers in its place (serve -calibrate)"})
			continue
		}
		both = append(both, stored[i])
	}
	return both
}
