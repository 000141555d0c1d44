package traffic

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// unfinished is how the names of files begin that are not finished.
const unfinished = ".shadowdiff-"

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

	reading sync.Mutex // held while files are read, or written anew, to their end

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
	f, err := os.CreateTemp(x.dir, unfinished+"*")
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
	x.reading.Lock()
	defer x.reading.Unlock()
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
	e := Entry{File: filepath.Base(name), Bytes: packedSize(name)}
	_, err := eachExchange(name, func(_ []byte, asked time.Time) error {
		if !asked.IsZero() {
			e.add(summary{1, asked, asked})
		}
		return nil
	})
	return e, err
}

// eachExchange hands each line of a recording to one, with its end and with the time when the exchange was asked: the zero
// time where it is none, or too long a line, of which nothing is handed on. It answers torn where the file is not whole.
func eachExchange(name string, one func(line []byte, asked time.Time) error) (torn bool, err error) {
	file, err := os.Open(name)
	if err != nil {
		return false, err
	}
	defer file.Close()
	text, unpack, err := unpacked(bufio.NewReaderSize(file, headSize))
	if err != nil {
		return false, err
	}
	defer unpack()
	for list := (lines{r: text, raw: true}); ; {
		line, err := list.next()
		if err != nil && !errors.Is(err, errLongLine) {
			return err != io.EOF, nil // one that was cut off ends there
		}
		var at struct{ Time time.Time }
		if !isFirst(line) && json.Unmarshal(line, &at) != nil {
			at.Time = time.Time{}
		}
		if err := one(line, at.Time); err != nil {
			return false, err
		}
	}
}

// isFirst tells the first line of a recording.
func isFirst(line []byte) bool { return bytes.HasPrefix(line, []byte(`{"recording":`)) }

func packedSize(name string) int64 {
	if about, err := os.Stat(name); err == nil {
		return about.Size()
	}
	return 0
}
