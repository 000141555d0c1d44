package main

import (
	"io"
	"log/slog"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"
)

// outlet is where a command that serves clients writes its log: it takes each line at once, and writes it in its own time.
// A pipe that nobody empties, or a disk that hangs, would otherwise hold up whoever has something to say: clients, the switch,
// the end of the process. A line that finds too many before it, or cannot be written, is left out; how many were is written
// when it goes on.
type outlet struct {
	to    io.Writer
	lines chan []byte // nil: the last one
	ended chan struct{}
	left  atomic.Int64 // left out, and not told yet
	tell  *slog.Logger
}

const (
	outletLines = 1024        // most that wait
	outletGrace = time.Second // for what waits at the end
)

// openLog makes the log of a command that serves clients. What the command says beside it goes the same way; close writes what
// waits. One who reads the log and is gone is no reason to end.
func openLog(w io.Writer) (*slog.Logger, *outlet) {
	signal.Ignore(syscall.SIGPIPE)
	o := &outlet{to: w, lines: make(chan []byte, outletLines), ended: make(chan struct{}), tell: newLogger(w, w)}
	go o.run()
	return newLogger(o, w), o
}

// Write never waits, and never fails.
func (o *outlet) Write(line []byte) (int, error) {
	select {
	case o.lines <- append([]byte{}, line...):
	default:
		o.left.Add(1)
	}
	return len(line), nil
}

func (o *outlet) run() {
	defer close(o.ended)
	for line := range o.lines {
		if line == nil {
			return
		}
		if _, err := o.to.Write(line); err != nil {
			o.left.Add(1)
		} else if n := o.left.Swap(0); n > 0 {
			o.tell.Warn("lines of the log were left out: it could not be written", "left_out", n)
		}
	}
}

// close waits until all is written, but not for long.
func (o *outlet) close() {
	late := time.NewTimer(outletGrace)
	defer late.Stop()
	select {
	case o.lines <- nil:
	case <-late.C:
		return
	}
	select {
	case <-o.ended:
	case <-late.C:
	}
}
