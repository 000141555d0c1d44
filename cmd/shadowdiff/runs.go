package main

import (
	"context"
	"fmt"
	"strings"

	"shadowdiff/store"
	"shadowdiff/web"
)

// validateRun finds what is wrong with the keys that are about runs.
func (c config) validateRun() (faults []error) {
	if c.Run != "" {
		if err := store.ValidRunName(c.Run); err != nil {
			faults = append(faults, fmt.Errorf("run: %w", err))
		} else if err := c.mayBeCalled(c.Run); err != nil {
			faults = append(faults, fmt.Errorf("run: %w", err))
		}
	}
	if c.VersionHeader != "" && strings.Trim(c.VersionHeader, tokenCharacters) != "" {
		faults = append(faults, fmt.Errorf("version_header: %q is no header name (%q switches it off)", c.VersionHeader, noVersionHeader))
	}
	return faults
}

// tokenCharacters are those of a header's name (RFC 9110, section 5.6.2).
const tokenCharacters = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// beginRun begins a run under the configuration in force, because somebody asks for one. Without a name it is another
// attempt at the name of the run in force.
func (s *service) beginRun(_ context.Context, b web.RunBeginning) (store.Run, error) {
	s.beginning.Lock()
	defer s.beginning.Unlock()
	d := s.docket()
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := s.cfg.Load().mayBeCalled(b.Name); err != nil {
		return store.Run{}, err
	}
	if b.Name == "" {
		b.Name = s.db.Snapshot().Run.Name
	}
	// Who asks may go away: what was begun is done to its end.
	j, err := d.begin(context.Background(), store.Beginning{New: true, Name: b.Name, Version: b.Version, Notes: b.Notes, By: b.Actor})
	if err != nil {
		return store.Run{}, err
	}
	return j.run, nil
}

// tellRun notes that a run is in force, and who or what has begun it.
func (s *service) tellRun(run store.Run, by string) {
	s.log.Info("a run is in force", "run", run.ID, "name", run.Name, "attempt", run.Attempt, "version", run.Version, "actor", by)
	if err := s.db.LogActivity(context.Background(), by, "run", "in force: "+runText(run)); err != nil {
		s.log.Error("the beginning of a run could not be written down", "run", run.ID, "err", err)
	}
}

// runText names a run for people.
func runText(run store.Run) string {
	text := fmt.Sprintf("%q (id %d", run.Name, run.ID)
	if run.Attempt > 1 {
		text += fmt.Sprintf(", attempt %d", run.Attempt)
	}
	if run.Version != "" && run.Version != run.Name {
		text += fmt.Sprintf(", version %s", run.Version)
	}
	return text + ")"
}
