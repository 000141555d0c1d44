package traffic

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/klauspost/compress/zstd"
)

// Reader reads the requests of one file in their order. It is for one goroutine, but for Read.
type Reader struct {
	name   string
	format Format
	about  About
	file   io.Closer
	unpack func()
	read   *counting
	next   func() (*Record, error)
	ended  bool
}

// About is what a recording says of itself.
type About struct {
	Redact []string // the places whose values were replaced; empty for what is no recording
}

// headSize is how much of a file is looked at to tell its format.
const headSize = 64 << 10

// Open opens a file, "-" being standard input; gzip and zstd are undone. Without a format the file's beginning tells it.
func Open(name string, format Format) (*Reader, error) {
	file := os.Stdin
	if name != "-" {
		var err error
		if file, err = os.Open(name); err != nil {
			return nil, err
		}
		if about, err := file.Stat(); err == nil && about.IsDir() {
			file.Close()
			return nil, fmt.Errorf("%s is a folder", name)
		}
	}
	r, err := newReader(name, file, format)
	if err != nil {
		file.Close()
		return nil, err
	}
	r.file = file
	return r, nil
}

// newReader reads from anything.
func newReader(name string, from io.Reader, format Format) (*Reader, error) {
	r := &Reader{name: name, read: &counting{r: from}}
	text, unpack, err := unpacked(bufio.NewReaderSize(r.read, headSize))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	r.unpack = unpack
	if r.format = format; format == "" {
		head, _ := text.Peek(headSize) // an error comes again when it is read
		if len(head) == 0 {
			r.format = FormatNDJSON // an empty file has no requests, whatever its format
		} else if r.format = detect(head); r.format == "" {
			r.unpack()
			return nil, fmt.Errorf("%s: its format cannot be told: it looks like no HAR, GoReplay file, recording, access log or list of curl commands; name it with -format", name)
		}
	}
	switch r.format {
	case FormatHAR:
		r.next = newHAR(text).next
	case FormatGor:
		r.next = newGor(text).next
	case FormatLog:
		r.next = newAccessLog(text).next
	case FormatCurl:
		r.next = newCurlList(text).next
	default:
		r.next = newRecording(text, &r.about).next
	}
	return r, nil
}

// unpacked undoes gzip and zstd, until unpack is called.
func unpacked(packed *bufio.Reader) (text *bufio.Reader, unpack func(), err error) {
	magic, _ := packed.Peek(4)
	switch {
	case string(magic) == "\x28\xb5\x2f\xfd":
		zr, err := zstd.NewReader(packed, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(2*maxLine))
		if err != nil {
			return nil, nil, err
		}
		return bufio.NewReaderSize(zr, headSize), zr.Close, nil
	case len(magic) > 2 && string(magic[:2]) == "\x1f\x8b":
		zr, err := gzip.NewReader(packed)
		if err != nil {
			return nil, nil, err
		}
		return bufio.NewReaderSize(zr, headSize), func() {}, nil
	}
	return packed, func() {}, nil
}

// Next returns the next request; a *Bad where there is none, behind which it goes on; and io.EOF at the end.
func (r *Reader) Next() (*Record, error) {
	if r.ended {
		return nil, io.EOF
	}
	rec, err := r.next()
	if bad, is := errors.AsType[*Bad](err); is {
		bad.File = r.name
		return nil, bad
	}
	if err != nil && err != io.EOF { // of reading: what was there is told, what follows is lost
		r.ended = true
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, &Bad{File: r.name, Why: "the file ends before its time: it was cut off, or is being written"}
		}
		return nil, &Bad{File: r.name, Why: "nothing more can be read: " + err.Error()}
	}
	if err == io.EOF {
		r.ended = true
	}
	return rec, err
}

// About is what was read of it so far: all of it when the first record was.
func (r *Reader) About() About { return r.about }

// Read is how many bytes of the file were read, packed as they are. It may be asked meanwhile.
func (r *Reader) Read() int64 { return r.read.n.Load() }

// Close closes the file.
func (r *Reader) Close() error {
	r.unpack()
	if r.file == nil {
		return nil
	}
	return r.file.Close()
}

// counting counts what is read.
type counting struct {
	r io.Reader
	n atomic.Int64
}

func (c *counting) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n.Add(int64(n))
	return n, err
}

// Files lists what names stand for: of a folder its recordings, in the order in which they were written.
func Files(names []string) (files []string, err error) {
	for _, name := range names {
		about, err := os.Stat(name)
		if name == "-" || err == nil && !about.IsDir() {
			files = append(files, name)
			continue
		}
		if err != nil {
			return nil, err
		}
		entries, err := os.ReadDir(name)
		if err != nil {
			return nil, err
		}
		var within []string
		for _, e := range entries {
			if e.Type().IsRegular() && strings.HasSuffix(e.Name(), recordingEnd) {
				within = append(within, filepath.Join(name, e.Name()))
			}
		}
		if len(within) == 0 {
			return nil, fmt.Errorf("%s has no recordings: files that end in %s", name, recordingEnd)
		}
		slices.Sort(within)
		files = append(files, within...)
	}
	return files, nil
}
