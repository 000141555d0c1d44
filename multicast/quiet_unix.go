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
