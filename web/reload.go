package web

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"shadowdiff/multicast"
)

// Instance is what the process says of itself, as it is at the moment.
type Instance struct {
	Targets  Targets
	Warnings []string  // what makes the comparison, or a connection, less than it seems
	Phase    string    // PhaseServing, or why it is not ready
	Replay   bool      // recorded requests are asked, and no client is served
	Failed   []string  // parts that have failed; clients are served all the same
	File     string    // of the configuration; empty: there is none
	Loaded   time.Time // when the configuration in force was read
	Reload   *Reload   // the last one; nil before the first
	Build    string    // version, commit and compiler of the program, for people
	Limits   Limits

	Recording     multicast.RecordConfig // how requests are recorded; without a folder they are not
	VersionHeader string                 // the header that tells the candidate's version, and is not compared for it; empty: none does
}

// Limits are the bounds of what may be held at a time. A bound of 0 is not known.
type Limits struct {
	Store       string // path of the database
	StoreMax    int64  // bytes of it
	Memory      int64  // bytes captured
	Queue       int    // exchanges that wait
	Concurrency int    // requests in flight per role
}

// The phases of a process. It is ready while it serves.
const (
	PhaseStarting = "starting"
	PhaseServing  = "ok"
	PhaseStopping = "stopping"
)

// Targets are the addresses of this instance and of what it asks.
type Targets struct {
	Listen    string // client traffic, as a URL
	Primary   string
	Secondary string // empty: no control
	Candidate string // empty: a plain proxy
}

// Reload is how reading the configuration again ended. Without faults it is in force; else the one before it still is.
type Reload struct {
	Time    time.Time `json:"time"`
	Good    bool      `json:"successful"`
	Changed []string  `json:"changed"` // keys, with the values of those that have one: "sample: 5% (was 100%)"
	Faults  []Fault   `json:"errors"`
}

// Fault is one thing wrong with the configuration.
type Fault struct {
	File    string `json:"file,omitempty"` // or the flag
	Line    int    `json:"line,omitempty"` // in the file, as Column, from 1; 0: no place in it
	Column  int    `json:"column,omitempty"`
	Message string `json:"message"`
}

// String is the fault as shadowdiff check prints it.
func (f Fault) String() string {
	switch {
	case f.Line > 0:
		return fmt.Sprintf("%s:%d:%d: %s", f.File, f.Line, f.Column, f.Message)
	case f.File != "":
		return f.File + ": " + f.Message
	}
	return f.Message
}

// configuration is the answer to GET /api/v1/reload.
type configuration struct {
	File     string    `json:"file"`
	Loaded   time.Time `json:"loaded"`
	Warnings []string  `json:"warnings"`
	Last     *Reload   `json:"last"`
}

// reloadState answers GET /api/v1/reload.
func (s *Server) reloadState(w http.ResponseWriter, r *http.Request) error {
	if _, err := readQuery(r); err != nil {
		return err
	}
	now := s.deps.Instance()
	c := configuration{File: now.File, Loaded: now.Loaded, Warnings: now.Warnings, Last: now.Reload}
	if c.Warnings == nil {
		c.Warnings = []string{}
	}
	return writeJSON(w, c)
}

// postReload answers POST /api/v1/reload.
func (s *Server) postReload(w http.ResponseWriter, r *http.Request) error {
	if _, err := readQuery(r); err != nil {
		return err
	}
	file := s.deps.Instance().File
	if file == "" {
		return refuse(http.StatusConflict, "there is no file to read again: shadowdiff was started without -config")
	}
	// Whoever asks may go away: what was begun is done to its end all the same.
	done := s.deps.Reload(context.WithoutCancel(r.Context()), "api")
	if done.Good {
		return writeJSON(w, done)
	}
	p := refuse(http.StatusUnprocessableEntity, "%s was not taken, and the configuration before it stays in force: %s", file, told(done.Faults))
	p.Errors = done.Faults
	return p
}

// told lists the faults in one line.
func told(faults []Fault) string {
	lines := make([]string, len(faults))
	for i, f := range faults {
		lines[i] = f.String()
	}
	return strings.Join(lines, "; ")
}
