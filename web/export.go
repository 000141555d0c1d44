package web

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"go.yaml.in/yaml/v4"

	"shadowdiff/diff"
	"shadowdiff/store"
)

// ExportVersion is the form of GET /api/v1/tallies. It changes when what is added up changes its meaning.
const ExportVersion = 1

// Export is GET /api/v1/tallies: all that one proxy has counted in a run, and how it is judged, so that the runs of several
// proxies can be added up and judged as one.
type Export struct {
	Version int           `json:"version"` // of this form
	Program string        `json:"program"` // version of shadowdiff
	Time    time.Time     `json:"time"`    // up to which was counted
	Run     store.Run     `json:"run"`
	Rules   string        `json:"rules"`   // digest of the rules; empty for a run that is not in force
	Judging Judging       `json:"judging"` // the `verdict:` part of the configuration
	Word    diff.Word     `json:"verdict"` // of this proxy alone
	Tallies *diff.Tallies `json:"tallies"`
}

// Judging is the `verdict:` part of a configuration as JSON, under the keys and in the words of the file.
type Judging diff.Config

// MarshalJSON writes every key.
func (j Judging) MarshalJSON() ([]byte, error) {
	text, err := yaml.Dump(diff.Config(j))
	if err != nil {
		return nil, err
	}
	var keys map[string]any
	if err := yaml.Load(text, &keys); err != nil {
		return nil, err
	}
	return json.Marshal(keys)
}

// UnmarshalJSON refuses keys that this version does not know: runs that are judged by them would be judged otherwise here.
func (j *Judging) UnmarshalJSON(text []byte) error {
	return yaml.Load(text, (*diff.Config)(j), yaml.WithKnownFields())
}

// tallies answers GET /api/v1/tallies. It is written row by row: a large run's text is many times what is held in memory.
func (s *Server) tallies(w http.ResponseWriter, r *http.Request) error {
	q, err := readQuery(r, "run")
	if err != nil {
		return err
	}
	snap, err := s.snapshotOf(r, q)
	if err != nil {
		return err
	}
	if s.fresh(w, r, snap) {
		return nil
	}
	of := Export{
		Version: ExportVersion, Program: s.deps.Version, Time: snap.Time, Run: snap.Run,
		Judging: Judging(s.deps.Judge()), Word: snap.Verdict.Word,
	}
	if snap.Run.Ended == nil {
		of.Rules = s.rulesDigest()
	}
	head, err := json.Marshal(of)
	if err != nil {
		return fmt.Errorf("encode the answer: %w", err)
	}
	w.Header().Set("Content-Type", "application/json")
	out := bufio.NewWriterSize(w, 64<<10)
	_, _ = out.Write(head[:len(head)-len("null}")]) // the tallies take the place of null
	if err := writeTallies(out, snap.Tallies); err != nil {
		panic(http.ErrAbortHandler) // the caller, if it is still there, must not take a part for the whole
	}
	_, _ = out.WriteString("}\n")
	_ = out.Flush() // the caller is gone: nobody to tell
	return nil
}

// rulesDigest is the same for proxies with the same rules in the same order.
func (s *Server) rulesDigest() string {
	if s.deps.Rules == nil {
		return ""
	}
	h := sha256.New()
	for _, rule := range s.deps.Rules() {
		text, err := yaml.Dump(rule.Config)
		if err != nil {
			text = []byte(err.Error())
		}
		fmt.Fprintf(h, "%d\n%s", len(text), text)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// writeTallies is their JSON without holding all of it.
func writeTallies(w io.Writer, t *diff.Tallies) error {
	rest := *t
	rest.Routes, rest.Fields = nil, nil
	head, err := json.Marshal(rest)
	if err != nil {
		return err
	}
	const tail = `"routes":null,"fields":null}`
	if _, err := fmt.Fprintf(w, `%s"routes":[`, head[:len(head)-len(tail)]); err != nil {
		return err
	}
	if err := writeRows(w, t.Routes); err != nil {
		return err
	}
	if _, err := io.WriteString(w, `],"fields":[`); err != nil {
		return err
	}
	if err := writeRows(w, t.Fields); err != nil {
		return err
	}
	_, err = io.WriteString(w, "]}")
	return err
}

func writeRows[T any](w io.Writer, rows []*T) error {
	for i, row := range rows {
		text, err := json.Marshal(row)
		if err != nil {
			return err
		}
		if i > 0 {
			text = append([]byte{','}, text...)
		}
		if _, err := w.Write(text); err != nil {
			return err
		}
	}
	return nil
}

// FindingPage is the path of the page that shows a difference, below the address of the dashboard.
func FindingPage(f diff.Finding) string { return findingPath(f) }
