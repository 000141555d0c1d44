package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"time"
)

// loop is an upstream under way: one thread for all listeners and connections, so that what is measured is the proxy and
// not what stands behind it.
type loop struct {
	epoll     int
	delay     time.Duration
	listeners map[int32]*mode
	conns     map[int32]*served
	later     []delayed // in the order of their time, since all wait equally long
	number    uint64
}

// mode is how one listener answers.
type mode struct {
	name   string
	answer *answer
	open   *open
}

// served is one connection.
type served struct {
	*mode
	buf []byte
	n   int
}

// delayed is an answer whose time has not come.
type delayed struct {
	at   time.Time
	fd   int32
	conn *served // what fd was then
}

// runUpstream serves until the standard input ends. The first line that it prints is its addresses by mode and row, as JSON.
func runUpstream(cfg upstreamConfig) error {
	l := &loop{delay: cfg.delay, listeners: make(map[int32]*mode), conns: make(map[int32]*served)}
	var err error
	if l.epoll, err = syscall.EpollCreate1(syscall.EPOLL_CLOEXEC); err != nil {
		return err
	}
	addrs, counts := make(map[string][]string), make(map[string][]*open)
	for _, name := range modes() {
		for range cfg.rows {
			m := &mode{name: name, answer: newAnswer(cfg.size, cfg.role, name), open: new(open)}
			addr, err := l.listen(m)
			if err != nil {
				return err
			}
			addrs[name], counts[name] = append(addrs[name], addr), append(counts[name], m.open)
		}
	}
	addr, err := serveControl(counts)
	if err != nil {
		return err
	}
	addrs[control] = []string{addr}
	line, err := json.Marshal(addrs)
	if err != nil {
		return err
	}
	fmt.Println(string(line))
	go endWithInput()
	return l.run()
}

func (l *loop) listen(m *mode) (string, error) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC|syscall.SOCK_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return "", err
	}
	if err := syscall.Listen(fd, 4096); err != nil {
		return "", err
	}
	name, err := syscall.Getsockname(fd)
	if err != nil {
		return "", err
	}
	in4, ok := name.(*syscall.SockaddrInet4)
	if !ok {
		return "", errors.New("the listener has no IPv4 address")
	}
	l.listeners[int32(fd)] = m
	return fmt.Sprintf("127.0.0.1:%d", in4.Port), l.watch(fd)
}

func (l *loop) watch(fd int) error {
	return syscall.EpollCtl(l.epoll, syscall.EPOLL_CTL_ADD, fd, &syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: int32(fd)})
}

func (l *loop) run() error {
	runtime.LockOSThread()
	unwatched(1)
	events := make([]syscall.EpollEvent, 256)
	for {
		n, err := epollWait(l.epoll, events, l.patience())
		if err != nil && err != syscall.EINTR {
			return err
		}
		for _, e := range events[:max(n, 0)] {
			if m := l.listeners[e.Fd]; m != nil {
				l.accept(e.Fd, m)
			} else if c := l.conns[e.Fd]; c != nil {
				l.read(e.Fd, c)
			}
		}
		l.answerLate()
	}
}

// patience is how many milliseconds may pass until the next late answer; −1: none waits.
func (l *loop) patience() int {
	if len(l.later) == 0 {
		return -1
	}
	return int(max(0, time.Until(l.later[0].at)+time.Millisecond-1) / time.Millisecond)
}

func (l *loop) accept(listener int32, m *mode) {
	for {
		fd, _, err := syscall.Accept4(int(listener), syscall.SOCK_CLOEXEC|syscall.SOCK_NONBLOCK)
		if err != nil {
			if err != syscall.EAGAIN && err != syscall.EINTR && err != syscall.ECONNABORTED {
				fmt.Fprintln(os.Stderr, "accepting:", err)
				time.Sleep(10 * time.Millisecond) // such as no descriptor left
			}
			return
		}
		_ = syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, syscall.TCP_NODELAY, 1)
		if err := l.watch(fd); err != nil {
			_ = syscall.Close(fd)
			continue
		}
		l.conns[int32(fd)] = &served{mode: m, buf: make([]byte, 8<<10)}
		m.open.add(1)
	}
}

// read takes what came, and answers each request whose head is whole. Requests have no bodies.
func (l *loop) read(fd int32, c *served) {
	n, err := syscall.Read(int(fd), c.buf[c.n:])
	if err == syscall.EAGAIN || err == syscall.EINTR {
		return
	}
	if n <= 0 {
		l.drop(fd, c)
		return
	}
	c.n += n
	for {
		end := bytes.Index(c.buf[:c.n], headEnd)
		if end < 0 {
			break
		}
		c.n = copy(c.buf, c.buf[end+len(headEnd):c.n])
		l.asked(fd, c)
	}
	if c.n == len(c.buf) {
		l.drop(fd, c)
	}
}

func (l *loop) asked(fd int32, c *served) {
	switch c.name {
	case hanging:
	case slow:
		l.later = append(l.later, delayed{time.Now().Add(l.delay), fd, c})
	default:
		l.answer(fd, c)
	}
}

func (l *loop) answer(fd int32, c *served) {
	l.number++
	now := time.Time{}
	if c.mode.answer.noisy {
		now = time.Now()
	}
	bytes := c.mode.answer.next(l.number, now)
	if n, _ := syscall.Write(int(fd), bytes); n != len(bytes) {
		l.drop(fd, c) // the peer does not read, or is gone
	}
}

func (l *loop) answerLate() {
	for len(l.later) > 0 && !time.Now().Before(l.later[0].at) {
		d := l.later[0]
		l.later = l.later[1:]
		if l.conns[d.fd] == d.conn {
			l.answer(d.fd, d.conn)
		}
	}
}

func (l *loop) drop(fd int32, c *served) {
	if l.conns[fd] != c {
		return
	}
	delete(l.conns, fd)
	_ = syscall.Close(int(fd))
	c.open.add(-1)
}
