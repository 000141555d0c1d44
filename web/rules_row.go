package web

import (
	"cmp"
	"fmt"
	"net/url"
	"strings"
	"time"

	"shadowdiff/normalize"
)

// ruleRow is one rule in the list.
type ruleRow struct {
	ruleItem
	Text   string    // the rule as YAML, without the dash of a list
	Does   string    // the same in one line, without where it holds
	Scope  string    // where it holds
	Last   time.Time // zero: it has not matched
	Found  string    // what it found, in words
	Did    string    // what it did about it
	Remedy string    // empty: it earns its place, as far as one sees
	Edit   string    // path of the page that edits it; empty: it is not changed here
	Remove string    // path of the page that tells what its removal would change
}

// What a list of rules may show alone.
const (
	unusedRules = "unused"
	wideRules   = "wide"
	asideRules  = "aside"
)

// doubt is why a rule is in doubt, as the list may show it alone; empty: it is not.
func (row *ruleRow) doubt() string {
	switch {
	case row.Aside != "":
		return asideRules
	case row.TooWide:
		return wideRules
	case row.Unused:
		return unusedRules
	}
	return ""
}

func ruleRowOf(rule *Rule, fields []string) (ruleRow, error) {
	item, err := itemOfRule(rule)
	if err != nil {
		return ruleRow{}, err
	}
	row := ruleRow{ruleItem: item, Text: asOne(item.Rule), Does: asOne(item.Rule), Last: rule.Last, Remove: "/rules?remove=" + url.QueryEscape(item.ID) + "&try=true#trial"}
	if item.Source == "api" {
		row.Edit = listPath("/rules", "draft", row.Text, "remove", item.ID) + "#write"
	}
	if item.Aside != "" {
		row.Remedy = "Set aside, and not in force: " + item.Aside + ". Mend it or remove it."
		return row, nil
	}
	row.Does, row.Scope = inOneLine(row.Text), scopeOf(&rule.Config)
	row.Found, row.Did = ruleFound(rule), ruleDid(rule)
	row.Remedy = ruleRemedy(rule, fields)
	return row, nil
}

// asOne is a rule of a list as one that stands alone.
func asOne(item string) string {
	lines := strings.Split(strings.TrimSuffix(item, "\n"), "\n")
	for i, line := range lines {
		if i == 0 {
			lines[i] = strings.TrimPrefix(line, "- ")
		} else {
			lines[i] = strings.TrimPrefix(line, "  ")
		}
	}
	return strings.Join(lines, "\n")
}

// inOneLine is a rule's text in one line, without where it holds; as it is, where one of its values takes several lines.
func inOneLine(text string) string {
	var parts []string
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, " ") || strings.HasPrefix(line, "-"):
			return text
		case !strings.HasPrefix(line, "route: ") && !strings.HasPrefix(line, "role: "):
			parts = append(parts, line)
		}
	}
	return strings.Join(parts, ", ")
}

// scopeOf says where a rule holds.
func scopeOf(c *normalize.RuleConfig) string {
	scope := "on " + c.Route
	if anywhere(c) {
		scope = "on all routes"
	}
	if c.Role != "" {
		scope += ", of the " + c.Role + " alone"
	}
	return scope
}

// anywhere tells whether a rule holds on all routes.
func anywhere(c *normalize.RuleConfig) bool { return c.Route == "" || c.Route == "*" }

// By is who or what has added the rule.
func (row *ruleRow) By() string { return actorWord(row.Actor) }

func ruleFound(rule *Rule) string {
	u := &rule.Usage
	if u.Documents == 0 {
		return "no answer yet"
	}
	return fmt.Sprintf("in %s of %s", count(u.Matched), things(u.Documents, "answer"))
}

func ruleDid(rule *Rule) string {
	u := &rule.Usage
	switch {
	case u.Values == 0:
		return ""
	case u.Changed == 0:
		return fmt.Sprintf("none of %s changed", things(u.Values, "value"))
	case u.Changed == u.Values && u.Effective == u.Matched:
		return fmt.Sprintf("%s changed", things(u.Changed, "value"))
	}
	return fmt.Sprintf("%s of %s changed, in %s", count(u.Changed), things(u.Values, "value"), things(u.Effective, "answer"))
}

// ruleRemedy says what is wrong with a rule and what to do about it.
func ruleRemedy(rule *Rule, fields []string) string {
	u := &rule.Usage
	switch {
	case rule.TooWide():
		return fmt.Sprintf("Too wide: it takes away the whole body of %s, of which nothing is compared then. Name what differs in it, or give it a route.",
			things(u.Whole, "answer"))
	case rule.Unused() && u.Documents == 0 && anywhere(&rule.Config):
		return fmt.Sprintf("Unused: none of %s had that part, or all were the same bytes. Is its field misspelt?", things(rule.Exchanges, "exchange"))
	case rule.Unused() && u.Documents == 0:
		return fmt.Sprintf("Unused: no such route and part in %s, or all were the same bytes. Is its route misspelt?", things(rule.Exchanges, "exchange"))
	case rule.Unused():
		text := fmt.Sprintf("Unused: it has matched nothing in %s. ", things(rule.Exchanges, "exchange"))
		if near := normalize.Nearest(fieldOfRule(&rule.Config), fields); near != "" {
			return text + fmt.Sprintf("Is its field misspelt? %s differs.", near)
		}
		if anywhere(&rule.Config) {
			return text + "Is its field misspelt? If not, take it out."
		}
		return text + "Is its field or its route misspelt? If not, take it out."
	}
	return ""
}

// fieldOfRule is what stands behind the verb.
func fieldOfRule(c *normalize.RuleConfig) string {
	return cmp.Or(c.Drop, c.Sort, c.Pair, c.Round, c.Tolerate, c.Mask, c.MaskKeys, c.Rename, c.Lower, c.Trim, c.Squeeze, c.NFC,
		c.Coerce, c.Absent, c.Parse, c.Present)
}
