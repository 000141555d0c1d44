package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"
)

// ask is what a client wants of the primary; it travels in the query.
type ask struct {
	seed    int
	size    int // bytes of the body
	code    int
	chunked bool // the body comes without its length
	gzip    bool
	trailer bool // the checksum comes behind the body
	hints   bool // 103 comes first
	cut     bool // the body ends in the middle
	events  bool // as server-sent events, one by one
	early   bool // answered before the request's body is read
}

// target is the request target that asks for it.
func (a ask) target(path string) string {
	q := fmt.Sprintf("%s?seed=%d&size=%d&code=%d", path, a.seed, a.size, a.code)
	for name, on := range a.flags() {
		if *on {
			q += "&" + name + "=1"
		}
	}
	return q
}

func (a *ask) flags() map[string]*bool {
	return map[string]*bool{
		"chunked": &a.chunked, "gzip": &a.gzip, "trailer": &a.trailer, "hints": &a.hints, "cut": &a.cut,
		"events": &a.events, "early": &a.early,
	}
}

func readAsk(q url.Values) (a ask) {
	a.seed, _ = strconv.Atoi(q.Get("seed"))
	a.size, _ = strconv.Atoi(q.Get("size"))
	a.code, _ = strconv.Atoi(q.Get("code"))
	for name, on := range a.flags() {
		*on = q.Has(name)
	}
	return a
}

const (
	sumHeader = "X-Sum" // of the body as it is sent
	gotHeader = "X-Got" // of the request's body as it came
)

// sum is how a body is told by those who send it and those who get it.
func sum(body []byte) string {
	return fmt.Sprintf("%d-%08x", len(body), crc32.Checksum(body, castagnoli()))
}

func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// content makes the bodies; it never changes.
type content struct{ letters []byte }

func newContent() content {
	return content{bytes.Repeat([]byte("abcdefghijklmnopqrstuvwxyz0123456789"), 4<<20/36)}
}

// body is JSON where there is room for it.
func (c content) body(a ask) []byte {
	head, tail := fmt.Sprintf(`{"seed":%d,"text":"`, a.seed), `"}`
	rest := a.size - len(head) - len(tail)
	if rest < 0 {
		return bytes.Clone(c.letters[:max(a.size, 0)])
	}
	from := a.seed % 36
	body := make([]byte, 0, a.size)
	body = append(append(append(body, head...), c.letters[from:from+min(rest, len(c.letters)-36)]...), tail...)
	if !a.gzip {
		return body
	}
	var packed bytes.Buffer
	w, _ := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
	_, _ = w.Write(body)
	_ = w.Close()
	return packed.Bytes()
}

// ServeHTTP answers what is asked, as the primary and a healthy shadow do.
func (c content) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Upgrade") == "echo" {
		echo(w)
		return
	}
	a := readAsk(r.URL.Query())
	if !a.early {
		got := crc32.New(castagnoli())
		n, err := io.Copy(got, r.Body)
		if err != nil {
			return // the client has gone
		}
		w.Header().Set(gotHeader, fmt.Sprintf("%d-%08x", n, got.Sum32()))
	}
	if a.hints {
		w.Header().Set("Link", "</style.css>; rel=preload")
		w.WriteHeader(http.StatusEarlyHints)
	}
	c.answer(w, r, a)
}

func (c content) answer(w http.ResponseWriter, r *http.Request, a ask) {
	body := c.body(a)
	h := w.Header()
	h.Set("Content-Type", "application/json")
	switch {
	case a.events:
		h.Set("Content-Type", "text/event-stream")
	case a.gzip:
		h.Set("Content-Encoding", "gzip")
	}
	if a.trailer {
		h.Set("Trailer", sumHeader)
	} else {
		h.Set(sumHeader, sum(body))
	}
	if a.code == http.StatusNoContent || a.code == http.StatusNotModified {
		w.WriteHeader(a.code)
		return
	}
	if !a.chunked && !a.trailer && !a.events {
		h.Set("Content-Length", strconv.Itoa(len(body)))
	}
	w.WriteHeader(a.code)
	c.write(w, r, a, body)
	if a.trailer {
		h.Set(sumHeader, sum(body))
	}
}

func (c content) write(w http.ResponseWriter, r *http.Request, a ask, body []byte) {
	flush := http.NewResponseController(w)
	switch {
	case a.cut:
		_, _ = w.Write(body[:len(body)/2])
		_ = flush.Flush()
		panic(http.ErrAbortHandler)
	case a.events:
		for part := range slices.Chunk(body, max(1, (len(body)+2)/3)) {
			_, _ = w.Write(part)
			_ = flush.Flush()
			select {
			case <-time.After(10 * time.Millisecond):
			case <-r.Context().Done():
				return
			}
		}
	case a.chunked:
		for len(body) > 0 {
			n := min(len(body), 1+len(body)/3)
			if _, err := w.Write(body[:n]); err != nil {
				return
			}
			_ = flush.Flush()
			body = body[n:]
		}
	default:
		_, _ = w.Write(body)
	}
}

// echo changes the protocol and sends back whatever comes until the client has ended.
func echo(w http.ResponseWriter) {
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
	_, _ = io.Copy(conn, buffered)
}
