package main

import (
	"runtime"
	"syscall"
	"unsafe"
)

// epollWait waits without telling Go's scheduler, which would have its monitor wake every 20 microseconds to see what
// became of the thread: that took more of the machine than the load itself. Whoever calls it has a thread, and a share of
// GOMAXPROCS, for itself (see unwatched). The wait ends within a tenth of a second, since the collector of garbage
// waits for it.
func epollWait(epoll int, events []syscall.EpollEvent, milliseconds int) (int, error) {
	if milliseconds < 0 || milliseconds > 100 {
		milliseconds = 100
	}
	n, _, errno := syscall.RawSyscall6(syscall.SYS_EPOLL_WAIT, uintptr(epoll), uintptr(unsafe.Pointer(&events[0])),
		uintptr(len(events)), uintptr(milliseconds), 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

// unwatched lets so many goroutines call epollWait beside the others.
func unwatched(n int) { runtime.GOMAXPROCS(runtime.NumCPU() + n) }
