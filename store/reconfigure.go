package store

import (
	"fmt"
	"slices"

	"shadowdiff/diff"
	"shadowdiff/normalize"
)

// Reconfigure takes over another configuration while the store is open: what is kept from now on, and how what was
// counted is judged, the past included; what is confirmed stays so. The path stays. It fails, and changes nothing, where
// places to redact are none.
func (db *DB) Reconfigure(cfg Config, judge diff.Config, maxDecoded int64) error {
	redactor, err := normalize.NewRedactor(cfg.Redact)
	if err != nil {
		return fmt.Errorf("reconfigure store: %w", err)
	}
	redactor.MaxDecoded = max(redactor.MaxDecoded, maxDecoded)
	db.flushing.Lock()
	defer db.flushing.Unlock()
	cfg.Path = db.cfg.Path
	judged, places := judge != db.deps.Judge, !slices.Equal(cfg.Redact, db.cfg.Redact)
	db.cfg, db.deps.Judge, db.deps.MaxDecoded, db.packer.redactor = cfg, judge, maxDecoded, redactor
	for _, l := range db.ledgers.all() {
		l.reconfigure(cfg, judge, judged)
		if places {
			l.profiles.redact(redactor)
		}
	}
	return nil
}

// reconfigure has the next flush judge the run anew. The caller holds flushing.
func (l *ledger) reconfigure(cfg Config, judge diff.Config, judged bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.shelf.resize(cfg.SamplesPerField)
	if judged {
		l.watch = diff.NewWatch(judgingOf(judge, &l.run))
		l.fresh = true
	}
}
