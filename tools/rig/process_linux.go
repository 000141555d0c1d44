package rig

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

// CPU returns the time, user and system together, that a process and its children have been running. The clock is the
// kernel's for the process (see clock_getcpuclockid(3)) and counts nanoseconds, where /proc/PID/stat counts hundredths
// of a second.
func CPU(pid int) (time.Duration, error) {
	var sum time.Duration
	for _, pid := range family(pid) {
		t, err := cpuClock(pid, syscall.SYS_CLOCK_GETTIME)
		if err != nil {
			return 0, fmt.Errorf("reading the clock of process %d: %w", pid, err)
		}
		sum += t
	}
	return sum, nil
}

// CPUResolution is the smallest step of the clock that CPU reads, by the kernel's word.
func CPUResolution() (time.Duration, error) { return cpuClock(os.Getpid(), syscall.SYS_CLOCK_GETRES) }

func cpuClock(pid int, call uintptr) (time.Duration, error) {
	const sched = 2 // CPUCLOCK_SCHED
	clock := ^uintptr(pid)<<3 | sched
	var ts syscall.Timespec
	if _, _, errno := syscall.Syscall(call, clock, uintptr(unsafe.Pointer(&ts)), 0); errno != 0 {
		return 0, errno
	}
	return time.Duration(ts.Nano()), nil
}

// RSS returns the resident memory of a process and its children, in bytes. What they share is counted for each.
func RSS(pid int) (int64, error) {
	var sum int64
	for _, pid := range family(pid) {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
		if err != nil {
			return 0, err
		}
		pages, err := residentPages(string(text))
		if err != nil {
			return 0, err
		}
		sum += pages * int64(os.Getpagesize())
	}
	return sum, nil
}

func residentPages(statm string) (int64, error) {
	fields := strings.Fields(statm)
	if len(fields) < 2 {
		return 0, fmt.Errorf("statm is %q", statm)
	}
	return strconv.ParseInt(fields[1], 10, 64)
}

// Descriptors returns how many files and sockets a process has open.
func Descriptors(pid int) (int, error) {
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	return len(entries), err
}

// family is a process and its children.
func family(pid int) []int {
	pids := []int{pid}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return pids
	}
	for _, word := range strings.Fields(string(text)) {
		if child, err := strconv.Atoi(word); err == nil {
			pids = append(pids, child)
		}
	}
	return pids
}
