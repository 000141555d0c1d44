package traffic

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// indexName is the file that tells what is in the others.
const indexName = "index.ndjson"

// Entry is what the index tells of a recording that is complete.
type Entry struct {
	File      string    `json:"file"`
	First     time.Time `json:"first"` // when the first of its exchanges was asked
	Last      time.Time `json:"last"`
	Exchanges int64     `json:"exchanges"`
	Bytes     int64     `json:"bytes"` // packed
}

func (e *Entry) add(s summary) {
	all := summary{e.Exchanges, e.First, e.Last}
	all.add(s)
	e.Exchanges, e.First, e.Last = all.records, all.first, all.last
}

// index is the list of a folder's recordings, by name. What it does not tell can be had from the files themselves, so that
// it may be lost.
type index struct {
	dir string

	mu      sync.Mutex // guards what follows
	entries map[string]Entry
	current string // the file that is being written
	unsaved bool
}

func (x *index) load() {
	x.entries = map[string]Entry{}
	text, err := os.ReadFile(filepath.Join(x.dir, indexName))
	if err != nil {
		return
	}
	for line := range bytes.Lines(text) {
		var e Entry
		if json.Unmarshal(line, &e) == nil && e.File == filepath.Base(e.File) {
			x.entries[e.File] = e
		}
	}
}

func (x *index) open(name string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.current = name
}

func (x *index) add(e Entry) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.entries[e.File], x.unsaved = e, true
}

func (x *index) remove(name string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.entries, name)
	x.unsaved = true
}

func (x *index) changed() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.unsaved
}

// save writes the index anew, whole or not at all.
func (x *index) save() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	var text bytes.Buffer
	for _, e := range slices.SortedFunc(maps.Values(x.entries), func(a, b Entry) int { return cmp.Compare(a.File, b.File) }) {
		if err := appendJSON(&text, e); err != nil {
			return err
		}
	}
	f, err := os.CreateTemp(x.dir, ".shadowdiff-*")
	if err == nil {
		_, err = f.Write(text.Bytes())
		err = errors.Join(err, f.Close())
		if err == nil {
			err = os.Rename(f.Name(), filepath.Join(x.dir, indexName))
		}
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}
	if x.unsaved = err != nil; x.unsaved {
		return fmt.Errorf("writing the index of recordings: %w", err)
	}
	return nil
}

// recordedFile is a recording on the disk.
type recordedFile struct {
	name    string
	size    int64
	written time.Time
}

// files lists the recordings, the oldest first.
func (x *index) files() (list []recordedFile, err error) {
	entries, err := os.ReadDir(x.dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if !e.Type().IsRegular() || !strings.HasSuffix(e.Name(), recordingEnd) {
			continue
		}
		about, err := e.Info()
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		list = append(list, recordedFile{e.Name(), about.Size(), about.ModTime()})
	}
	return list, nil // ReadDir sorts by name, and names are times
}

// complete adds the files that are not told of, and drops those that are not there.
func (x *index) complete() error {
	files, err := x.files()
	if err != nil {
		return fmt.Errorf("indexing recordings: %w", err)
	}
	there := map[string]bool{}
	for _, f := range files {
		there[f.name] = true
		x.mu.Lock()
		_, known := x.entries[f.name]
		known = known || x.current == f.name
		x.mu.Unlock()
		if known {
			continue
		}
		e, err := summarize(filepath.Join(x.dir, f.name))
		if err != nil {
			return fmt.Errorf("indexing %s: %w", f.name, err)
		}
		x.add(e)
	}
	x.mu.Lock()
	for name := range x.entries {
		if !there[name] && name != x.current {
			delete(x.entries, name)
			x.unsaved = true
		}
	}
	changed := x.unsaved
	x.mu.Unlock()
	if !changed {
		return nil
	}
	return x.save()
}

// summarize reads a recording as far as it goes, and the times of its exchanges alone.
func summarize(name string) (Entry, error) {
	e := Entry{File: filepath.Base(name)}
	file, err := os.Open(name)
	if err != nil {
		return e, err
	}
	defer file.Close()
	if about, err := file.Stat(); err == nil {
		e.Bytes = about.Size()
	}
	r := &Reader{name: name, read: &counting{r: file}, unpack: func() {}}
	text, err := r.unpacked(bufio.NewReaderSize(r.read, headSize))
	if err != nil {
		return e, err
	}
	defer r.unpack()
	for list := (lines{r: text}); ; {
		line, err := list.next()
		if errors.Is(err, errLongLine) {
			continue
		}
		if err != nil {
			return e, nil // one that was cut off ends there
		}
		var at struct{ Time time.Time }
		if bytes.HasPrefix(line, []byte(`{"recording":`)) || json.Unmarshal(line, &at) != nil {
			continue
		}
		e.add(summary{1, at.Time, at.Time})
	}
}
