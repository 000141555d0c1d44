package normalize

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

const (
	maxCodings       = 4       // stacked; nothing real has more than two
	maxWindow        = 8 << 20 // bytes; RFC 9659 allows no more for zstd in HTTP
	defaultMaxDecode = 8 << 20
	firstStep        = 4 << 10 // bytes reserved at first for what is decoded
)

var (
	errNoMemory = errors.New(noMemory)
	errTooLarge = errors.New("it decodes to over the limit")
)

// decoders undoes content codings. Its readers are kept for reuse, and none of them starts a goroutine.
type decoders struct {
	gzip, zlib, flate, brotli, zstd sync.Pool
}

// decode undoes the content codings of a body, each under the limit. Where that fails it answers an error and, for
// people, a note that says why; the body is then compared as sent.
func (d *decoders) decode(header http.Header, body []byte, limit int64, reserve func(int64) bool) (out []byte, note string, err error) {
	codings := contentCodings(header)
	if len(codings) > maxCodings {
		err = fmt.Errorf("%d content codings, at most %d are undone", len(codings), maxCodings)
		return nil, "not decoded: " + err.Error(), err
	}
	out = body
	for i := len(codings) - 1; i >= 0; i-- {
		out, err = d.undo(codings[i], out, limit, reserve)
		if err != nil {
			return nil, fmt.Sprintf("not decoded: %s: %v", shorten(codings[i], 32), err), err
		}
	}
	return out, "", nil
}

// contentCodings lists the codings in the order in which they were applied.
func contentCodings(header http.Header) []string {
	var out []string
	for _, line := range header.Values("Content-Encoding") {
		for coding := range strings.SplitSeq(line, ",") {
			coding = strings.ToLower(trimSpace(coding))
			if coding != "" && coding != "identity" {
				out = append(out, coding)
			}
		}
	}
	return out
}

// undo undoes one coding.
func (d *decoders) undo(coding string, body []byte, limit int64, reserve func(int64) bool) ([]byte, error) {
	out := inflated{limit: limit, reserve: reserve, hint: int64(len(body)) * 4}
	switch coding {
	case "gzip", "x-gzip":
		return d.gunzip(body, &out)
	case "deflate":
		return d.deflate(body, &out)
	case "br":
		return d.unbrotli(body, &out)
	case "zstd":
		return d.unzstd(body, &out)
	}
	return nil, errors.New("an unknown coding")
}

func (d *decoders) gunzip(body []byte, out *inflated) ([]byte, error) {
	if n := len(body); n > 4 {
		// The last four bytes tell the size, if there is one member only and they tell the truth.
		size := int64(body[n-4]) | int64(body[n-3])<<8 | int64(body[n-2])<<16 | int64(body[n-1])<<24
		if size <= int64(n)*1032 {
			out.hint = size
		}
	}
	z, _ := d.gzip.Get().(*gzip.Reader)
	if z == nil {
		z = new(gzip.Reader)
	}
	defer d.gzip.Put(z)
	in := bytes.NewReader(body)
	if err := z.Reset(in); err != nil {
		return nil, err
	}
	return out.read(z)
}

// deflate is zlib's format; some servers send the raw one, which no zlib header begins except by chance.
func (d *decoders) deflate(body []byte, out *inflated) ([]byte, error) {
	if len(body) < 2 || body[0]&0x0F != 8 || (int(body[0])<<8|int(body[1]))%31 != 0 {
		return d.inflateRaw(body, out)
	}
	data, err := d.inflateZlib(body, out)
	if err == nil || err == errTooLarge || err == errNoMemory {
		return data, err
	}
	if raw, rawErr := d.inflateRaw(body, out); rawErr == nil {
		return raw, nil
	}
	return nil, err
}

func (d *decoders) inflateZlib(body []byte, out *inflated) ([]byte, error) {
	in := bytes.NewReader(body)
	z, _ := d.zlib.Get().(io.ReadCloser)
	if z == nil {
		var err error
		if z, err = zlib.NewReader(in); err != nil {
			return nil, err
		}
	} else if err := z.(zlib.Resetter).Reset(in, nil); err != nil {
		return nil, err
	}
	defer d.zlib.Put(z)
	return out.readAll(z, in)
}

func (d *decoders) inflateRaw(body []byte, out *inflated) ([]byte, error) {
	in := bytes.NewReader(body)
	z, _ := d.flate.Get().(io.ReadCloser)
	if z == nil {
		z = flate.NewReader(in)
	} else if err := z.(flate.Resetter).Reset(in, nil); err != nil {
		return nil, err
	}
	defer d.flate.Put(z)
	return out.readAll(z, in)
}

func (d *decoders) unbrotli(body []byte, out *inflated) ([]byte, error) {
	in := bytes.NewReader(body)
	z, _ := d.brotli.Get().(*brotli.Reader)
	if z == nil {
		z = brotli.NewReader(in)
	} else if err := z.Reset(in); err != nil {
		return nil, err
	}
	defer d.brotli.Put(z)
	return out.readAll(z, in)
}

func (d *decoders) unzstd(body []byte, out *inflated) ([]byte, error) {
	z, _ := d.zstd.Get().(*zstd.Decoder)
	if z == nil {
		var err error
		z, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderMaxMemory(uint64(max(out.limit, 1<<10))))
		if err != nil {
			return nil, err
		}
	}
	defer d.zstd.Put(z)
	in := bytes.NewReader(body)
	if err := z.Reset(in); err != nil {
		return nil, err
	}
	return out.readAll(z, in)
}

// inflated gathers what a reader yields, under a limit and in steps that are reserved before they are taken.
type inflated struct {
	limit   int64
	reserve func(int64) bool
	hint    int64 // what the size will probably be
	taken   int64 // reserved
}

// readAll reads to the end and refuses bytes behind it, which would not be compared.
func (o *inflated) readAll(from io.Reader, in *bytes.Reader) ([]byte, error) {
	out, err := o.read(from)
	if err == nil && in.Len() > 0 {
		return nil, fmt.Errorf("%d bytes follow its end", in.Len())
	}
	return out, err
}

func (o *inflated) read(from io.Reader) ([]byte, error) {
	var out []byte
	for {
		if len(out) == cap(out) {
			size := max(2*int64(cap(out)), min(o.hint, o.limit)+1, firstStep)
			size = min(size, o.limit+1)
			if grow := size - o.taken; grow > 0 && o.reserve != nil && !o.reserve(grow) {
				return nil, errNoMemory
			}
			o.taken = max(o.taken, size)
			out = append(make([]byte, 0, size), out...)
		}
		n, err := from.Read(out[len(out):cap(out)])
		out = out[:len(out)+n]
		switch {
		case int64(len(out)) > o.limit:
			return nil, errTooLarge
		case err == io.EOF:
			return out, nil
		case errors.Is(err, zstd.ErrDecoderSizeExceeded), errors.Is(err, zstd.ErrWindowSizeExceeded):
			return nil, errTooLarge
		case err != nil:
			return nil, err
		}
	}
}

// shorten cuts what a peer sent for showing it in a note.
func shorten(s string, most int) string {
	if len(s) > most {
		s = s[:most] + "…"
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}
