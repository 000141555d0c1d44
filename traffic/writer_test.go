package traffic

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func wide() Bounds {
	return Bounds{RotateSize: 1 << 30, RotateAge: time.Hour, MaxSize: 1 << 40}
}

// record is one with everything in it.
func record(i int) *Record {
	return &Record{
		ID: fmt.Sprintf("%032x", i), Time: noon.Add(time.Duration(i) * time.Millisecond),
		Request: Request{
			Method: "POST", Target: fmt.Sprintf("/a%%20b?i=%d#c", i), Host: "shop.example",
			Header: http.Header{"Accept": {"a", "b"}}, Trailer: http.Header{"X-Sum": {"1"}}, Body: []byte("{\"a\":\"<ä>\"}\n"),
		},
		Answer: &Response{
			Status: 201, Header: http.Header{"Etag": {`"x"`}}, Trailer: http.Header{"X-End": {"2"}}, Body: []byte{0, 0xff, '\n'},
			Size: 3, Took: 12 * time.Millisecond,
		},
	}
}

func newWriter(t *testing.T, dir string, bounds Bounds) *Writer {
	t.Helper()
	w, err := NewWriter(dir, bounds, []string{"header.cookie"})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func add(t *testing.T, w *Writer, from, n int) {
	t.Helper()
	for i := from; i < from+n; i++ {
		if err := w.Add(record(i)); err != nil {
			t.Fatal(err)
		}
	}
}

func flush(t *testing.T, w *Writer, at time.Time) {
	t.Helper()
	if err := w.Flush(at); err != nil {
		t.Fatal(err)
	}
}

// recordings lists a folder's files and reads them all.
func recordings(t *testing.T, dir string) (files []string, recs []*Record, bad []string) {
	t.Helper()
	files, err := Files([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		r, b := all(t, file, "")
		recs, bad = append(recs, r...), append(bad, b...)
	}
	return files, recs, bad
}

func entries(t *testing.T, dir string) (list []Entry) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, indexName))
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		var e Entry
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatal(err)
		}
		list = append(list, e)
	}
	return list
}

// TestWhatIsRecordedIsReadAgain, whole and in order, from files of which nobody else may read one.
func TestWhatIsRecordedIsReadAgain(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new")
	w := newWriter(t, dir, wide())
	add(t, w, 0, 100)
	flush(t, w, noon)
	add(t, w, 100, 50)
	if err := w.Close(noon); err != nil {
		t.Fatal(err)
	}
	files, recs, bad := recordings(t, dir)
	if len(files) != 1 || len(recs) != 150 || len(bad) > 0 {
		t.Fatalf("%v, %d records, %v", files, len(recs), bad)
	}
	for i, got := range recs {
		want := record(i)
		want.Line = i + 2
		if wrong := cmp.Diff(want, got); wrong != "" {
			t.Fatalf("%d:\n%s", i, wrong)
		}
	}
	r, err := Open(files[0], "")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := r.Next(); err != nil || !slices.Equal(r.About().Redact, []string{"header.cookie"}) {
		t.Errorf("it says of itself %v, %v", r.About(), err)
	}
	for _, name := range append(files, dir) {
		about, err := os.Stat(name)
		if err != nil || about.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, %v", name, about.Mode(), err)
		}
	}
	want := Entry{File: filepath.Base(files[0]), First: record(0).Time, Last: record(149).Time, Exchanges: 150}
	got := entries(t, dir)
	about, _ := os.Stat(files[0])
	want.Bytes = about.Size()
	if wrong := cmp.Diff([]Entry{want}, got); wrong != "" {
		t.Errorf("the index:\n%s", wrong)
	}
}

// TestACrashLosesWhatWasNotFlushed and no more: the file is read to its last whole frame, and the next start indexes it.
func TestACrashLosesWhatWasNotFlushed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := newWriter(t, dir, wide())
	add(t, w, 0, 10)
	flush(t, w, noon)
	whole := w.entry.Bytes
	add(t, w, 10, 10)
	flush(t, w, noon)
	add(t, w, 20, 10) // and the process dies
	files, recs, bad := recordings(t, dir)
	if len(recs) != 20 || len(bad) > 0 {
		t.Fatalf("%d records, %v", len(recs), bad)
	}
	if err := os.Truncate(files[0], whole+7); err != nil { // so does the machine, within a frame
		t.Fatal(err)
	}
	_, recs, bad = recordings(t, dir)
	if len(recs) != 10 || len(bad) != 1 {
		t.Errorf("%d records, %v", len(recs), bad)
	}
	if err := w.lock.Release(); err != nil { // as the kernel does
		t.Fatal(err)
	}
	next := newWriter(t, dir, wide())
	if err := next.Index(); err != nil {
		t.Fatal(err)
	}
	if list := entries(t, dir); len(list) != 1 || list[0].Exchanges != 10 || !list[0].Last.Equal(record(9).Time) {
		t.Errorf("the index: %+v", list)
	}
	add(t, next, 30, 1)
	if err := next.Close(noon); err != nil {
		t.Fatal(err)
	}
	if files, recs, _ := recordings(t, dir); len(files) != 2 || len(recs) != 11 {
		t.Errorf("%v, %d records", files, len(recs))
	}
}

