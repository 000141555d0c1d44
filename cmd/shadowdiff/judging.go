package main

import (
	"log/slog"
	"reflect"
	"sync"
	"sync/atomic"

	"shadowdiff/diff"
	"shadowdiff/multicast"
	"shadowdiff/normalize"
	"shadowdiff/store"
	"shadowdiff/web"
)

// judging is what becomes of an exchange: compared under one set of rules, counted in one run. It is replaced whole.
type judging struct {
	log      *slog.Logger
	db       *store.DB
	normal   normalize.Config // as it was compiled
	rules    *normalize.Normalizer
	comparer *diff.Comparer
	run      store.Run

	compared atomic.Int64
	mu       sync.Mutex      // guards warned
	warned   map[[2]int]bool // rules that were complained of, by index and by what for
}

// judge is the judging of a configuration in a run: the present one where it would be the same, so that what is known of
// rules and of noise outlives a reload.
func (s *service) judge(cfg config, rules *normalize.Normalizer, run store.Run) *judging {
	normal := cfg.Normalize
	normal.MaxDecoded = cfg.maxDecoded()
	if now := s.judging.Load(); now != nil && now.run.ID == run.ID && reflect.DeepEqual(now.normal, normal) {
		return now
	}
	return &judging{
		log: s.log, db: s.db, normal: normal, rules: rules, comparer: diff.NewComparer(rules, s.names, diff.DefaultLimits()), run: run,
		warned: map[[2]int]bool{},
	}
}

func (j *judging) deliver(ex *multicast.Exchange) {
	c := j.comparer.Compare(ex)
	j.db.Record(j.run.ID, c)
	if c.Unknown != "" {
		return
	}
	if n := j.compared.Add(1); len(j.normal.Rules) > 0 && (n == 1 || n == 100 || n%1000 == 0) {
		j.complain(n)
	}
}

// inForce lists the rules with what they have done so far.
func (j *judging) inForce() []web.Rule {
	exchanges := j.compared.Load()
	var list []web.Rule
	for _, usage := range j.rules.Usage() {
		list = append(list, web.Rule{Config: j.normal.Rules[usage.Index], Usage: usage, Exchanges: exchanges})
	}
	return list
}

// What a rule is complained of for.
const (
	complainUnused = iota
	complainTooWide
)

// complain logs, once for each, which rules have nothing to do and which leave nothing to compare.
func (j *judging) complain(exchanges int64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, rule := range j.inForce() {
		say := func(why int, message string) {
			if key := [2]int{rule.Usage.Index, why}; !j.warned[key] {
				j.warned[key] = true
				j.log.Warn(message, "rule", rule.Usage.Rule, "exchanges", exchanges)
			}
		}
		if rule.Unused() {
			say(complainUnused, "a rule has matched nothing: is its field or its route misspelt?")
		}
		if rule.TooWide() {
			say(complainTooWide, "a rule takes whole bodies away: nothing of them is compared")
		}
	}
}
