package traffic

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/klauspost/compress/zstd"

	"shadowdiff/lock"
)

// Bounds are how large recordings become.
type Bounds struct {
	RotateSize int64         // bytes of a file, packed, from which on another is begun
	RotateAge  time.Duration // likewise its age
	MaxSize    int64         // bytes of all files; the oldest are removed
	MaxAge     time.Duration // since a file was written last; 0: none
}

// Writer writes recordings into a folder. What is added waits in memory for Flush, which writes it as one frame of zstd
// and sees to it that it is on the disk: so a crash loses what was added since, and every file can be read to its last
// frame. A Writer is for one goroutine.
type Writer struct {
	dir    string
	lock   *lock.Lock
	bounds Bounds
	redact []string
	enc    *zstd.Encoder
	index  index
	swept  time.Time

	buffer bytes.Buffer
	held   summary // of what is in the buffer

	file  *os.File // nil: none is open
	begun time.Time
	entry Entry // of the open file
}

// summary is what the index will say of some records.
type summary struct {
	records     int64
	first, last time.Time
}

func (s *summary) add(o summary) {
	if s.records == 0 || !o.first.IsZero() && o.first.Before(s.first) {
		s.first = o.first
	}
	if o.last.After(s.last) {
		s.last = o.last
	}
	s.records += o.records
}

// NewWriter readies a folder, which it makes where it is missing; only this user may read it. Redact is what every file
// says of itself: the places whose values were replaced. It opens no file yet. A folder has one writer: it is refused to
// a second process until the first one has called Close.
func NewWriter(dir string, bounds Bounds, redact []string) (*Writer, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("the folder for recordings cannot be made: %w", err)
	}
	probe, err := os.CreateTemp(dir, unfinished+"*")
	if err != nil {
		return nil, fmt.Errorf("the folder for recordings cannot be written to: %w", err)
	}
	if err := errors.Join(probe.Close(), os.Remove(probe.Name())); err != nil {
		return nil, fmt.Errorf("the folder for recordings cannot be written to: %w", err)
	}
	held, err := lockFolder(dir)
	if err != nil {
		return nil, err
	}
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return nil, errors.Join(err, held.Release())
	}
	w := &Writer{dir: dir, lock: held, bounds: bounds, redact: append([]string{}, redact...), enc: enc, index: index{dir: dir}}
	w.index.load()
	return w, nil
}

// lockName is the file that keeps a second writer out of a folder.
const lockName = ".lock"

func lockFolder(dir string) (*lock.Lock, error) {
	held, err := lock.Take(filepath.Join(dir, lockName))
	return held, lockedBy(dir, err)
}

// lockedBy says what can be done about a folder that cannot be had.
func lockedBy(dir string, err error) error {
	if held, is := errors.AsType[*lock.Held](err); is {
		return fmt.Errorf("the folder for recordings %s is %w: stop that one, or name another folder", dir, held)
	}
	if err != nil {
		return fmt.Errorf("the folder for recordings cannot be locked: %w", err)
	}
	return nil
}

// SetBounds takes other bounds, from the next Flush on.
func (w *Writer) SetBounds(bounds Bounds) { w.bounds = bounds }

// SetRedact has another list be told by the files from now on: the one that is open is ended.
func (w *Writer) SetRedact(redact []string) error {
	w.redact = append([]string{}, redact...)
	return w.Rotate()
}

// Add takes a record into memory.
func (w *Writer) Add(r *Record) error {
	before := w.buffer.Len()
	if err := appendRecord(&w.buffer, r); err != nil {
		w.buffer.Truncate(before)
		return fmt.Errorf("writing a record down: %w", err)
	}
	w.held.add(summary{1, r.Time, r.Time})
	return nil
}

// Held is how much waits for Flush, in records and bytes.
func (w *Writer) Held() (records int64, size int) { return w.held.records, w.buffer.Len() }

// Flush writes what waits, begins another file where it is time, and removes old ones. Where it fails, what waited is
// lost, what was written before can still be read, and the next call tries anew.
func (w *Writer) Flush(now time.Time) error {
	held := w.held
	var err error
	if held.records > 0 {
		err = w.write(now)
	}
	w.buffer.Reset()
	w.held = summary{}
	if w.buffer.Cap() > 8<<20 { // after a burst
		w.buffer = bytes.Buffer{}
	}
	due := w.file != nil && (w.entry.Bytes >= w.bounds.RotateSize || now.Sub(w.begun) >= w.bounds.RotateAge)
	if due {
		err = errors.Join(err, w.Rotate())
	}
	if due || now.Sub(w.swept) >= time.Minute {
		w.swept = now
		err = errors.Join(err, w.sweep(now))
	}
	return err
}

