package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// kind is something that clients do.
type kind struct {
	name   string
	weight int
	do     func(*client) error
	last   bool // the connection is not used again
}

func kinds() []kind {
	plain := func(name string, weight int, vary func(*client, *ask)) kind {
		return kind{name: name, weight: weight, do: func(w *client) error {
			a := w.ask(w.random.IntN(4000))
			vary(w, &a)
			return w.get(a)
		}}
	}
	return []kind{
		plain("get", 400, func(*client, *ask) {}),
		plain("large", 30, func(w *client, a *ask) { a.size = w.random.IntN(w.limits.response) }),
		plain("over the cap", 15, func(w *client, a *ask) { a.size = w.limits.response - 1 + w.random.IntN(2<<20) }),
		plain("status", 30, func(w *client, a *ask) { a.code = []int{204, 304, 404, 429, 500, 503}[w.random.IntN(6)] }),
		plain("chunked", 50, func(_ *client, a *ask) { a.chunked = true }),
		plain("gzip", 20, func(_ *client, a *ask) { a.gzip = true }),
		plain("trailer", 20, func(_ *client, a *ask) { a.trailer = true }),
		plain("hints", 20, func(_ *client, a *ask) { a.hints = true }),
		plain("events", 5, func(_ *client, a *ask) { a.events = true }),
		{name: "cut off", weight: 5, do: (*client).cutOff, last: true},
		{name: "head", weight: 30, do: (*client).headOnly},
		{name: "post", weight: 100, do: func(w *client) error { return w.post(w.random.IntN(8000), false, false) }},
		{name: "post about the cap", weight: 15, do: func(w *client) error {
			return w.post(w.limits.request-1+w.random.IntN(3), w.random.IntN(2) == 0, false)
		}},
		{name: "post over the cap", weight: 10, do: func(w *client) error {
			return w.post(w.limits.request+w.random.IntN(1<<20), w.random.IntN(2) == 0, false)
		}},
		{name: "post chunked", weight: 40, do: func(w *client) error { return w.post(w.random.IntN(8000), true, false) }},
		{name: "post expecting", weight: 5, do: func(w *client) error { return w.post(1+w.random.IntN(8000), false, true) }},
		{name: "post refused", weight: 5, do: (*client).postRefused, last: true},
		{name: "pipelined", weight: 20, do: (*client).pipelined},
		{name: "HTTP/1.0", weight: 20, do: (*client).old, last: true},
		{name: "HTTP/2", weight: 40, do: (*client).getH2},
		{name: "tunnel", weight: 10, do: (*client).tunnel, last: true},
		{name: "slow reader", weight: 3, do: (*client).slowReader, last: true},
		{name: "abort waiting", weight: 5, do: (*client).abortWaiting, last: true},
		{name: "abort sending", weight: 5, do: (*client).abortSending, last: true},
		{name: "abort reading", weight: 5, do: (*client).abortReading, last: true},
		{name: "garbage", weight: 3, do: (*client).garbage, last: true},
	}
}

func weights() (sum int) {
	for _, k := range kinds() {
		sum += k.weight
	}
	return sum
}

func (w *client) ask(size int) ask { return ask{seed: w.random.IntN(1e6), size: size, code: 200} }

// get asks with GET over the kept connection.
func (w *client) get(a ask) error {
	if err := w.send("GET "+a.target(w.path())+" HTTP/1.1\r\nHost: soak\r\nAccept-Encoding: gzip\r\nTE: trailers\r\nConnection: TE\r\n", nil); err != nil {
		return err
	}
	return w.answer(http.MethodGet, a)
}

// path is one of some routes.
func (w *client) path() string {
	return fmt.Sprintf("/%s/%d", []string{"users", "orders", "products"}[w.random.IntN(3)], w.random.IntN(10000))
}

func (w *client) headOnly() error {
	a := w.ask(w.random.IntN(4000))
	if err := w.send("HEAD "+a.target(w.path())+" HTTP/1.1\r\nHost: soak\r\n", nil); err != nil {
		return err
	}
	return w.answer(http.MethodHead, a)
}

