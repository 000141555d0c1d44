package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

// witness tells when the machine itself stood still, as a virtual one does when its host has other things to do. For each
// processor it has a thread above all others, which wakes twice in a millisecond: where that wakes late, nothing ran.
type witness struct {
	over atomic.Bool
	wait sync.WaitGroup

	mu    sync.Mutex
	holes []hole
}

const (
	beat  = 500 * time.Microsecond
	tardy = 250 * time.Microsecond // so late it may wake
)

// newWitness needs the right to priorities of real time.
func newWitness() (*witness, error) {
	w := new(witness)
	began := make(chan error)
	for processor := range runtime.NumCPU() {
		w.wait.Go(func() { w.watch(processor, began) })
	}
	var failed error
	for range runtime.NumCPU() {
		if err := <-began; err != nil {
			failed = err
		}
	}
	if failed != nil {
		w.stop()
		return nil, failed
	}
	return w, nil
}

func (w *witness) watch(processor int, began chan<- error) {
	runtime.LockOSThread() // for good: the thread ends with the goroutine
	err := bind(processor)
	if err == nil {
		err = schedule(0, fifo, 1)
	}
	began <- err
	if err != nil {
		return
	}
	span := syscall.NsecToTimespec(int64(beat))
	for before := time.Now(); !w.over.Load(); {
		_, _, _ = syscall.RawSyscall(syscall.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&span)), 0, 0) // see epollWait
		now := time.Now()
		if now.Sub(before) > beat+tardy {
			w.note(hole{before, now})
		}
		before = now
	}
}

func (w *witness) note(h hole) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.holes = append(w.holes, h)
}

// take returns the holes since it was called before.
func (w *witness) take() []hole {
	w.mu.Lock()
	defer w.mu.Unlock()
	holes := w.holes
	w.holes = nil
	return holes
}

func (w *witness) stop() {
	w.over.Store(true)
	w.wait.Wait()
}

// The policies of sched(7) that are used here.
const (
	fifo = 1 // before all others
	idle = 5 // behind all others
)

// schedule gives a thread, 0 for the caller's own, a policy.
func schedule(thread, policy int, priority int32) error {
	_, _, errno := syscall.RawSyscall(syscall.SYS_SCHED_SETSCHEDULER, uintptr(thread), uintptr(policy), uintptr(unsafe.Pointer(&priority)))
	if errno != 0 {
		return fmt.Errorf("scheduling: %w", errno)
	}
	return nil
}

// bind keeps the caller's thread on one processor.
func bind(processor int) error {
	var mask [16]uint64
	mask[processor/64] = 1 << (processor % 64)
	_, _, errno := syscall.RawSyscall(syscall.SYS_SCHED_SETAFFINITY, 0, unsafe.Sizeof(mask), uintptr(unsafe.Pointer(&mask)))
	if errno != 0 {
		return fmt.Errorf("binding to a processor: %w", errno)
	}
	return nil
}

// standBack lets a process run only where no other wants to.
func standBack(pid int) error {
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return err
	}
	for _, t := range threads {
		thread, err := strconv.Atoi(t.Name())
		if err != nil {
			return err
		}
		if err := schedule(thread, idle, 0); err != nil {
			return err
		}
	}
	return nil
}
