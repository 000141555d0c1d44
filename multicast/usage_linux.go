package multicast

import (
	"os"
	"strconv"
	"strings"
)

// residentMemory is the second figure of /proc/self/statm, in pages.
func residentMemory() int64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return runtimeMemory()
	}
	figures := strings.Fields(string(text))
	if len(figures) < 2 {
		return runtimeMemory()
	}
	pages, err := strconv.ParseInt(figures[1], 10, 64)
	if err != nil {
		return runtimeMemory()
	}
	return pages * int64(os.Getpagesize())
}
