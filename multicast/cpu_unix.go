//go:build unix

package multicast

import (
	"syscall"
	"time"
)

// spentCPU is the processors' time that this process has taken, in user and system mode.
func spentCPU() time.Duration {
	var used syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &used) != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