// cutOff asks for an answer that ends in the middle, with its length or in chunks.
func (w *client) cutOff() error {
	a := w.ask(1000 + w.random.IntN(50000))
	a.cut, a.chunked = true, w.random.IntN(2) == 0
	return w.get(a)
}

// post sends a body, with its length or in chunks, at once or after it was told to continue.
func (w *client) post(size int, chunked, expecting bool) error {
	a := w.ask(w.random.IntN(4000))
	body := w.content.body(ask{seed: a.seed, size: size})
	head := "POST " + a.target("/post") + " HTTP/1.1\r\nHost: soak\r\nContent-Type: application/json\r\n"
	sent := body
	if chunked {
		head += "Transfer-Encoding: chunked\r\n"
		sent = inChunks(body, 1+w.random.IntN(20000))
	} else {
		head += fmt.Sprintf("Content-Length: %d\r\n", len(body))
	}
	if expecting {
		if err := w.send(head+"Expect: 100-continue\r\n", nil); err != nil {
			return err
		}
		if line, err := w.reader.ReadString('\n'); err != nil || !strings.HasPrefix(line, "HTTP/1.1 100") {
			return fmt.Errorf("expected to continue, got %q, %v", line, err)
		}
		if line, err := w.reader.ReadString('\n'); err != nil || line != "\r\n" {
			return fmt.Errorf("100 Continue goes on with %q, %v", line, err)
		}
		if _, err := w.conn.Write(sent); err != nil {
			return err
		}
	} else if err := w.send(head, sent); err != nil {
		return err
	}
	return w.posted(a, sum(body))
}

// posted reads an answer, which must tell the sum of what the primary got.
func (w *client) posted(a ask, want string) error {
	res, _, err := w.head(http.MethodPost)
	if err != nil {
		return err
	}
	answer, err := io.ReadAll(res.Body)
	if res.Close {
		w.hangUp()
	}
	if got := res.Header.Get(gotHeader); got != want {
		return fmt.Errorf("%s: the primary got %q, want %s", res.Status, got, want)
	}
	return w.check(res, answer, err, http.MethodPost, a)
}

// inChunks is a body in chunks of size.
func inChunks(body []byte, size int) []byte {
	var out []byte
	for len(body) > 0 {
		n := min(size, len(body))
		out = fmt.Appendf(out, "%x\r\n%s\r\n", n, body[:n])
		body = body[n:]
	}
	return append(out, "0\r\n\r\n"...)
}

// postRefused sends the beginning of a large body, and is answered before the rest.
func (w *client) postRefused() error {
	a := w.ask(100)
	a.early, a.code = true, http.StatusRequestEntityTooLarge
	head := "POST " + a.target("/post") + " HTTP/1.1\r\nHost: soak\r\nContent-Length: 10000000\r\n"
	if err := w.send(head, w.content.letters[:1000]); err != nil {
		return err
	}
	return w.answer(http.MethodPost, a)
}

func (w *client) pipelined() error {
	var asked []ask
	all := ""
	for range 2 + w.random.IntN(4) {
		a := w.ask(w.random.IntN(3000))
		asked = append(asked, a)
		all += "GET " + a.target(w.path()) + " HTTP/1.1\r\nHost: soak\r\n\r\n"
	}
	w.sent.Add(int64(len(asked)))
	if _, err := io.WriteString(w.conn, all); err != nil {
		return err
	}
	for _, a := range asked {
		if err := w.answer(http.MethodGet, a); err != nil {
			return err
		}
	}
	return nil
}

// old speaks HTTP/1.0: the answer ends with the connection, or has its length.
func (w *client) old() error {
	a := w.ask(w.random.IntN(4000))
	a.chunked = w.random.IntN(2) == 0
	if err := w.send("GET "+a.target(w.path())+" HTTP/1.0\r\nHost: soak\r\n", nil); err != nil {
		return err
	}
	return w.answer(http.MethodGet, a)
}

