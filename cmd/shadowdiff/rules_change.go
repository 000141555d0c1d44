package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"shadowdiff/diff"
	"shadowdiff/multicast"
	"shadowdiff/normalize"
	"shadowdiff/store"
	"shadowdiff/web"
)

const (
	mostRules   = 200     // that may be added by API
	longestRule = 4 << 10 // bytes of the YAML of one
	longestTold = 1000    // bytes of what one entry of the activity tells
)

// rulebook is how the pages and the API change the rules.
func (s *service) rulebook() *web.Rulebook {
	return &web.Rulebook{Change: s.changeRules, Try: s.tryRules}
}

// changeRules puts other rules in force and keeps them: with the run that they make, or not at all. Changes and reloads
// go one at a time.
func (s *service) changeRules(ctx context.Context, c web.RuleChange) (web.RuleChanged, error) {
	select {
	case s.reloading <- struct{}{}:
		defer func() { <-s.reloading }()
	case <-ctx.Done():
		return web.RuleChanged{}, ctx.Err()
	}
	if *s.phase.Load() == web.PhaseStopping {
		return web.RuleChanged{}, &web.RulesRefused{Reason: "shadowdiff is stopping"}
	}
	cfg := *s.cfg.Load()
	next, err := s.plan(cfg, c)
	if err != nil {
		return web.RuleChanged{}, err
	}
	if len(next.ofFile) > 0 {
		n := next.ofFile[0]
		return web.RuleChanged{}, &web.RulesRefused{Reason: fmt.Sprintf("the rule %s%d stands in %s, as rules[%d]: take it out there and reload", web.FileRule, n, s.source.file, n)}
	}
	before, removed := s.db.Snapshot().Run.ID, s.named(next.change.Remove)
	beginning := store.Beginning{By: c.Actor, Rules: &next.change}
	err = s.proxy.Reconfigure(cfg.Config, func() (multicast.Deliver, error) {
		d, err := s.begin(context.Background(), cfg, next.set, beginning)
		if err != nil {
			return nil, err
		}
		return d.deliver, nil
	})
	if err != nil {
		return web.RuleChanged{}, fmt.Errorf("changing the rules: %w", err)
	}
	s.tellRules(c.Actor, &next.change, removed)
	done := web.RuleChanged{Rules: removed, Run: s.db.Snapshot().Run}
	done.Begun = done.Run.ID != before
	for _, added := range next.change.Add {
		done.Rules = append(done.Rules, s.named([]int64{added.ID})...)
	}
	return done, nil
}

// named are the stored rules of these ids, as they are listed.
func (s *service) named(ids []int64) []web.Rule {
	return slices.DeleteFunc(s.docket().listed(), func(r web.Rule) bool { return r.Stored == nil || !slices.Contains(ids, r.Stored.ID) })
}

// tellRules notes who has changed what.
func (s *service) tellRules(actor string, c *store.RuleChange, removed []web.Rule) {
	var told []string
	for _, r := range c.Add {
		told = append(told, fmt.Sprintf("added %d: %s", r.ID, oneLine(r.Text)))
	}
	for _, r := range removed {
		told = append(told, fmt.Sprintf("removed %d: %s", r.Stored.ID, oneLine(r.Stored.Text)))
	}
	text := atMost(told, longestTold)
	s.log.Info("rules changed", "actor", actor, "added", len(c.Add), "removed", len(removed), "run", s.db.Snapshot().Run.ID)
	if err := s.db.LogActivity(context.Background(), actor, "rules", text); err != nil {
		s.log.Error("a change of the rules could not be written down", "err", err)
	}
}

// atMost joins the first of the texts, as far as so many bytes hold them, and says how many are left out. Of the first one
// at least the beginning is there.
func atMost(texts []string, bytes int) (text string) {
	for i, one := range texts {
		switch {
		case i > 0 && len(text)+len(one) > bytes:
			return fmt.Sprintf("%s and %d more", text, len(texts)-i)
		case i > 0:
			text += ", "
		case len(one) > bytes:
			one = strings.ToValidUTF8(one[:bytes], "") + "…"
		}
		text += one
	}
	return text
}

