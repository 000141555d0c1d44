// Package rig is what the measuring programs stand on: children that are started and ended by their process id, what the
// kernel knows of a process, and shadowdiff as a child, with its counters and metrics.
//
// It reads /proc, and so measures on Linux only; it builds everywhere.
package rig

import (
	"net"
)

// FreeAddr returns a loopback address whose port the kernel has just chosen, for programs that cannot say which port they
// took.
func FreeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}