func (w *client) getH2() error {
	a := w.ask(w.random.IntN(100000))
	a.chunked, a.gzip = w.random.IntN(2) == 0, w.random.IntN(4) == 0
	w.sent.Add(1)
	res, err := w.h2.Get("http://" + w.addr + a.target(w.path()))
	if err != nil {
		return err
	}
	defer res.Body.Close()
	w.heads.Add(1)
	body, err := io.ReadAll(res.Body)
	if res.ProtoMajor != 2 {
		return fmt.Errorf("the answer is %s", res.Proto)
	}
	return w.check(res, body, err, http.MethodGet, a)
}

// tunnel changes the protocol, sends, is echoed, and ends its side.
func (w *client) tunnel() error {
	if err := w.send("GET /echo HTTP/1.1\r\nHost: soak\r\nConnection: Upgrade\r\nUpgrade: echo\r\n", nil); err != nil {
		return err
	}
	res, _, err := w.head(http.MethodGet)
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusSwitchingProtocols {
		return errors.New(res.Status)
	}
	for range 3 {
		word := fmt.Sprintf("%d %s\n", w.random.IntN(1e9), w.content.letters[:w.random.IntN(3000)])
		if _, err := io.WriteString(w.conn, word); err != nil {
			return err
		}
		if got, err := w.reader.ReadString('\n'); got != word {
			return fmt.Errorf("the echo of %.40q is %.40q, %w", word, got, err)
		}
	}
	if err := w.conn.CloseWrite(); err != nil {
		return err
	}
	if rest, err := io.ReadAll(w.reader); len(rest) > 0 || err != nil {
		return fmt.Errorf("after the end came %.40q, %w", rest, err)
	}
	return nil
}

// slowReader takes a large answer piece by piece.
func (w *client) slowReader() error {
	_ = w.conn.SetReadBuffer(16 << 10)
	a := w.ask(300_000 + w.random.IntN(300_000))
	if err := w.send("GET "+a.target(w.path())+" HTTP/1.1\r\nHost: soak\r\n", nil); err != nil {
		return err
	}
	res, _, err := w.head(http.MethodGet)
	if err != nil {
		return err
	}
	var body []byte
	piece := make([]byte, 16<<10)
	for {
		n, err := res.Body.Read(piece)
		body = append(body, piece[:n]...)
		if err == io.EOF {
			return w.check(res, body, nil, http.MethodGet, a)
		}
		if err != nil {
			return w.check(res, body, err, http.MethodGet, a)
		}
		time.Sleep(time.Duration(w.random.IntN(50)) * time.Millisecond)
	}
}

// abortWaiting is gone before the answer.
func (w *client) abortWaiting() error {
	err := w.send("GET "+w.ask(100_000).target(w.path())+" HTTP/1.1\r\nHost: soak\r\n", nil)
	w.abort()
	return err
}

// abortSending is gone in the middle of its body.
func (w *client) abortSending() error {
	err := w.send("POST "+w.ask(100).target("/post")+" HTTP/1.1\r\nHost: soak\r\nContent-Length: 50000\r\n", w.content.letters[:w.random.IntN(40000)])
	w.abort()
	return err
}

// abortReading is gone in the middle of the answer.
func (w *client) abortReading() error {
	if err := w.send("GET "+w.ask(4_000_000).target(w.path())+" HTTP/1.1\r\nHost: soak\r\n", nil); err != nil {
		return err
	}
	_, _, err := w.head(http.MethodGet)
	if err == nil {
		_, err = io.CopyN(io.Discard, w.reader, int64(w.random.IntN(100_000)))
	}
	w.abort()
	return err
}

// garbage is no HTTP, and is told so.
func (w *client) garbage() error {
	if _, err := io.WriteString(w.conn, "\x00\xff what is this?\r\n\r\n"); err != nil {
		return err
	}
	res, err := http.ReadResponse(w.reader, nil)
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusBadRequest {
		return errors.New(res.Status)
	}
	return nil
}