// oneLine is the YAML of a rule as a person would say it.
func oneLine(text string) string {
	var lines []string
	for line := range strings.Lines(strings.TrimPrefix(text, "- ")) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	return strings.Join(lines, ", ")
}

// plannedRules is a change of the rules before it is made.
type plannedRules struct {
	set    *ruleSet
	change store.RuleChange
	ofFile []int // rules of the file that are left out: that can be tried, and not be done
}

// plan reads what is to be added and finds what is to be removed.
func (s *service) plan(cfg config, c web.RuleChange) (*plannedRules, error) {
	p := &plannedRules{}
	stored, next := s.db.Rules()
	for _, id := range c.Remove {
		n, isOfFile, err := s.find(id, &cfg, stored)
		switch {
		case err != nil:
			return nil, err
		case isOfFile:
			p.ofFile = append(p.ofFile, int(n))
		default:
			p.change.Remove = append(p.change.Remove, n)
		}
	}
	if len(p.ofFile) > 0 {
		cfg.Normalize.Rules = without(cfg.Normalize.Rules, p.ofFile)
	}
	stored = slices.DeleteFunc(stored, func(r store.Rule) bool { return slices.Contains(p.change.Remove, r.ID) })
	if err := p.add(c, len(stored), next); err != nil {
		return nil, err
	}
	var err error
	p.set, err = cfg.compile(append(stored, p.change.Add...)...)
	return p, err
}

// add reads the rules that are to be added behind so many.
func (p *plannedRules) add(c web.RuleChange, before int, next int64) error {
	if c.Add == "" {
		return nil
	}
	texts, err := readRuleText(c.Add)
	if err != nil {
		return err
	}
	if before+len(texts) > mostRules {
		return &web.RulesRefused{Reason: fmt.Sprintf("%d rules were added by API; with %d more they would be over the %d that may be: "+
			"move some to the file, with GET /api/v1/rules?format=yaml", before, len(texts), mostRules)}
	}
	now := time.Now().UTC().Truncate(time.Microsecond)
	for i, text := range texts {
		p.change.Add = append(p.change.Add, store.Rule{ID: next + int64(i), Text: text, Created: now, Actor: c.Actor})
	}
	return nil
}

// find answers the number of a stored rule, or the place of one in the file.
func (s *service) find(id string, cfg *config, stored []store.Rule) (n int64, isOfFile bool, err error) {
	place, isOfFile := strings.CutPrefix(id, web.FileRule)
	n, err = strconv.ParseInt(place, 10, 64)
	known := slices.ContainsFunc(stored, func(r store.Rule) bool { return r.ID == n })
	if isOfFile {
		known = n >= 0 && n < int64(len(cfg.Normalize.Rules))
	}
	if err != nil || !known {
		return 0, false, &web.RulesRefused{Missing: true, Reason: fmt.Sprintf("there is no rule %.100q; GET /api/v1/rules lists all with their ids", id)}
	}
	return n, isOfFile, nil
}

// without leaves out the rules at these places.
func without(rules []normalize.RuleConfig, places []int) (list []normalize.RuleConfig) {
	for i, rule := range rules {
		if !slices.Contains(places, i) {
			list = append(list, rule)
		}
	}
	return list
}

// tryRules readies the rules in force and those of a change, apart from all that counts.
func (s *service) tryRules(c web.RuleChange) (*web.RuleTrial, error) {
	cfg, now := *s.cfg.Load(), s.judging.Load()
	next, err := s.plan(cfg, c)
	if err != nil {
		return nil, err
	}
	before, err := now.beside()
	if err != nil {
		return nil, err
	}
	rules := next.set.normal.Rules
	return &web.RuleTrial{
		Before: before,
		Begins: cfg.kept(next.set.compiled.Fingerprint()) != now.print.Rules,
		After:  diff.NewComparer(next.set.compiled, new(normalize.Names), diff.DefaultLimits()),
		Added: func() (list []web.Rule) {
			for _, usage := range next.set.compiled.Usage()[len(rules)-len(next.change.Add):] {
				list = append(list, web.Rule{Config: rules[usage.Index], Usage: usage})
			}
			return list
		},
	}, nil
}
