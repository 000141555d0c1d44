package multicast

import (
	"cmp"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// seen is a request as the handler of a primary saw it.
type seen struct {
	method, target, host string
	proto                string // 1.0, 1.1 or 2
	header               http.Header
	framing              string // none, length, chunked
	body                 string
	announced            []string // names of trailers
	trailer              http.Header
	cut                  int32 // how the body broke off: uploadGone, uploadBroken, or 0
	endless              bool  // it broke in trailers that did not end: more might still come
}

// How a recorder answers. What it says is made to show everything that an answer may hold, one thing at a time.
const (
	mannerWhole       = iota // reads the body to its end, then answers with a length
	mannerChunked            // the same, in two chunks
	mannerEarly              // answers at once, and never reads
	mannerEcho               // answers each piece as it comes
	mannerHints              // says 103 and 102 first
	mannerTrailer            // two trailers, of which one is announced
	mannerCut                // breaks off in the middle of a chunk
	mannerShort              // breaks off before the length is reached
	mannerNoContent          // 204
	mannerNotModified        // 304
	mannerCloses             // and closes the connection
	mannerBare               // no type, no date
	manners
)

// recorder is a primary on net/http, set up as the proxy's own server is, that remembers what it was asked.
type recorder struct {
	server *http.Server
	addr   string
	manner atomic.Int32

	busy atomic.Int32 // requests being handled

	mu    sync.Mutex
	asked []seen
}

func newRecorder(t testing.TB) *recorder {
	cfg := DefaultConfig()
	cfg.Listen, cfg.Primary = "127.0.0.1:0", "http://127.0.0.1:1"
	like, err := New(cfg, Deps{})
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{server: like.Server()}
	r.server.Handler = r
	r.server.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	r.addr = serve(t, r.server)
	return r
}

// serve starts a server that ends with the test.
func serve(t testing.TB, server *http.Server) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(listener)
	}()
	t.Cleanup(func() {
		_ = server.Close()
		<-done
	})
	return listener.Addr().String()
}

// take hands over what was seen since the last time.
func (r *recorder) take() []seen {
	r.mu.Lock()
	defer r.mu.Unlock()
	asked := r.asked
	r.asked = nil
	return asked
}

func (r *recorder) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.busy.Add(1)
	defer r.busy.Add(-1)
	s := seen{
		method: req.Method, target: req.RequestURI, host: req.Host, header: req.Header.Clone(),
		proto: fmt.Sprintf("%d.%d", req.ProtoMajor, req.ProtoMinor), framing: framing(req), announced: slices.Sorted(maps.Keys(req.Trailer)),
	}
	manner := r.manner.Load()
	h := w.Header()
	h["Date"] = []string{"then"}
	h["Content-Type"] = []string{"text/x"}
	h["X-D"] = []string{"one", "two"}
	control := http.NewResponseController(w)
	var body []byte
	var err error
	switch manner {
	case mannerEarly:
		_ = control.EnableFullDuplex()
	case mannerEcho:
		_ = control.EnableFullDuplex()
		body, err = echo(w, req.Body)
	default:
		body, err = io.ReadAll(req.Body)
	}
	s.body, s.trailer = string(body), req.Trailer.Clone()
	if err != nil {
		s.cut = uploadFault(err)
		s.endless = strings.Contains(err.Error(), "long trailer")
	}
	r.mu.Lock()
	r.asked = append(r.asked, s)
	r.mu.Unlock()
	// OPTIONS of a whole host is `*` or an absolute form without a path, which are the same.
	r.answer(w, control, manner, s.method+" "+cmp.Or(strings.TrimPrefix(req.URL.Path, "*"), "/"))
}

func framing(req *http.Request) string {
	switch {
	case slices.Contains(req.TransferEncoding, "chunked") || req.ContentLength < 0:
		return "chunked"
	case req.ContentLength > 0 || req.Header["Content-Length"] != nil:
		return "length"
	}
	return "none"
}

func echo(w http.ResponseWriter, body io.Reader) (all []byte, err error) {
	w.WriteHeader(http.StatusAccepted)
	_ = http.NewResponseController(w).Flush()
	buf := make([]byte, 512)
	for {
		n, err := body.Read(buf)
		all = append(all, buf[:n]...)
		_, _ = w.Write(buf[:n])
		_ = http.NewResponseController(w).Flush()
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return all, err
		}
	}
}

// answer says what was asked, so that the client can tell one answer from the next.
func (r *recorder) answer(w http.ResponseWriter, control *http.ResponseController, manner int32, text string) {
	h := w.Header()
	switch manner {
	case mannerEcho:
		return
	case mannerHints:
		link := http.Header{"Link": {"</b>", "</a>"}, "X-D": h["X-D"]}
		for name := range h {
			delete(h, name)
		}
		h["Link"] = link["Link"]
		w.WriteHeader(http.StatusEarlyHints)
		delete(h, "Link")
		w.WriteHeader(http.StatusProcessing)
		h["Date"], h["Content-Type"], h["X-D"] = []string{"then"}, []string{"text/x"}, link["X-D"]
	case mannerTrailer:
		h["Trailer"] = []string{"X-Announced"}
		_ = control.Flush() // no length: HTTP/2 would say one, beside which HTTP/1 has no room for trailers
		defer func() {
			h["X-Announced"] = []string{"1"}
			h[http.TrailerPrefix+"X-Late"] = []string{"2", "3"}
		}()
	case mannerNoContent:
		w.WriteHeader(http.StatusNoContent)
		return
	case mannerNotModified:
		h["Etag"], h["Content-Type"] = []string{`"e"`}, nil // which net/http's server would send over HTTP/2 alone
		w.WriteHeader(http.StatusNotModified)
		return
	case mannerCloses:
		h["Connection"] = []string{"close"}
	case mannerBare:
		h["Date"], h["Content-Type"] = nil, nil
	case mannerShort:
		h["Content-Length"] = []string{"10000"}
	}
	_, _ = io.WriteString(w, text)
	switch manner {
	case mannerChunked:
		_ = control.Flush()
		_, _ = io.WriteString(w, " and more")
	case mannerCut, mannerShort:
		_ = control.Flush()
		panic(http.ErrAbortHandler)
	}
}
