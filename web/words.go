package web

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"shadowdiff/normalize"
)

// count writes a number as people read it: 12,840.
func count(n int64) string { return strings.Replace(humanize.Comma(n), "-", "−", 1) }

// rate writes a share as a percentage with as many digits as an interval of that width supports.
func rate(x, width float64) string { return percent(x, digitsFor(width)) }

// share writes part of whole as a percentage; the digits follow from how many requests stand behind it.
func share(part, whole int64) string {
	if whole <= 0 {
		return "–"
	}
	if part == 0 || part == whole {
		return percent(float64(part)/float64(whole), 0)
	}
	p := float64(part) / float64(whole)
	return percent(p, digitsFor(4*math.Sqrt(p*(1-p)/float64(whole))))
}

// digitsFor is the number of decimals of a percentage whose uncertainty is width (a share): the first decimal that
// moves is the last one shown.
func digitsFor(width float64) int {
	switch w := math.Abs(width) * 100; {
	case w >= 5:
		return 0
	case w >= 0.5:
		return 1
	case w >= 0.05 || w == 0:
		return 2
	default:
		return 3
	}
}

// percent writes a share with a number of decimals; what would round to 100 % or 0 % without being it keeps a digit.
func percent(x float64, decimals int) string {
	if math.IsNaN(x) {
		return "–"
	}
	for more := decimals; x != 0 && x != 1 && more <= 4; more++ {
		if !roundsAway(x, more) {
			decimals = more
			break
		}
	}
	s := strconv.FormatFloat(100*x, 'f', decimals, 64)
	if strings.Trim(s, "-0.") == "" {
		s = strings.TrimPrefix(s, "-")
	}
	return strings.Replace(s, "-", "−", 1) + "\u202f%"
}

func roundsAway(x float64, decimals int) bool {
	unit := math.Pow(10, float64(decimals))
	r := math.Round(100*x*unit) / unit
	return r == 0 || r == 100
}

// between writes an interval of shares: "99.85 … 100 %".
func between(lo, hi float64) string {
	d := digitsFor(hi - lo)
	return strings.TrimSuffix(percent(lo, d), "\u202f%") + " … " + percent(hi, d)
}

// plain writes a share as a person would type it: 0.1 %, 5 %.
func plain(x float64) string {
	return strconv.FormatFloat(math.Round(1e7*x)/1e5, 'f', -1, 64) + "\u202f%"
}

// odds puts an e-value into words. E is how much better "lopsided" explains the counts than a fair coin does.
func odds(lnE float64) string {
	switch {
	case lnE < math.Log(3):
		return "no evidence"
	case lnE < math.Log(1e6):
		e := math.Exp(lnE)
		step := math.Pow(10, math.Floor(math.Log10(e))-1)
		return count(int64(math.Round(e/step)*step)) + " to 1"
	default:
		return "over a million to 1"
	}
}

// took writes a duration with three digits: 1.24 s, 38.1 ms.
func took(d time.Duration) string {
	switch {
	case d <= 0:
		return "–"
	case d < time.Millisecond:
		return threeDigits(float64(d)/float64(time.Microsecond)) + "\u202fµs"
	case d < time.Second:
		return threeDigits(float64(d)/float64(time.Millisecond)) + "\u202fms"
	default:
		return threeDigits(d.Seconds()) + "\u202fs"
	}
}

func threeDigits(x float64) string {
	switch {
	case x >= 100:
		return strconv.FormatFloat(x, 'f', 0, 64)
	case x >= 10:
		return strconv.FormatFloat(x, 'f', 1, 64)
	default:
		return strconv.FormatFloat(x, 'f', 2, 64)
	}
}

// size writes a number of bytes: 312 B, 1.2 KiB.
func size(n int64) string {
	switch {
	case n < 1<<10:
		return count(n) + "\u202fB"
	case n < 1<<20:
		return threeDigits(float64(n)/(1<<10)) + "\u202fKiB"
	case n < 1<<30:
		return threeDigits(float64(n)/(1<<20)) + "\u202fMiB"
	default:
		return threeDigits(float64(n)/(1<<30)) + "\u202fGiB"
	}
}

// things writes a number with its noun: 1 request, 2 requests.
func things(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return count(n) + " " + noun + "s"
}

// listed joins a few names in a sentence and says how many are left out: "a, b and 3 more".
func listed(names []string, most int) string {
	switch left := len(names) - most; {
	case len(names) == 0:
		return ""
	case left > 0:
		return strings.Join(names[:most], ", ") + " and " + count(int64(left)) + " more"
	case len(names) == 1:
		return names[0]
	default:
		return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
	}
}

// reasonSentences are the reasons of a verdict as sentences.
func reasonSentences(reasons []string) (list []string) {
	for _, reason := range reasons {
		list = append(list, reasonOf(reason))
	}
	return list
}

// reasonOf is a reason as a sentence. One that begins with a field begins as the field is written.
func reasonOf(reason string) string {
	if field, _, found := strings.Cut(reason, " on "); found {
		if _, err := normalize.ParseField(field); err == nil {
			return reason + "."
		}
	}
	if strings.HasSuffix(reason, "?") {
		return strings.TrimSuffix(sentenceOf(reason), ".")
	}
	return sentenceOf(reason)
}
