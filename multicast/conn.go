package multicast

import (
	"bufio"
	"io"
	"math"
	"net"
	"net/http"
	"syscall"
	"time"
)

// conn is one connection to a shadow. It belongs to one leg at a time.
type conn struct {
	net.Conn
	way  *plain
	poll syscall.RawConn
	look func(fd uintptr) bool // what quiet has poll do
	r    *bufio.Reader
	asks http.Request // of which ReadResponse reads the method alone

	used  bool      // by a leg before this one
	since time.Time // unused since then
	wake  func()    // interrupt
	still bool      // what look has seen

	// Of the leg that has it.
	limit   int64 // what may still be read
	charged int64 // to the budget for a head that is being read
	flight  *flight
	writing chan error // what the writer will say; nil if there is none
	on      *progress
	body    answerBody
}

func newConn(w *plain, tcp net.Conn) *conn {
	c := &conn{Conn: tcp, way: w}
	c.poll, _ = tcp.(syscall.Conn).SyscallConn()
	c.r = bufio.NewReader(c)
	c.wake, c.look = c.interrupt, c.peek
	return c
}

// interrupt ends whatever the connection is at.
func (c *conn) interrupt() { _ = c.SetDeadline(time.Unix(1, 0)) }

// Read reads from the peer, within the limit.
func (c *conn) Read(p []byte) (int, error) {
	if c.limit <= 0 {
		return 0, errHead
	}
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.on.answered()
	}
	if c.limit -= int64(n); maxHead-c.limit > freeHead { // not so in a body
		if !c.flight.account.take(int64(n)) {
			return 0, errMemory
		}
		c.charged += int64(n)
	}
	return n, err
}

// freeHead is how much of a head is read on nobody's account. Longer ones are charged as they come, or a few dozen of a
// megabyte each would take more than the whole budget.
const freeHead = 64 << 10

// exchange asks and reads the head of the answer. It gives the question back.
func (c *conn) exchange(q *question, f *flight, on *progress) (*http.Response, error) {
	c.flight, c.on, c.limit, c.charged, c.writing = f, on, maxHead, 0, nil
	f.recall.listen(c.way.shadow.role, c.wake)
	sent := c.send(q)
	res, err := c.receive(f.ex.Request.Method)
	switch {
	case err == nil:
		c.limit = math.MaxInt64
		f.account.give(c.charged) // what it is as a header is taken next
		c.body = answerBody{ReadCloser: res.Body, conn: c, kept: !res.Close && sent == nil}
		res.Body = &c.body
		return res, nil
	case sent != nil && !on.firstByte.Load():
		return nil, sent
	}
	return nil, err
}

// inline is how much is written before anything is read: so little that no peer makes the write wait for long.
const inline = 16 << 10

// send writes the question. A longer one is written in a goroutine, so that a shadow which answers first and reads later,
// or never, is heard.
func (c *conn) send(q *question) error {
	if len(q.head)+len(q.body)+len(q.tail) <= inline {
		return c.write(q)
	}
	c.writing = make(chan error, 1)
	go func() {
		c.writing <- contained(func() error { return c.write(q) })
	}()
	return nil
}

func (c *conn) write(q *question) (err error) {
	if len(q.body)+len(q.tail) == 0 {
		_, err = c.Write(q.head)
	} else {
		parts := net.Buffers{q.head, q.body, q.tail}
		_, err = parts.WriteTo(c.Conn)
	}
	c.way.give(q)
	return err
}

// receive reads the head of the answer, and of the informational ones before it.
func (c *conn) receive(method string) (*http.Response, error) {
	c.asks.Method = method
	for range maxInformational + 1 {
		res, err := http.ReadResponse(c.r, &c.asks)
		switch {
		case err != nil && c.limit <= 0:
			return nil, errHead
		case err != nil:
			return nil, err
		case res.StatusCode/100 != 1 || res.StatusCode == http.StatusSwitchingProtocols:
			return res, nil
		}
		c.flight.account.give(c.charged)
		c.charged, c.limit = 0, maxHead
	}
	return nil, errInformational
}

// lateWriter is how long the writer of a question may take to end after the whole answer is here.
const lateWriter = 50 * time.Millisecond

// finish gives the connection back, to be kept if the answer was whole and is not the last one.
func (c *conn) finish(kept bool) {
	if kept && c.writing != nil {
		select {
		case err := <-c.writing:
			kept, c.writing = err == nil, nil
		case <-time.After(lateWriter):
			kept = false
		}
	}
	if !c.flight.recall.ignore(c.way.shadow.role) || c.r.Buffered() > 0 {
		kept = false
	}
	if !kept {
		_ = c.Close()
		if c.writing != nil {
			<-c.writing // it holds the request body
		}
		return
	}
	c.flight, c.on = nil, nil
	c.way.keep(c)
}

// answerBody is the body of a shadow's answer.
type answerBody struct {
	io.ReadCloser
	conn  *conn
	kept  bool // the connection may be used again
	whole bool
}

func (b *answerBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.whole = b.whole || err == io.EOF
	return n, err
}

// Close does not read on: what is left ends the connection.
func (b *answerBody) Close() error {
	b.conn.finish(b.kept && b.whole)
	return nil
}
