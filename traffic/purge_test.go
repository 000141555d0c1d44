package traffic

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// at is when the i-th record was asked.
func at(i int) time.Time { return record(i).Time }

// ids are the numbers of the records that a folder has.
func ids(t *testing.T, dir string) (list []int) {
	t.Helper()
	_, recs, bad := recordings(t, dir)
	if len(bad) > 0 {
		t.Errorf("bad lines: %v", bad)
	}
	for _, r := range recs {
		var i int
		if _, err := fmt.Sscanf(r.ID, "%x", &i); err != nil {
			t.Fatal(err)
		}
		list = append(list, i)
	}
	return list
}

func sequence(from, until int) (list []int) {
	for i := from; i < until; i++ {
		list = append(list, i)
	}
	return list
}

// taped is a folder with three files of so many records each, and the writer that goes on writing into it.
func taped(t *testing.T, each int) (dir string, w *Writer) {
	t.Helper()
	dir = t.TempDir()
	w = newWriter(t, dir, wide())
	for file := range 3 {
		for half := range 2 { // frames
			add(t, w, file*each+half*each/2, each/2)
			flush(t, w, noon.Add(time.Duration(file)*time.Minute))
		}
		if file < 2 {
			if err := w.Rotate(); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir, w
}

// What was asked within a span is gone from all files but the one that is open, and everything else stays as it was: the
// files in their order, their times, the index.
func TestPurgeTakesWhatWasAskedInASpan(t *testing.T) {
	t.Parallel()
	dir, w := taped(t, 100)
	spans := []Span{{From: at(50), Until: at(250)}}
	files, _, _ := recordings(t, dir)
	before, err := os.Stat(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if n, err := Within(dir, spans); err != nil || n.Files != 3 || n.Exchanges != 300 {
		t.Errorf("to be looked through: %+v, %v", n, err)
	}
	n, err := w.Purge(spans)
	if err != nil || n.Files != 2 || n.Exchanges != 150 || n.Bytes <= 0 {
		t.Errorf("purged %+v, %v", n, err)
	}
	if got, want := ids(t, dir), append(sequence(0, 50), sequence(200, 300)...); !slices.Equal(got, want) {
		t.Errorf("left: %v", got)
	}
	add(t, w, 300, 10) // into the file that was open
	flush(t, w, noon.Add(2*time.Minute))
	if err := w.Rotate(); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Purge(spans); err != nil {
		t.Fatal(err)
	}
	if got, want := ids(t, dir), append(sequence(0, 50), sequence(250, 310)...); !slices.Equal(got, want) {
		t.Errorf("left at last: %v", got)
	}
	after, err := os.Stat(files[0])
	if err != nil || !after.ModTime().Equal(before.ModTime()) || after.Mode() != before.Mode() {
		t.Errorf("the file was written %v and is now %v, %v", before.ModTime(), after.ModTime(), err)
	}
	list := entries(t, dir)
	if len(list) != 2 || list[0].Exchanges != 50 || !list[0].Last.Equal(at(49)) || list[0].Bytes != after.Size() || list[1].Exchanges != 60 {
		t.Errorf("the index: %+v", list)
	}
	if err := w.Close(noon); err != nil {
		t.Fatal(err)
	}
	if n, err := Purge(dir, []Span{{Until: at(1000)}}); err != nil || n.Files != 2 || n.Exchanges != 110 {
		t.Errorf("all of it: %+v, %v", n, err)
	}
	if left := names(t, dir); !slices.Equal(left, []string{".lock", indexName}) {
		t.Errorf("left in the folder: %q", left)
	}
	if n, err := Purge(filepath.Join(dir, "nowhere"), []Span{{Until: at(1000)}}); err != nil || n != (Purged{}) {
		t.Errorf("a folder that is not there: %+v, %v", n, err)
	}
}

func names(t *testing.T, dir string) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

// Nothing that a crash has left escapes: a file that breaks off within a frame, one that was never finished, lines that
// nobody can read. What can be read of other times stays.
func TestPurgeTakesWhatACrashHasLeft(t *testing.T) {
	t.Parallel()
	dir, w := taped(t, 100)
	if err := w.Close(noon); err != nil {
		t.Fatal(err)
	}
	files, _, _ := recordings(t, dir)
	whole, err := os.Stat(files[1])
	if err == nil {
		err = os.Truncate(files[1], whole.Size()-7)
	}
	part := filepath.Join(dir, unfinished+"1"+partEnd)
	if err == nil {
		err = os.WriteFile(part, []byte("what was being written anew"), 0o600)
	}
	strange := filepath.Join(dir, "strange"+recordingEnd)
	if err == nil {
		err = os.WriteFile(strange, []byte("no line of ours\n"), 0o600)
	}
	if err == nil {
		err = os.Remove(filepath.Join(dir, indexName))
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Purge(dir, []Span{{From: at(150), Until: time.Now()}}); err != nil {
		t.Fatal(err)
	}
	if got := ids(t, dir); !slices.Equal(got, sequence(0, 150)) {
		t.Errorf("left: %v", got)
	}
	for _, file := range []string{part, strange} {
		if _, err := os.Stat(file); err == nil {
			t.Errorf("%s is left", file)
		}
	}
}

// Two that record into one folder would remove each other's files, and each write an index of its own.
func TestAFolderHasOneWriter(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := newWriter(t, dir, wide())
	add(t, first, 0, 10)
	flush(t, first, noon)
	before := names(t, dir)
	for what, try := range map[string]func() error{
		"recorded into": func() error { _, err := NewWriter(dir, wide(), nil); return err },
		"purged":        func() error { _, err := Purge(dir, []Span{{Until: at(1000)}}); return err },
	} {
		err := try()
		if err == nil || !strings.Contains(err.Error(), dir+" is in use by process ") || !strings.Contains(err.Error(), "name another folder") {
			t.Errorf("%s by a second one: %v", what, err)
		}
	}
	if after := names(t, dir); !slices.Equal(after, before) {
		t.Errorf("the folder has %q, and had %q", after, before)
	}
	add(t, first, 10, 10)
	if err := first.Close(noon); err != nil {
		t.Fatal(err)
	}
	if got := ids(t, dir); !slices.Equal(got, sequence(0, 20)) {
		t.Errorf("the first one has recorded %v", got)
	}
	second := newWriter(t, dir, wide())
	if err := second.Close(noon); err != nil {
		t.Error(err)
	}
}
