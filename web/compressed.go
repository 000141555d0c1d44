package web

import (
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
)

// compressFrom is the least size, in bytes, that is compressed: what fits one packet gains nothing. What has an entity
// tag is compressed whenever it may be, since the tag says so before the size is known.
const compressFrom = 1400

// compressed sends texts with gzip to those who take it.
func compressed(next http.Handler) http.Handler {
	writers := &sync.Pool{New: func() any {
		out, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // a level that there is
		return out
	}}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("Vary", "Accept-Encoding")
		if !acceptsGzip(r.Header) {
			next.ServeHTTP(w, r)
			return
		}
		c := &compressor{ResponseWriter: w, writers: writers}
		next.ServeHTTP(c, r)
		c.end()
	})
}

// compressor decides at the first bytes of a body whether they are to be compressed: until then the head waits.
type compressor struct {
	http.ResponseWriter
	writers *sync.Pool
	status  int // 0: no head yet
	started bool
	out     *gzip.Writer // nil: as it is
}

func (c *compressor) WriteHeader(status int) {
	if status < http.StatusOK {
		c.ResponseWriter.WriteHeader(status)
	} else if c.status == 0 {
		c.status = status
	}
}

func (c *compressor) Write(p []byte) (int, error) {
	c.start(len(p))
	if c.out != nil {
		return c.out.Write(p)
	}
	return c.ResponseWriter.Write(p)
}

// FlushError sends what there is; http.ResponseController calls it.
func (c *compressor) FlushError() error {
	c.start(0)
	if c.out != nil {
		if err := c.out.Flush(); err != nil {
			return err
		}
	}
	return http.NewResponseController(c.ResponseWriter).Flush()
}

// Unwrap is for http.ResponseController: deadlines are the connection's.
func (c *compressor) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// start sends the head, with a body to follow whose first piece is so long.
func (c *compressor) start(length int) {
	if c.started {
		return
	}
	c.started = true
	if c.status == 0 {
		c.status = http.StatusOK
	}
	h := c.Header()
	tagged := strings.HasSuffix(h.Get("ETag"), gzipTag+`"`)
	if c.status != http.StatusNoContent && c.status != http.StatusNotModified && h.Get("Content-Encoding") == "" &&
		compressible(h.Get("Content-Type")) && (tagged || length >= compressFrom) {
		h.Set("Content-Encoding", "gzip")
		h.Del("Content-Length")
		c.out = c.writers.Get().(*gzip.Writer)
		c.out.Reset(c.ResponseWriter)
	}
	c.ResponseWriter.WriteHeader(c.status)
}

// end sends what is left of the body.
func (c *compressor) end() {
	if c.status != 0 {
		c.start(0)
	}
	if c.out != nil {
		_ = c.out.Close() // the caller is gone: nobody to tell
		c.writers.Put(c.out)
		c.out = nil
	}
}

func compressible(label string) bool {
	media, _, _ := mime.ParseMediaType(label)
	return slices.Contains([]string{"application/json", "application/problem+json", "application/yaml", "text/csv", "text/plain", "text/html"}, media)
}

// acceptsGzip reads Accept-Encoding. A coding of its own counts before *, and q=0 is a refusal.
//
// Source: RFC 9110, section 12.5.3.
func acceptsGzip(h http.Header) bool {
	accepted, named := false, false
	for _, part := range strings.Split(strings.Join(h.Values("Accept-Encoding"), ","), ",") {
		coding, params, _ := strings.Cut(part, ";")
		coding = strings.ToLower(strings.TrimSpace(coding))
		own := coding == "gzip" || coding == "x-gzip"
		if !own && (coding != "*" || named) {
			continue
		}
		weight := 1.0
		if name, value, ok := strings.Cut(strings.ToLower(strings.TrimSpace(params)), "="); ok && strings.TrimSpace(name) == "q" {
			q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil {
				q = 0
			}
			weight = q
		}
		accepted, named = weight > 0, named || own
	}
	return accepted
}
