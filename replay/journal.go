package replay

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// Journal is the file that tells how far a replay came. A request stands in it before it is asked: what a killed process
// had asked is there, since the system has it; only a machine that fails may lose the last of it.
type Journal struct {
	file  *os.File
	at    int64 // of the number, in the file
	begin int64 // requests that were read before, asked or left out
}

// Head is what the journal says of the replay.
type Head struct {
	Version int      `json:"replay"`
	Run     int64    `json:"run"`
	Files   []Source `json:"files"`
}

// Source is a file as it was when the replay began.
type Source struct {
	Name string `json:"name"`
	Head string `json:"head"` // hash of its beginning
	Of   int64  `json:"of"`   // bytes that were hashed
}

const (
	journalVersion = 1
	sourceHead     = 64 << 10
)

// NewJournal begins a journal, in the place of one that is there.
func NewJournal(name string, run int64, files []string) (*Journal, error) {
	head := Head{Version: journalVersion, Run: run}
	for _, file := range files {
		source, err := sourceOf(file, sourceHead)
		if err != nil {
			return nil, fmt.Errorf("beginning the journal: %w", err)
		}
		head.Files = append(head.Files, source)
	}
	text, err := json.Marshal(head)
	if err != nil {
		return nil, err
	}
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("beginning the journal: %w", err)
	}
	j := &Journal{file: file, at: int64(len(text)) + 1}
	if _, err := file.Write(append(text, '\n')); err != nil {
		return nil, errors.Join(fmt.Errorf("beginning the journal: %w", err), file.Close())
	}
	if err := j.mark(0); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return j, nil
}

// Resume goes on with the journal of a replay of the same files. It returns the run that this was.
func Resume(name string, files []string) (*Journal, Head, error) {
	file, err := os.OpenFile(name, os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil, Head{}, fmt.Errorf("no replay was interrupted here: there is no %s", name)
	}
	if err != nil {
		return nil, Head{}, fmt.Errorf("reading the journal: %w", err)
	}
	j, head, err := readJournal(file)
	if err == nil {
		err = head.same(files)
	}
	if err != nil {
		return nil, head, errors.Join(fmt.Errorf("%s: %w", name, err), file.Close())
	}
	return j, head, nil
}

// Interrupted tells how many requests the replay whose journal this is had dealt with; ok is false where there is none.
func Interrupted(name string) (begun int64, ok bool) {
	file, err := os.Open(name)
	if err != nil {
		return 0, false
	}
	defer file.Close()
	j, _, err := readJournal(file)
	if err != nil {
		return 0, false
	}
	return j.begin, true
}

func readJournal(file *os.File) (*Journal, Head, error) {
	var head Head
	r := bufio.NewReader(io.LimitReader(file, 64<<20))
	text, err := r.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(text, &head)
	}
	number, _ := io.ReadAll(r)
	begin, failed := strconv.ParseInt(string(bytes.TrimSpace(number)), 10, 64)
	if err != nil || failed != nil || head.Version != journalVersion || begin < 0 {
		return nil, head, errors.New("this is no journal of a replay")
	}
	return &Journal{file: file, at: int64(len(text)), begin: begin}, head, nil
}

// same tells whether these are the files of the journal. They may have grown since.
func (h *Head) same(files []string) error {
	var names []string
	for _, f := range h.Files {
		names = append(names, f.Name)
	}
	if len(files) != len(h.Files) {
		return fmt.Errorf("the replay that was interrupted is one of %s", strings.Join(names, ", "))
	}
	for i, name := range files {
		now, err := sourceOf(name, h.Files[i].Of)
		if err != nil {
			return err
		}
		if now.Head != h.Files[i].Head {
			return fmt.Errorf("%s is another file than when the replay began (%s)", name, h.Files[i].Name)
		}
	}
	return nil
}

// sourceOf hashes the beginning of a file.
func sourceOf(name string, most int64) (Source, error) {
	if name == "-" {
		return Source{Name: name}, nil
	}
	file, err := os.Open(name)
	if err != nil {
		return Source{}, err
	}
	defer file.Close()
	sum := sha256.New()
	n, err := io.Copy(sum, io.LimitReader(file, most))
	if err != nil {
		return Source{}, err
	}
	return Source{Name: name, Head: hex.EncodeToString(sum.Sum(nil)), Of: n}, nil
}

// mark writes down that all requests up to this one were asked, or left out.
func (j *Journal) mark(position int64) error {
	if _, err := j.file.WriteAt(fmt.Appendf(nil, "%020d\n", position), j.at); err != nil {
		return fmt.Errorf("writing the journal: %w", err)
	}
	return nil
}

// Close keeps the journal for a replay that resumes.
func (j *Journal) Close() error { return j.file.Close() }

// Remove ends the journal of a replay that is complete.
func (j *Journal) Remove() error {
	return errors.Join(j.file.Close(), os.Remove(j.file.Name()))
}
