package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"shadowdiff/diff"
	"shadowdiff/multicast"
	"shadowdiff/store"
)

// gateJSON is what -json prints. docs/ci.md describes it.
type gateJSON struct {
	Exit     int           `json:"exit"`
	Word     diff.Word     `json:"verdict"` // empty: it was never seen
	Trouble  string        `json:"trouble,omitempty"`
	Started  time.Time     `json:"started"`
	Ended    time.Time     `json:"ended"`
	Waited   float64       `json:"waited"` // seconds
	Services []gateService `json:"services"`
	Pages    []string      `json:"pages"`       // one for each difference
	Answer   *diff.Verdict `json:"equivalence"` // as in GET /api/v1/equivalence; null: never seen
}

type gateService struct {
	URL      string     `json:"url"`
	Run      *store.Run `json:"run"` // null: never seen
	Compared int64      `json:"compared"`

	Dropped map[multicast.Reason]int64 `json:"dropped,omitempty"` // sampled requests that were given up, by reason
}

func writeGateJSON(w io.Writer, g *gate, out *outcome) error {
	j := gateJSON{
		Exit: out.code, Started: out.started.UTC(), Ended: out.ended.UTC(), Waited: out.ended.Sub(out.started).Seconds(),
		Services: []gateService{}, Pages: []string{},
	}
	if out.trouble != nil {
		j.Trouble = out.trouble.Error()
	}
	if s := out.last; s != nil {
		j.Word = s.verdict.Word
		j.Answer, j.Pages = s.forJSON()
		for _, p := range s.services {
			j.Services = append(j.Services, gateService{p.url, &p.run, p.compared, p.drops.by})
		}
	} else {
		for _, u := range g.urls {
			j.Services = append(j.Services, gateService{URL: u})
		}
	}
	return writeJSON(w, j)
}

// forJSON is the verdict with its confirmed differences alone, and the page of each, as -json prints them.
func (s *state) forJSON() (*diff.Verdict, []string) {
	v, pages := *s.verdict, []string{}
	v.Differences = confirmedOf(s.verdict)
	for i := range v.Differences {
		pages = append(pages, s.pageOf(v.Differences[i]))
		if v.Differences[i].Samples == nil {
			v.Differences[i].Samples = []int64{}
		}
	}
	return &v, pages
}

// writeJSON writes one JSON object as a line, with < and & as they are.
func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// canReplace finds out early that a file cannot be written; an empty name is no file.
func canReplace(name string) error {
	if name == "" {
		return nil
	}
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		return fmt.Errorf("%s cannot be written: it is a directory; give a file in it", name)
	}
	f, err := createBeside(name)
	if err != nil {
		return err
	}
	_ = f.Close()
	return os.Remove(f.Name())
}

// createBeside makes a file, for its owner alone, that is to take the place of the one that is named.
func createBeside(name string) (*os.File, error) {
	folder := filepath.Dir(name)
	f, err := os.CreateTemp(folder, ".shadowdiff-*")
	switch cause, is := errors.AsType[*fs.PathError](err); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s cannot be written: the folder %s does not exist", name, folder)
	case is: // its path is that of a file that nobody has named
		return nil, fmt.Errorf("%s cannot be written: %w", name, cause.Err)
	}
	return f, err
}

// replaceFile writes a file that is there whole or not at all.
func replaceFile(name string, write func(io.Writer) error) (err error) {
	f, err := createBeside(name)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
			err = fmt.Errorf("writing %s: %w", name, err)
		}
	}()
	if err := write(f); err != nil {
		_ = f.Close()
		return err
	}
	if err := f.Chmod(0o644); err != nil {
		_ = f.Close()
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}

// saveText writes a file whole or not at all.
func saveText(name string, text []byte) error {
	return replaceFile(name, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}