// write appends one frame, or nothing.
func (w *Writer) write(now time.Time) error {
	head := bytes.Buffer{}
	w.lookAgain()
	if w.file == nil {
		if err := w.create(now); err != nil {
			return err
		}
	}
	if w.entry.Bytes == 0 {
		if err := appendJSON(&head, first{recordingVersion, w.redact}); err != nil {
			return err
		}
	}
	frame := w.enc.EncodeAll(append(head.Bytes(), w.buffer.Bytes()...), nil)
	n, err := w.file.Write(frame)
	if err == nil {
		err = w.file.Sync()
	}
	if err != nil {
		w.takeBack(n)
		return fmt.Errorf("writing a recording: %w", err)
	}
	w.entry.Bytes += int64(len(frame))
	w.entry.add(w.held)
	return nil
}

// lookAgain gives up a file that somebody has removed: what is written to it nobody could read.
func (w *Writer) lookAgain() {
	if w.file == nil {
		return
	}
	if _, err := os.Stat(w.file.Name()); errors.Is(err, os.ErrNotExist) {
		_ = w.file.Close()
		w.file, w.entry = nil, Entry{}
		w.index.open("")
	}
}

// takeBack removes the part of a frame that reached the file, or, where that fails too, leaves the file as it is.
func (w *Writer) takeBack(n int) {
	if n > 0 {
		if err := w.file.Truncate(w.entry.Bytes); err == nil {
			if _, err := w.file.Seek(w.entry.Bytes, 0); err == nil {
				return
			}
		}
	}
	if w.entry.Bytes > 0 && n == 0 {
		return
	}
	_ = w.end()
}

// create opens the next file. Its name is the moment, so that names are in the order of time.
func (w *Writer) create(now time.Time) error {
	if err := lockedBy(w.dir, w.lock.Renew()); err != nil { // somebody may have removed the folder, and its lock with it
		return fmt.Errorf("beginning a recording: %w", err)
	}
	for {
		name := now.UTC().Format("2006-01-02T15-04-05.000000Z") + recordingEnd
		file, err := os.OpenFile(filepath.Join(w.dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, os.ErrExist) {
			now = now.Add(time.Microsecond)
			continue
		}
		if err != nil {
			return fmt.Errorf("beginning a recording: %w", err)
		}
		w.file, w.begun, w.entry = file, now, Entry{File: name}
		w.index.open(name)
		return nil
	}
}

// end closes the open file; one without records is removed.
func (w *Writer) end() error {
	if w.file == nil {
		return nil
	}
	err := w.file.Close()
	if w.entry.Bytes == 0 {
		err = errors.Join(err, os.Remove(w.file.Name()))
	} else {
		w.index.add(w.entry)
	}
	w.file, w.entry = nil, Entry{}
	w.index.open("")
	return err
}

// Rotate ends the open file, if there is one, and has the index tell of it.
func (w *Writer) Rotate() error {
	if w.file == nil {
		return nil
	}
	return errors.Join(w.end(), w.index.save())
}

// sweep removes the oldest files while there is too much.
func (w *Writer) sweep(now time.Time) error {
	files, err := w.index.files()
	if err != nil {
		return fmt.Errorf("looking for old recordings: %w", err)
	}
	var total int64
	for _, f := range files {
		total += f.size
	}
	removed := false
	for _, f := range files {
		old := w.bounds.MaxAge > 0 && now.Sub(f.written) > w.bounds.MaxAge
		if !old && total <= w.bounds.MaxSize {
			break // those behind it are younger
		}
		if w.file != nil && f.name == w.entry.File {
			continue
		}
		if err := os.Remove(filepath.Join(w.dir, f.name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("removing an old recording: %w", err)
		}
		total -= f.size
		removed = true
		w.index.remove(f.name)
	}
	if removed || w.index.changed() {
		return w.index.save()
	}
	return nil
}

// Index makes up for the files that the index does not tell of, as after a crash. It may run beside everything else.
func (w *Writer) Index() error { return w.index.complete() }

// Close writes what waits, and gives the folder back.
func (w *Writer) Close(now time.Time) error {
	err := w.Flush(now)
	return errors.Join(err, w.Rotate(), w.enc.Close(), w.lock.Release())
}
