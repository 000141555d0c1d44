package web

import (
	"context"
	"fmt"
	"strconv"

	"shadowdiff/diff"
	"shadowdiff/store"
)

// Rulebook is how rules are changed and tried through this server.
type Rulebook struct {
	// Change puts other rules in force, all of the change or nothing, for the requests that come from now on. What begins is
	// done to its end, whatever becomes of ctx.
	Change func(ctx context.Context, c RuleChange) (RuleChanged, error)

	// Try readies the rules in force and those that a change would make. The change may also remove rules of the file.
	Try func(c RuleChange) (*RuleTrial, error)
}

// RuleChange is a change of the rules. Where it cannot be made the error is a RulesRefused.
type RuleChange struct {
	Actor  string
	Add    string   // one rule or a list of them, in YAML or JSON as in the configuration; empty: none
	Remove []string // ids, as Rule.ID has them
}

// RuleChanged is what came of it.
type RuleChanged struct {
	Rules []Rule    // those that were added, or removed
	Run   store.Run // in force now
	Begun bool      // it was begun by the change: the rules, compiled, are others than before
}

// RuleTrial has two sets of rules to be held against each other. Nothing that they compare counts anywhere.
type RuleTrial struct {
	Before, After *diff.Comparer
	Added         func() []Rule // those of After that Before has not, with what they have done so far
	Begins        bool          // putting After in force would begin a run: the rules, compiled, are others
}

// RulesRefused is why rules cannot be changed so.
type RulesRefused struct {
	Reason  string  // for people: what, and what to do about it
	Faults  []Fault // of the text that was given
	Missing bool    // a rule that is named is not there
}

func (r *RulesRefused) Error() string { return r.Reason }

// FileRule begins the id of a rule that stands in the configuration file.
const FileRule = "file:"

// ID names the rule: the number of one that was added by API, and for one of the file its place there, "file:0".
func (r *Rule) ID() string {
	if r.Stored != nil {
		return strconv.FormatInt(r.Stored.ID, 10)
	}
	return fmt.Sprint(FileRule, r.Usage.Index)
}
