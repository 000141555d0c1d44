package diff

import (
	"fmt"
	"math"
	"time"

	"github.com/dustin/go-humanize"
)

// Minutes counts the minutes in which one side of a pair of counts outnumbered the other. Thirty candidate-only requests
// in one minute may be a burst that hit one instance; in thirty minutes they are not.
//
// Requests need not come in order: one that is late counts in the minute that is open, and a minute that is over is not
// opened again. Which shadow a late request tells against has no part in that, so that a minute leans either way with
// the same chance where nothing is wrong.
type Minutes struct {
	Candidate int32 `json:"candidate,omitzero"` // minutes that are over and had more candidate-only requests
	Control   int32 `json:"control,omitzero"`   // and those that had more control-only ones; a draw counts for neither
	Open      int32 `json:"open,omitzero"`      // the minute that may still change, counted since 1970
	Lean      int32 `json:"lean,omitzero"`      // candidate-only less control-only requests in it
}

// lateBy is how many minutes a request may be late: no exchange takes that long. What lies further back is the clock,
// which was set.
const lateBy = 10

// minuteOf is the minute since 1970 that holds a time.
func minuteOf(at time.Time) int32 { return int32(floorDiv(at.Unix(), 60)) }

func floorDiv(n, by int64) int64 {
	q := n / by
	if n%by < 0 {
		q--
	}
	return q
}

// add counts one discordant request.
func (m *Minutes) add(minute int32, candidate bool) {
	if minute > m.Open || m.Open-minute > lateBy {
		m.close()
		m.Open = minute
	}
	if candidate {
		m.Lean++
	} else {
		m.Lean--
	}
}

func (m *Minutes) close() {
	switch {
	case m.Lean > 0:
		m.Candidate++
	case m.Lean < 0:
		m.Control++
	}
	m.Lean = 0
}

// at is the minutes as they stand in the minute now: one that has passed is over, whether or not anything came since.
func (m Minutes) at(now int32) Minutes {
	if m.Open < now {
		m.close()
	}
	return m
}

// open is the minute that may still count when it is over, seen from the minute now.
func (m Minutes) open(now int32) int32 {
	if m.Lean == 0 || m.Open < now {
		return math.MaxInt32
	}
	return m.Open
}

// merge takes in the minutes of another route. Which of them were the same minutes is not known any more, and two routes
// that a burst hits in one minute are one burst: so of each side the greater number stands, and none is made up.
func (m *Minutes) merge(o Minutes) {
	if m.Open != o.Open {
		if m.Open < o.Open {
			m.close()
			m.Open = o.Open
		} else {
			o.close()
		}
	}
	m.Candidate = max(m.Candidate, o.Candidate)
	m.Control = max(m.Control, o.Control)
	m.Lean += o.Lean
}

// Steadiness is what the minutes that are over say of one pair of counts.
type Steadiness struct {
	Steady           bool  `json:"steady"`            // the evidence of the minutes, by themselves, is 20 or more
	MinutesCandidate int64 `json:"minutes_candidate"` // in which candidate-only requests outnumbered control-only ones
	MinutesControl   int64 `json:"minutes_control"`   // the other way round
}

// lnSteady is the ln E from which minutes are taken to lean to one side: E = 20.
const lnSteady = 2.995732

// steadiness is that of the minutes as they stand in the minute now.
func (m Minutes) steadiness(now int32, evidence func(b, c int64) float64) Steadiness {
	m = m.at(now)
	s := Steadiness{MinutesCandidate: int64(m.Candidate), MinutesControl: int64(m.Control)}
	s.Steady = evidence(s.MinutesCandidate, s.MinutesControl) >= lnSteady
	return s
}

// said is it in the words of a reason: "lopsided in 14 of 15 minutes".
func (s Steadiness) said() string {
	most, all := max(s.MinutesCandidate, s.MinutesControl), s.MinutesCandidate+s.MinutesControl
	minutes := fmt.Sprintf("lopsided in %s of %s minutes", humanize.Comma(most), humanize.Comma(all))
	switch {
	case s.Steady:
		return minutes
	case all > 1:
		return "not steady yet, " + minutes
	default:
		return "one burst so far"
	}
}
