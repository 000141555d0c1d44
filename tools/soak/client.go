package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"shadowdiff/tools/rig"
)

// clients are all that ask, with what they have seen.
type clients struct {
	addr    string
	content content
	limits  limits
	sent    atomic.Int64 // requests begun, of those that a proxy can count
	heads   atomic.Int64 // answers whose head came

	mu     sync.Mutex // guards what follows
	kinds  rig.Words  // exchanges by kind
	errors rig.Words  // by kind
	first  []string   // the first errors, in full
}

// limits are those of the proxy's configuration around which bodies are made.
type limits struct{ request, response int }

func newClients(addr string, c content, l limits) *clients {
	return &clients{addr: addr, content: c, limits: l, kinds: make(rig.Words), errors: make(rig.Words)}
}

// run lets n clients ask until ctx ends; what is under way then is finished.
func (c *clients) run(ctx context.Context, n int, seed uint64) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			w := &client{clients: c, random: rand.New(rand.NewPCG(seed, uint64(i)))}
			defer w.hangUp()
			w.h2 = newH2()
			defer w.h2.CloseIdleConnections()
			for ctx.Err() == nil {
				w.once()
			}
		})
	}
	all.Wait()
}

// done notes how an exchange went.
func (c *clients) done(kind string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kinds[kind]++
	if err == nil {
		return
	}
	c.errors[kind]++
	if len(c.first) < 20 {
		c.first = append(c.first, fmt.Sprintf("%s %s: %v", time.Now().UTC().Format("15:04:05.000"), kind, err))
	}
}

// seen returns what was seen so far: exchanges and errors by kind, and the first errors.
func (c *clients) seen() (kinds, errs rig.Words, first []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.kinds.Minus(nil), c.errors.Minus(nil), append([]string(nil), c.first...)
}

// client is one of them. It keeps its connection where an exchange lets it.
type client struct {
	*clients
	random *rand.Rand
	h2     *http.Client
	conn   *net.TCPConn
	reader *bufio.Reader
}

// once does one exchange of a kind that is drawn by weight.
func (w *client) once() {
	n := w.random.IntN(weights())
	for _, k := range kinds() {
		if n -= k.weight; n >= 0 {
			continue
		}
		err := w.dial()
		if err == nil {
			err = k.do(w)
		}
		if err != nil || k.last {
			w.hangUp()
		}
		w.done(k.name, err)
		return
	}
}

func (w *client) dial() error {
	if w.conn == nil {
		conn, err := net.Dial("tcp", w.addr)
		if err != nil {
			return err
		}
		tcp, ok := conn.(*net.TCPConn)
		if !ok {
			return errors.New("no TCP connection")
		}
		w.conn, w.reader = tcp, bufio.NewReader(tcp)
	}
	return w.conn.SetDeadline(time.Now().Add(30 * time.Second))
}

func (w *client) hangUp() {
	if w.conn != nil {
		_ = w.conn.Close()
		w.conn = nil
	}
}

// abort resets the connection.
func (w *client) abort() {
	_ = w.conn.SetLinger(0)
	w.hangUp()
}

// send writes a request's head, which a proxy will count once it is whole, and its body.
func (w *client) send(head string, body []byte) error {
	w.sent.Add(1)
	if _, err := io.WriteString(w.conn, head+"\r\n"); err != nil {
		return fmt.Errorf("sending a head: %w", err)
	}
	if len(body) == 0 {
		return nil
	}
	if _, err := w.conn.Write(body); err != nil {
		return fmt.Errorf("sending a body: %w", err)
	}
	return nil
}

// head reads an answer's head; informational ones before it are counted.
func (w *client) head(method string) (res *http.Response, informational int, err error) {
	for {
		res, err := http.ReadResponse(w.reader, &http.Request{Method: method})
		if err != nil {
			return nil, informational, fmt.Errorf("reading a head: %w", err)
		}
		if res.StatusCode >= 200 || res.StatusCode == http.StatusSwitchingProtocols {
			w.heads.Add(1)
			return res, informational, nil
		}
		informational++
	}
}

// answer reads an answer and checks that it is what was asked for.
func (w *client) answer(method string, a ask) error {
	res, informational, err := w.head(method)
	if err != nil {
		return err
	}
	if hints := informational > 0; hints != a.hints {
		return fmt.Errorf("%d informational answers", informational)
	}
	body, err := io.ReadAll(res.Body)
	if res.Close {
		w.hangUp()
	}
	return w.check(res, body, err, method, a)
}

// check compares an answer with what was asked for.
func (c *clients) check(res *http.Response, body []byte, err error, method string, a ask) error {
	want := c.content.body(a)
	if method == http.MethodHead || a.code == http.StatusNoContent || a.code == http.StatusNotModified {
		if err != nil || len(body) > 0 || res.StatusCode != a.code || res.Header.Get(sumHeader) != sum(want) {
			return fmt.Errorf("%s with %d bytes, %v: %v", res.Status, len(body), res.Header, err)
		}
		return nil
	}
	if a.cut {
		if !errors.Is(err, io.ErrUnexpectedEOF) || string(body) != string(want[:len(want)/2]) {
			return fmt.Errorf("an answer that was cut off came with %d of %d bytes and %v", len(body), len(want), err)
		}
		return nil
	}
	told := res.Header
	if a.trailer {
		told = res.Trailer
	}
	switch {
	case err != nil:
		return fmt.Errorf("%s, after %d of %d bytes: %w", res.Status, len(body), len(want), err)
	case res.StatusCode != a.code:
		return fmt.Errorf("%s, want %d: %.200q", res.Status, a.code, body)
	case sum(body) != sum(want):
		return fmt.Errorf("the body is %s, want %s: %.100q", sum(body), sum(want), body)
	case told.Get(sumHeader) != sum(want):
		return fmt.Errorf("the primary said %q of its body %s: %v", told.Get(sumHeader), sum(want), told)
	}
	return nil
}

// newH2 is a client that speaks HTTP/2 with prior knowledge.
func newH2() *http.Client {
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Client{
		Transport: &http.Transport{Protocols: protocols, DisableCompression: true},
		Timeout:   30 * time.Second,
	}
}
