package diff

import (
	"math"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"
)

// about writes a number with its two leading digits: "about 16,000".
func about(n int64) string {
	unit := int64(1)
	for n/unit >= 100 {
		unit *= 10
	}
	return "about " + humanize.Comma((n+unit/2)/unit*unit)
}

// percent writes a share with two digits that count, towards 0 and towards 1: "0.15 %", "50 %", "99.98 %".
func percent(share float64) string { return decimals(share, leadingDecimals(share)) }

// percentBeside writes a share with as many digits as set it apart from another that is named beside it.
func percentBeside(share, other float64) string {
	d := leadingDecimals(share)
	for share != other && d < 9 && decimals(share, d) == decimals(other, d) {
		d++
	}
	return decimals(share, d)
}

// leadingDecimals is how many decimals of a percentage hold two leading digits.
func leadingDecimals(share float64) int {
	rest := 100 * math.Min(math.Abs(share), math.Abs(1-share))
	if rest < 1e-9 {
		return 0
	}
	return max(0, 1-int(math.Floor(math.Log10(rest))))
}

func decimals(share float64, d int) string {
	s := strconv.FormatFloat(100*share, 'f', d, 64)
	if d > 0 {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s + " %"
}
