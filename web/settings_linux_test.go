package web

import (
	"strings"
	"syscall"
	"testing"

	"github.com/dustin/go-humanize"

	"shadowdiff/multicast"
)

// The page shows the memory that guard.memory limits: that which the runtime knows nothing of is in it.
func TestSettingsShowTheMemoryThatTheGuardWatches(t *testing.T) {
	const beyond = 256 << 20
	room, err := syscall.Mmap(-1, 0, beyond, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Munmap(room)
	for i := 0; i < len(room); i += syscall.Getpagesize() {
		room[i] = 1
	}
	gauges := holdsOf(Limits{}, multicast.Counts{})
	last := gauges[len(gauges)-1]
	shown, err := humanize.ParseBytes(strings.ReplaceAll(last.Value, "\u202f", " "))
	if err != nil || last.Name != "memory of the process" || shown < beyond {
		t.Errorf("%s: %s (%v), of which %d bytes were taken from the system just now", last.Name, last.Value, err, beyond)
	}
}
