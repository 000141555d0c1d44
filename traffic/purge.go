package traffic

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
)

// Span is a stretch of time, without its end.
type Span struct {
	From  time.Time // zero: ever
	Until time.Time
}

// Has tells whether a moment is in it.
func (s Span) Has(t time.Time) bool { return !t.Before(s.From) && t.Before(s.Until) }

func within(spans []Span, t time.Time) bool {
	return slices.ContainsFunc(spans, func(s Span) bool { return s.Has(t) })
}

// Purged is how much was taken out of recordings, or may be.
type Purged struct {
	Files     int64 // that are shorter, or gone
	Exchanges int64
	Bytes     int64 // packed
}

// Purge takes the exchanges that were asked within the spans out of a folder into which nobody records. Files in which
// nothing else is are removed, and the others written anew, whole or not at all.
func Purge(dir string, spans []Span) (Purged, error) {
	held, err := lockFolder(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return Purged{}, nil
	}
	if err != nil {
		return Purged{}, err
	}
	x := index{dir: dir}
	x.load()
	done, err := x.purge(spans)
	return done, errors.Join(err, held.Release())
}

// Within tells how much Purge would look through: of files that hold more than the spans it is more than goes.
func Within(dir string, spans []Span) (Purged, error) {
	x := index{dir: dir}
	x.load()
	var all Purged
	touched, err := x.touched(spans)
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	for _, e := range touched {
		all = Purged{all.Files + 1, all.Exchanges + e.Exchanges, all.Bytes + e.Bytes}
	}
	return all, err
}

// Purge is Purge for the folder that is written to. It may run beside everything else; Rotate first, since the file that is
// open is left alone.
func (w *Writer) Purge(spans []Span) (Purged, error) { return w.index.purge(spans) }

// Within is Within for the folder that is written to.
func (w *Writer) Within(spans []Span) (Purged, error) { return Within(w.dir, spans) }

// partEnd is how the names of recordings end that are being written anew.
const partEnd = ".part"

func (x *index) purge(spans []Span) (done Purged, err error) {
	x.reading.Lock()
	defer x.reading.Unlock()
	if err := x.tidy(); err != nil {
		return done, fmt.Errorf("purging recordings: %w", err)
	}
	touched, err := x.touched(spans)
	for _, e := range touched {
		if err != nil {
			break
		}
		var one Purged
		one, err = x.purgeFile(e, spans)
		done = Purged{done.Files + one.Files, done.Exchanges + one.Exchanges, done.Bytes + one.Bytes}
	}
	if x.changed() {
		err = errors.Join(err, x.save())
	}
	if err != nil {
		return done, fmt.Errorf("purging recordings: %w", err)
	}
	return done, nil
}

// tidy removes files that were never finished, which a crash has left.
func (x *index) tidy() error {
	entries, err := os.ReadDir(x.dir)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), unfinished) && strings.HasSuffix(e.Name(), partEnd) {
			err = errors.Join(err, os.Remove(filepath.Join(x.dir, e.Name())))
		}
	}
	return err
}

// touched lists the files that may hold something of the spans: from their first exchange to when they were written last.
// What a crash has cut off at their end is of before that.
func (x *index) touched(spans []Span) (list []Entry, err error) {
	files, err := x.files()
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		x.mu.Lock()
		e, known := x.entries[f.name]
		open := x.current == f.name
		x.mu.Unlock()
		if open {
			continue
		}
		if !known {
			if e, err = summarize(filepath.Join(x.dir, f.name)); err != nil {
				return nil, err
			}
		}
		if slices.ContainsFunc(spans, func(s Span) bool { return e.First.Before(s.Until) && !f.written.Before(s.From) }) {
			e.Bytes = f.size
			list = append(list, e)
		}
	}
	return list, nil
}

// purgeFile writes a recording anew without what is in the spans.
func (x *index) purgeFile(e Entry, spans []Span) (done Purged, err error) {
	name := filepath.Join(x.dir, e.File)
	about, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) { // its time had come
		return done, nil
	}
	if err != nil {
		return done, err
	}
	part, err := os.CreateTemp(x.dir, unfinished+"*"+partEnd) // for this user alone
	if err != nil {
		return done, err
	}
	defer os.Remove(part.Name())
	rest, gone, err := sift(name, part, spans)
	if err == nil {
		err = part.Sync()
	}
	if err = errors.Join(err, part.Close()); err != nil {
		return done, err
	}
	if gone == 0 && rest.Exchanges > 0 {
		return done, nil
	}
	done = Purged{1, gone, about.Size()}
	if rest.Exchanges == 0 {
		x.remove(e.File)
		return done, os.Remove(name)
	}
	size := packedSize(part.Name())
	done.Bytes -= size
	if err = os.Chtimes(part.Name(), time.Time{}, about.ModTime()); err == nil { // by which its time will come
		err = os.Rename(part.Name(), name)
	}
	if err == nil {
		rest.File, rest.Bytes = e.File, size
		x.add(rest)
	}
	return done, err
}

// sift copies a recording as far as it can be read, without the exchanges in the spans and without lines of which nobody
// can tell when they were asked. It answers how many it has left out; what is torn off at the end of the file is one.
func sift(name string, to io.Writer, spans []Span) (rest Entry, gone int64, err error) {
	frames, err := newFrames(to)
	if err != nil {
		return rest, 0, err
	}
	torn, err := eachExchange(name, func(line []byte, asked time.Time) error {
		switch {
		case isFirst(line):
		case asked.IsZero() || within(spans, asked):
			gone++
			return nil
		default:
			rest.add(summary{1, asked, asked})
		}
		return frames.add(line)
	})
	if torn {
		gone++
	}
	return rest, gone, errors.Join(err, frames.close())
}

// frames packs lines into frames of zstd, as a recording has them.
type frames struct {
	to     io.Writer
	enc    *zstd.Encoder
	buffer bytes.Buffer
}

func newFrames(to io.Writer) (*frames, error) {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true))
	return &frames{to: to, enc: enc}, err
}

func (f *frames) add(line []byte) error {
	f.buffer.Write(line)
	if f.buffer.Len() < 1<<20 {
		return nil
	}
	return f.flush()
}

func (f *frames) flush() error {
	_, err := f.to.Write(f.enc.EncodeAll(f.buffer.Bytes(), nil))
	f.buffer.Reset()
	return err
}

func (f *frames) close() error { return errors.Join(f.flush(), f.enc.Close()) }
