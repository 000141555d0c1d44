package rig

import (
	"net"
	"os"
	"testing"
	"time"
)

// The clock counts what this process computes, in steps far below /proc's hundredth of a second, and what it sleeps not.
func TestCPU(t *testing.T) {
	resolution, err := CPUResolution()
	if err != nil || resolution > time.Microsecond {
		t.Fatalf("steps of %v, %v", resolution, err)
	}
	before, err := CPU(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	now := before
	for now-before < 20*time.Millisecond { // ends only if the clock runs
		if now, err = CPU(os.Getpid()); err != nil {
			t.Fatal(err)
		}
	}
	child, err := Start("idle", "/bin/sh", "-c", "echo ready; read line")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := child.Line(t.Context(), func(line string) bool { return line == "ready\n" }); err != nil {
		t.Fatal(err)
	}
	if used, err := CPU(child.PID()); err != nil || used <= 0 || used > time.Second {
		t.Errorf("a child that waits has used %v, %v", used, err)
	}
	_ = child.Tell("end")
	if err := child.Err(); err != nil {
		t.Fatal(err)
	}
	if _, err := CPU(child.PID()); err == nil {
		t.Error("a process that is gone has a clock")
	}
}

func TestProcess(t *testing.T) {
	if rss, err := RSS(os.Getpid()); err != nil || rss < 1<<20 {
		t.Errorf("resident %d, %v", rss, err)
	}
	before, err := Descriptors(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if after, err := Descriptors(os.Getpid()); err != nil || after <= before {
		t.Errorf("%d descriptors, and %d (%v) with a listener more", before, after, err)
	}
	if pages, err := residentPages("5000 1234 800 1 0 900 0\n"); pages != 1234 || err != nil {
		t.Errorf("statm: %d, %v", pages, err)
	}
	if _, err := residentPages(""); err == nil {
		t.Error("an empty statm was read")
	}
}
