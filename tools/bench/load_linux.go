package main

import (
	"fmt"
	"net"
	"runtime"
	"syscall"
	"time"
	"unsafe"
)

// generator is a load under way: one thread that waits for all connections and for the time of the next request at
// once, so that it costs a few microseconds a request and wakes when a request is due, where a timer of Go's may be a
// millisecond late.
type generator struct {
	*load
	tally   *tally
	request *request
	epoll   int
	timer   int
	peer    syscall.SockaddrInet4
	conns   []*client
	byFD    map[int32]*client
	free    []*client // with a rate: those without a request under way
	next    int       // number of the next request
	begin   time.Time // with a rate: when the first request was due
}

// client is one connection.
type client struct {
	fd   int
	buf  []byte
	n    int
	busy bool
	due  time.Time // since when its request is measured
}

// run sends requests until the phase is over.
func (l *load) run() (*tally, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	g := &generator{load: l, tally: newTally(), request: newRequest(l.addr), byFD: make(map[int32]*client)}
	if err := g.open(); err != nil {
		return nil, err
	}
	defer g.close()
	g.begin = time.Now()
	for _, c := range g.conns {
		if g.rate == 0 {
			g.send(c, time.Now())
		} else {
			g.free = append(g.free, c)
		}
	}
	return g.tally, g.loop()
}

func (g *generator) open() (err error) {
	tcp, err := net.ResolveTCPAddr("tcp4", g.addr)
	if err != nil {
		return err
	}
	g.peer.Port = tcp.Port
	copy(g.peer.Addr[:], tcp.IP.To4())
	if g.epoll, err = syscall.EpollCreate1(syscall.EPOLL_CLOEXEC); err != nil {
		return err
	}
	if g.timer, err = newTimer(g.epoll); err != nil {
		return err
	}
	for range g.load.conns {
		c := &client{buf: make([]byte, 64<<10)}
		g.conns = append(g.conns, c)
		if err := g.connect(c); err != nil {
			g.close()
			return err
		}
	}
	return nil
}

func (g *generator) connect(c *client) error {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	c.fd, c.n, c.busy = fd, 0, false
	if err := syscall.Connect(fd, &g.peer); err != nil {
		return fmt.Errorf("connecting to %s: %w", g.addr, err)
	}
	_ = syscall.SetNonblock(fd, true)
	_ = syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, syscall.TCP_NODELAY, 1)
	g.byFD[int32(fd)] = c
	return syscall.EpollCtl(g.epoll, syscall.EPOLL_CTL_ADD, fd, &syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: int32(fd)})
}

func (g *generator) close() {
	for _, c := range g.conns {
		_ = syscall.Close(c.fd)
	}
	_ = syscall.Close(g.timer)
	_ = syscall.Close(g.epoll)
}

// loop takes what is ready, then sends what is due, until the phase is over. It looks up at least ten times a second.
func (g *generator) loop() error {
	events := make([]syscall.EpollEvent, 256)
	for g.phase.Load() != over && (g.limit == 0 || g.tally.ended < g.limit) {
		if g.rate > 0 {
			if err := g.sendDue(); err != nil {
				return err
			}
		}
		n, err := epollWait(g.epoll, events, 100)
		if err != nil && err != syscall.EINTR {
			return err
		}
		for _, e := range events[:max(n, 0)] {
			if c := g.byFD[e.Fd]; c != nil {
				if err := g.read(c); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// sendDue sends each request whose time has come and for which a connection is free, and sets the timer to the next.
func (g *generator) sendDue() error {
	for len(g.free) > 0 {
		due := g.begin.Add(time.Duration(float64(g.next) * float64(time.Second) / g.rate))
		if wait := time.Until(due); wait > 0 {
			return setTimer(g.timer, wait)
		}
		c := g.free[0]
		g.free = g.free[1:]
		g.send(c, due)
	}
	return nil // the next answer frees a connection
}

func (g *generator) send(c *client, due time.Time) {
	c.busy, c.due = true, due
	bytes := g.request.next(g.next)
	g.next++
	if n, err := syscall.Write(c.fd, bytes); n != len(bytes) {
		g.tally.failed(fmt.Sprintf("sending: %v", err)) // the reading that follows finds it closed
	}
}

func (g *generator) read(c *client) error {
	n, err := syscall.Read(c.fd, c.buf[c.n:])
	if err == syscall.EAGAIN || err == syscall.EINTR {
		return nil
	}
	if n <= 0 {
		if c.busy {
			g.tally.failed(fmt.Sprintf("the connection ended before the answer (%v)", err))
		}
		return g.reconnect(c)
	}
	c.n += n
	res, size, err := parseResponse(c.buf[:c.n])
	switch {
	case err != nil:
		g.tally.failed(err.Error())
		return g.reconnect(c)
	case size == 0 && c.n < len(c.buf):
		return nil
	case size == 0:
		g.tally.failed("the answer is too long")
		return g.reconnect(c)
	}
	g.answered(c, res, c.n-size)
	if res.last {
		return g.reconnect(c)
	}
	c.n = 0
	g.ready(c)
	return nil
}

// answered counts an answer; over is how many bytes came after it.
func (g *generator) answered(c *client, res response, over int) {
	now := time.Now()
	switch {
	case !c.busy:
		g.tally.failed("an answer to no request")
	case res.status != 200:
		g.tally.failed(fmt.Sprintf("status %d", res.status))
	case !g.want.check(res.body):
		g.tally.failed("another body")
	case over > 0:
		g.tally.failed("bytes after the answer")
	default:
		g.tally.ended++
		if g.phase.Load() == measuring {
			g.tally.latencies = append(g.tally.latencies, now.Sub(c.due))
			if g.rate > 0 {
				g.tally.dues = append(g.tally.dues, c.due)
			}
		}
	}
}

// ready gives a connection its next request, or to those that are free.
func (g *generator) ready(c *client) {
	c.busy = false
	if g.rate == 0 {
		g.send(c, time.Now())
	} else {
		g.free = append(g.free, c)
	}
}

func (g *generator) reconnect(c *client) error {
	delete(g.byFD, int32(c.fd))
	_ = syscall.Close(c.fd)
	wasFree := g.rate > 0 && !c.busy
	if err := g.connect(c); err != nil {
		return err
	}
	if !wasFree {
		g.ready(c)
	}
	return nil
}

// newTimer makes a timer that wakes an epoll.
func newTimer(epoll int) (int, error) {
	const monotonic = 1 // CLOCK_MONOTONIC
	fd, _, errno := syscall.Syscall(syscall.SYS_TIMERFD_CREATE, monotonic, syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if errno != 0 {
		return 0, errno
	}
	const edge = 1 << 31 // EPOLLET: what has expired need not be read
	event := syscall.EpollEvent{Events: syscall.EPOLLIN | edge, Fd: int32(fd)}
	return int(fd), syscall.EpollCtl(epoll, syscall.EPOLL_CTL_ADD, int(fd), &event)
}

// setTimer lets the timer expire once, after wait.
func setTimer(fd int, wait time.Duration) error {
	spec := [2]syscall.Timespec{1: syscall.NsecToTimespec(int64(max(wait, 1)))}
	if _, _, errno := syscall.Syscall6(syscall.SYS_TIMERFD_SETTIME, uintptr(fd), 0, uintptr(unsafe.Pointer(&spec)), 0, 0, 0); errno != 0 {
		return errno
	}
	return nil
}
