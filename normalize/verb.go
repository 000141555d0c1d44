package normalize

import (
	"fmt"
	"slices"
	"strings"
)

// verb is what a rule does.
type verb uint8

const (
	verbDrop verb = iota
	verbSort
	verbPair
	verbRound
	verbTolerate
	verbMask
	verbMaskKeys
	verbRename
	verbLower
	verbTrim
	verbSqueeze
	verbNFC
	verbCoerce
	verbAbsent
	verbParse
	verbPresent
	verbs // how many there are
)

func (v verb) String() string {
	return [...]string{
		"drop", "sort", "pair", "round", "tolerate", "mask", "mask_keys", "rename", "lower", "trim", "squeeze", "nfc", "coerce",
		"absent", "parse", "present",
	}[v]
}

// fields is what each verb of a rule names, by verb; "" where the rule does not have it.
func (c *RuleConfig) fields() [verbs]string {
	return [verbs]string{
		c.Drop, c.Sort, c.Pair, c.Round, c.Tolerate, c.Mask, c.MaskKeys, c.Rename, c.Lower, c.Trim, c.Squeeze, c.NFC, c.Coerce,
		c.Absent, c.Parse, c.Present,
	}
}

// setting is a key beside the verb that says how it is done.
type setting struct {
	name    string
	given   bool
	verbs   []verb // that take it
	example string // of a verb that needs it; "" when it may be left out
}

func (c *RuleConfig) settings() []setting {
	return []setting{
		{"by", len(c.By) > 0, []verb{verbPair}, "by: id, or by: [region, id]"},
		{"to", c.To != "", []verb{verbRound, verbRename, verbCoerce}, ""}, // each says what it needs it for
		{"within", c.Within != "", []verb{verbTolerate}, "within: 0.01, 1% or 2s"},
		{"pattern", c.Pattern != "", []verb{verbMask, verbMaskKeys}, `pattern: "[0-9a-f]{32}"`},
		{"with", c.With != nil, []verb{verbMask, verbMaskKeys}, ""},
		{"numbered", c.Numbered, []verb{verbMask, verbMaskKeys}, ""},
		{"when", c.When != "", []verb{verbAbsent}, "when: null, when: empty, or a JSON value"},
		{"as", c.As != "", []verb{verbParse}, "as: json, base64, jwt, query or url"},
	}
}

// checkSettings tells which settings the verb lacks, and which belong to others.
func (c *RuleConfig) checkSettings(v verb) []error {
	var faults []error
	for _, s := range c.settings() {
		switch takes := slices.Contains(s.verbs, v); {
		case s.given && !takes:
			faults = append(faults, fmt.Errorf(".%s: %s takes no %s: it belongs to %s", s.name, v, s.name, listVerbs(s.verbs)))
		case !s.given && takes && s.example != "":
			faults = append(faults, fmt.Errorf(".%s: %s needs it: write %s", s.name, v, s.example))
		}
	}
	return faults
}

// verb finds the one verb of a rule.
func (c *RuleConfig) verb() (verb, error) {
	var have []verb
	fields := c.fields()
	for v, field := range fields {
		if field != "" {
			have = append(have, verb(v))
		}
	}
	switch len(have) {
	case 1:
		return have[0], nil
	case 0:
		for _, s := range c.settings() {
			if s.given {
				return 0, fmt.Errorf(": a rule needs a verb with a field: %s belongs to %s", s.name, listVerbs(s.verbs))
			}
		}
		return 0, fmt.Errorf(": a rule needs a verb with a field, as in drop: body.id; the verbs are %s", strings.Join(verbWords(), ", "))
	}
	return 0, fmt.Errorf(": a rule has one verb, this one has %s: make it %s rules",
		listVerbs(have), [...]string{"two", "three", "four", "several"}[min(len(have)-2, 3)])
}

func verbWords() []string {
	var words []string
	for v := range verbs {
		words = append(words, v.String())
	}
	return words
}

// listVerbs writes verbs as a sentence has them: "mask and mask_keys".
func listVerbs(list []verb) string {
	var words []string
	for _, v := range list {
		words = append(words, v.String())
	}
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " and " + words[last]
}

// checkKeys tells what is wrong with keys beyond those of RuleConfig.
func (c *RuleConfig) checkKeys() []error {
	words := append(verbWords(), "route", "role")
	for _, s := range c.settings() {
		words = append(words, s.name)
	}
	slices.Sort(words)
	var faults []error
	for _, key := range sortedKeys(c.Other) {
		if near := Nearest(strings.ToLower(key), words); near != "" {
			faults = append(faults, fmt.Errorf(".%s: unknown key; did you mean %q?", key, near))
		} else {
			faults = append(faults, fmt.Errorf(".%s: unknown key; a rule has a verb, its settings, route and role", key))
		}
	}
	return faults
}

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// covers tells whether the verb takes what is below its field as well, without a ** behind it.
func (v verb) covers() bool {
	switch v {
	case verbRound, verbTolerate, verbMask, verbMaskKeys, verbLower, verbTrim, verbSqueeze, verbNFC, verbCoerce, verbAbsent:
		return true
	}
	return false
}

// ordered tells whether it matters before which other rules one with this verb stands.
func (v verb) ordered() bool {
	switch v {
	case verbDrop, verbSort, verbAbsent, verbPresent:
		return false
	}
	return true
}
