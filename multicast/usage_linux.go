package multicast

import (
	"os"
	"strconv"
	"strings"
)

// systemMemory is the second figure of /proc/self/statm, in pages; 0: it cannot be read.
func systemMemory() int64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	figures := strings.Fields(string(text))
	if len(figures) < 2 {
		return 0
	}
	pages, err := strconv.ParseInt(figures[1], 10, 64)
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}
