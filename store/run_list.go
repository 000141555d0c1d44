package store

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"shadowdiff/diff"
	"shadowdiff/multicast"
)

// RunRecord is a run with what became of it.
type RunRecord struct {
	Run
	BegunBy  string // who or what: "start", "reload", "api", "version"; empty: before that was kept
	RuleText string // the rules as YAML
	Rules    string // the compiled rules, canonical
	Counters multicast.Counts
	Summary  Summary // its Word is empty when the run was not judged under the configuration in force yet
}

// judgeFor is how long a list may take to judge runs that were judged under another configuration.
const judgeFor = 300 * time.Millisecond

// Runs lists runs, newest first; limit 0 means 50, at most 500. next is empty on the last page. What a run comes to is
// missing where it would have to be judged anew and others have taken the time for it: RunSnapshot has it.
func (db *DB) Runs(ctx context.Context, limit int, cursor string) (items []RunRecord, next string, err error) {
	before := int64(1<<63 - 1)
	if cursor != "" {
		if before, err = strconv.ParseInt(cursor, 36, 64); err != nil || before < 1 {
			return nil, "", fmt.Errorf("list runs: %w", ErrCursor)
		}
	}
	rows, err := db.file.read.QueryContext(ctx, selectRun+`WHERE id < ? ORDER BY id DESC LIMIT ?`, before, pageSize(limit)+1)
	list, err := scanAll(rows, err, func(scan func(...any) error, row *runRow) error { return row.scan(scan) })
	if err != nil {
		return nil, "", fmt.Errorf("list runs: %w", err)
	}
	list, more := firstPage(list, pageSize(limit))
	if more {
		next = strconv.FormatInt(list[len(list)-1].ID, 36)
	}
	until, cancel := context.WithTimeout(ctx, judgeFor)
	defer cancel()
	for i := range list {
		record := list[i].record()
		if record.Summary, err = db.summaryOf(until, &list[i]); err != nil && ctx.Err() == nil && until.Err() == nil {
			return nil, "", fmt.Errorf("list runs: %w", err)
		}
		items = append(items, record)
	}
	return items, next, ctx.Err()
}

// RunRecord returns one run, or ErrNotFound.
func (db *DB) RunRecord(ctx context.Context, id int64) (RunRecord, error) {
	row, err := db.runWhere(ctx, `id = ?`, id)
	s := db.live(id)
	if errors.Is(err, ErrNotFound) && s != nil { // the disk has not taken it yet
		row, err = &runRow{Run: s.Run}, nil
	}
	if err != nil {
		return RunRecord{}, fmt.Errorf("run %d: %w", id, err)
	}
	record := row.record()
	record.Summary, err = db.summaryOf(ctx, row)
	if s != nil {
		record.Run, record.Counters = s.Run, s.Counters
	}
	return record, err
}

func (row *runRow) record() RunRecord {
	return RunRecord{Run: row.Run, BegunBy: row.begunBy, RuleText: row.ruleText, Rules: row.print.Rules, Counters: row.counters}
}

// summaryOf is what a run comes to: as it was written down last if it would be judged the same now, else as it is judged
// now.
func (db *DB) summaryOf(ctx context.Context, row *runRow) (Summary, error) {
	judge := db.Snapshot().judge
	if s := db.live(row.ID); s != nil {
		return summarise(s.Verdict, judgingOf(judge, &s.Run)), nil
	}
	if row.summary.Judging == judgingText(judgingOf(judge, &row.Run)) {
		return row.summary, nil
	}
	p := &db.ledgers.past
	if known, found := p.summary(row.ID, judge); found {
		return known, nil
	}
	s, err := db.RunSnapshot(ctx, row.ID)
	if err != nil {
		return Summary{}, err
	}
	summary := summarise(s.Verdict, judgingOf(judge, &s.Run))
	p.learn(row.ID, judge, summary)
	return summary, nil
}

// maxSummaries bounds how many runs that were judged anew are remembered, at some 200 bytes each.
const maxSummaries = 5000

func (p *past) summary(id int64, judge diff.Config) (Summary, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.judge != judge {
		return Summary{}, false
	}
	s, found := p.summaries[id]
	return s, found
}

func (p *past) learn(id int64, judge diff.Config, s Summary) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.judge != judge || len(p.summaries) >= maxSummaries || p.summaries == nil {
		p.judge, p.summaries = judge, map[int64]Summary{}
	}
	p.summaries[id] = s
}
