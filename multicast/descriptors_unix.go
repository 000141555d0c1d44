//go:build unix

package multicast

import (
	"math"
	"syscall"
)

// OpenFiles is how many descriptors the process may have, or 0 when that cannot be learnt. The runtime has raised the soft
// limit to the hard one before.
func OpenFiles() int64 {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return 0
	}
	return int64(min(uint64(limit.Cur), math.MaxInt32)) // signed on some systems
}

// lowest is the lowest number that is free for a descriptor, or one that is above all where none is.
func lowest() int64 {
	fd, err := syscall.Dup(0)
	if err != nil {
		return math.MaxInt64
	}
	_ = syscall.Close(fd)
	return int64(fd)
}
