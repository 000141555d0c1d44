//go:build unix

package multicast

import "syscall"

// quiet reports whether a connection that was kept is open and nothing has come that nobody asked for. Between two uses
// nobody reads it.
func (c *conn) quiet() bool { return c.poll.Read(c.look) == nil && c.still }

// peek reads without waiting.
func (c *conn) peek(fd uintptr) bool {
	var one [1]byte
	_, err := syscall.Read(int(fd), one[:])
	c.still = err == syscall.EAGAIN || err == syscall.EWOULDBLOCK
	return true
}

// stale reports whether the primary has closed the link, or sent what nobody asked for, though whoever reads it may not know
// yet.
func (l *link) stale() bool {
	var n int
	err := syscall.EAGAIN
	look := func(fd uintptr) {
		var one [1]byte
		var e error
		n, _, e = syscall.Recvfrom(int(fd), one[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		err, _ = e.(syscall.Errno)
	}
	if l.poll == nil || l.poll.Control(look) != nil {
		return false
	}
	return n > 0 || err != syscall.EAGAIN && err != syscall.EWOULDBLOCK
}