// TestFilesAreRotatedAndOldOnesRemoved: by size, by age also without traffic, and all together within a bound.
func TestFilesAreRotatedAndOldOnesRemoved(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	bounds := wide()
	bounds.RotateSize, bounds.RotateAge = 1, time.Minute // each frame is a file
	w := newWriter(t, dir, bounds)
	now := noon
	for i := range 10 {
		add(t, w, i, 1)
		flush(t, w, now)
		now = now.Add(time.Second)
	}
	files, recs, _ := recordings(t, dir)
	if len(files) != 10 || len(recs) != 10 || len(entries(t, dir)) != 10 {
		t.Fatalf("%d files, %d records, %d in the index", len(files), len(recs), len(entries(t, dir)))
	}
	about, err := os.Stat(files[0])
	if err != nil {
		t.Fatal(err)
	}
	bounds.RotateSize, bounds.MaxSize = 1<<20, 4*about.Size()
	w.SetBounds(bounds)
	add(t, w, 10, 1)
	flush(t, w, now)
	flush(t, w, now.Add(time.Minute)) // nothing comes, and the file is a minute old
	if w.file != nil {
		t.Error("an old file is open still")
	}
	files, recs, _ = recordings(t, dir)
	if len(files) > 4 || len(recs) != len(files) || recs[len(recs)-1].ID != record(10).ID || len(entries(t, dir)) != len(files) {
		t.Errorf("%d files, %d records, the last %s, %d in the index", len(files), len(recs), recs[len(recs)-1].ID, len(entries(t, dir)))
	}
	bounds.MaxAge = time.Hour
	w.SetBounds(bounds)
	old := time.Now().Add(24 * time.Hour)
	flush(t, w, old)
	if _, err := Files([]string{dir}); err == nil || !strings.Contains(err.Error(), "has no recordings") {
		t.Errorf("files older than an hour are there: %v", err)
	}
}

// TestTroubleWithTheDiskIsSurvived: what waited is lost, what was there can be read, and then all goes on.
func TestTroubleWithTheDiskIsSurvived(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := newWriter(t, dir, wide())
	add(t, w, 0, 5)
	flush(t, w, noon)
	real := w.file
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	w.file = full // takes nothing: no space left on device
	for range 3 {
		add(t, w, 5, 5)
		if err := w.Flush(noon); err == nil || !strings.Contains(err.Error(), "no space left") {
			t.Fatalf("%v", err)
		}
	}
	if n, _ := w.Held(); n != 0 {
		t.Errorf("%d records are held", n)
	}
	w.file = real
	add(t, w, 10, 5)
	if err := w.Close(noon); err != nil {
		t.Fatal(err)
	}
	full.Close()
	_, recs, bad := recordings(t, dir)
	if len(recs) != 10 || len(bad) > 0 || recs[5].ID != record(10).ID {
		t.Errorf("%d records, %v", len(recs), bad)
	}
}

// TestAFileThatIsRemovedIsBegunAnew: who deletes what was recorded does not lose what comes.
func TestAFileThatIsRemovedIsBegunAnew(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := newWriter(t, dir, wide())
	add(t, w, 0, 5)
	flush(t, w, noon)
	files, _, _ := recordings(t, dir)
	if err := os.Remove(files[0]); err != nil {
		t.Fatal(err)
	}
	add(t, w, 5, 5)
	flush(t, w, noon.Add(time.Second))
	if err := w.Close(noon); err != nil {
		t.Fatal(err)
	}
	if files, recs, _ := recordings(t, dir); len(files) != 1 || len(recs) != 5 || len(entries(t, dir)) != 1 {
		t.Errorf("%v, %d records, %v", files, len(recs), entries(t, dir))
	}
}

// TestAPartOfAFrameIsTakenBack: a disk that fills within a frame leaves a file of whole ones.
func TestAPartOfAFrameIsTakenBack(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := newWriter(t, dir, wide())
	add(t, w, 0, 5)
	flush(t, w, noon)
	n, err := w.file.Write([]byte("half a frame"))
	if err != nil {
		t.Fatal(err)
	}
	w.takeBack(n)
	add(t, w, 5, 5)
	if err := w.Close(noon); err != nil {
		t.Fatal(err)
	}
	if _, recs, bad := recordings(t, dir); len(recs) != 10 || len(bad) > 0 {
		t.Errorf("%d records, %v", len(recs), bad)
	}
}

// TestAFolderThatCannotBeWrittenIsRefused at the start.
func TestAFolderThatCannotBeWrittenIsRefused(t *testing.T) {
	t.Parallel()
	file := write(t, "a", "x")
	if _, err := NewWriter(filepath.Join(file, "below"), wide(), nil); err == nil || !strings.Contains(err.Error(), "cannot be made") {
		t.Errorf("%v", err)
	}
}
