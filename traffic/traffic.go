// Package traffic reads and writes recorded requests: plain records, with the answer where it was kept.
//
//	HAR, GoReplay, access logs, curl commands ──┐
//	recordings: NDJSON in zstd ─────────────────┴──► Reader ──► Record
//	Record ──► Writer ──► recordings, rotated, with an index
//
// A Reader never gives a file up for one bad line: it names the line, says why, and goes on. A Writer writes whole frames,
// so that a crash leaves files that can be read. The package knows nothing of comparing, and speaks to no network.
package traffic

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"
)

// Record is one request that was made somewhere, with the answer that it got where that was kept.
type Record struct {
	ID      string    // of a recording; else empty
	Time    time.Time // when it was made; zero: not known
	Request Request
	Answer  *Response // nil: not kept
	Line    int       // of the file, from 1; of a Reader's records only
}

// Request is what was asked, without hop-by-hop headers.
type Request struct {
	Method  string
	Target  string // path and query
	Host    string // empty: not known
	Header  http.Header
	Trailer http.Header
	Body    []byte
	Cut     bool // it had, or may have had, a body that was not kept
}

// Response is an answer, without hop-by-hop headers.
type Response struct {
	Status  int
	Header  http.Header
	Trailer http.Header
	Body    []byte
	Size    int64  // bytes of the body as it was sent
	Hash    []byte // SHA-256 of the whole body, where that was too long to be kept; else nil
	Cut     bool   // the body was not kept, and neither was its hash
	Took    time.Duration
}

// Bad is a line that holds no request that could be asked again. The Reader goes on behind it.
type Bad struct {
	File string
	Line int // from 1; 0: of the file as a whole
	Why  string
}

// Error is FILE:LINE: WHY.
func (b *Bad) Error() string {
	if b.Line == 0 {
		return b.File + ": " + b.Why
	}
	return fmt.Sprintf("%s:%d: %s", b.File, b.Line, b.Why)
}

// hopByHop are headers of one connection (RFC 9110, section 7.6.1), and those that whoever asks again makes anew.
var hopByHop = [...]string{
	"Connection", "Keep-Alive", "Proxy-Connection", "Proxy-Authenticate", "Proxy-Authorization", "Te", "Trailer",
	"Transfer-Encoding", "Upgrade", "Content-Length", "Expect", "X-Shadow-Request", "X-Shadow-Id",
}

// tidy takes away what belongs to the connection that a request came over.
func (r *Request) tidy() {
	if r.Host == "" {
		r.Host = r.Header.Get("Host")
	}
	delete(r.Header, "Host")
	dropHopByHop(r.Header)
}

func dropHopByHop(h http.Header) {
	for _, name := range hopByHop {
		delete(h, name)
	}
}

// check says why a request cannot be asked again, if it cannot.
func (r *Request) check() error {
	switch {
	case r.Method == "" || !httpguts.ValidHeaderFieldName(r.Method):
		return fmt.Errorf("%q is no method", shorten(r.Method))
	case r.Method == http.MethodConnect:
		return errors.New("a CONNECT asks for a tunnel, which is never replayed")
	case !strings.HasPrefix(r.Target, "/") && r.Target != "*":
		return fmt.Errorf("%q is no path", shorten(r.Target))
	case !httpguts.ValidHostHeader(r.Host):
		return fmt.Errorf("%q is no host", shorten(r.Host))
	}
	if i := strings.IndexFunc(r.Target, func(c rune) bool { return c <= ' ' || c == 0x7f }); i >= 0 {
		return fmt.Errorf("the path holds %q, which no request line can", r.Target[i])
	}
	if _, err := url.ParseRequestURI(r.Target); err != nil {
		return fmt.Errorf("%q is no path: %w", shorten(r.Target), err)
	}
	if r.Header == nil {
		r.Header = http.Header{}
	}
	return checkHeader(r.Header)
}

func checkHeader(h http.Header) error {
	for name, values := range h {
		if !httpguts.ValidHeaderFieldName(name) {
			return fmt.Errorf("%q is no name of a header", shorten(name))
		}
		for _, value := range values {
			if !httpguts.ValidHeaderFieldValue(value) {
				return fmt.Errorf("the header %s holds what no header can", name)
			}
		}
	}
	return nil
}

// setTarget takes what stands in a request line: a path, or to a proxy an absolute URL (RFC 9112, section 3.2).
func (r *Request) setTarget(text string) error {
	if strings.Contains(text, "://") && !strings.HasPrefix(text, "/") {
		return r.setURL(text)
	}
	r.Target = text
	return nil
}

// setURL takes host and target from an absolute URL.
func (r *Request) setURL(text string) error {
	u, err := url.Parse(text)
	if err != nil {
		return fmt.Errorf("%q is no URL", shorten(text))
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("%q is no URL of http or https", shorten(text))
	}
	rest := text[strings.Index(text, "://")+3:]
	rest, _, _ = strings.Cut(rest, "#")
	at := strings.IndexAny(rest, "/?")
	r.Host, r.Target = u.Host, "/"
	if at >= 0 { // byte for byte, where url.URL would write some of it anew
		if r.Target = rest[at:]; rest[at] == '?' {
			r.Target = "/" + r.Target
		}
	}
	return nil
}

// shorten keeps a message on one line.
func shorten(text string) string {
	const most = 60
	if len(text) > most {
		return text[:most] + "…"
	}
	return text
}
