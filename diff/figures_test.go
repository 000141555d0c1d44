package diff

import (
	"math"
	"testing"

	"github.com/dustin/go-humanize"
)

func TestFiguresReadAsPeopleWriteThem(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 7: "7", 999: "999", 1000: "1,000", 12840: "12,840", 1234567: "1,234,567", -1234: "-1,234", -123: "-123"} {
		same(t, "thousands", humanize.Comma(n), want)
	}
	for n, want := range map[int64]string{7: "about 7", 99: "about 99", 104: "about 100", 15_640: "about 16,000", 996_000: "about 1,000,000"} {
		same(t, "about", about(n), want)
	}
	for share, want := range map[float64]string{
		0: "0 %", 1: "100 %", 0.5: "50 %", 0.0015: "0.15 %", 0.001: "0.1 %", 0.04: "4 %", 0.043: "4.3 %", 0.99984: "99.984 %", 0.999: "99.9 %", 0.00001: "0.001 %",
	} {
		same(t, "percent", percent(share), want)
	}
	same(t, "beside the budget", percentBeside(0.001004, 0.001), "0.1004 %")
	same(t, "equal to the budget", percentBeside(0.001, 0.001), "0.1 %")
	same(t, "next to it", percentBeside(math.Nextafter(0.001, 1), 0.001), "0.1 %")
}
