//go:build !unix

package multicast

// quiet cannot tell here: a kept connection that the peer has closed shows itself when it is used.
func (c *conn) quiet() bool { return true }

func (c *conn) peek(uintptr) bool { return true }

// stale cannot tell either.
func (l *link) stale() bool { return false }
