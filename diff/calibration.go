package diff

import (
	"fmt"
	"strings"

	"github.com/dustin/go-humanize"
)

// CalibrationRun is the name of every run in which known-good code answers in the candidate's place, and of no other. What is
// confirmed in one is a trait of the set-up, or of an instance.
const CalibrationRun = "calibration"

// Calibration is what such a run measures: how lopsided the set-up is on the traffic seen.
type Calibration struct {
	Differing int     `json:"differing"` // fields of routes that have differed on either side, transport and latency among them
	Confirmed int     `json:"confirmed"` // of these, how many are confirmed
	LnE       float64 `json:"ln_e"`      // the greatest evidence of any; 0 where there is none
	EvenTo    float64 `json:"even_to"`   // the part of the requests that differ because of the set-up is at most this
	Fair      bool    `json:"fair"`      // nothing is confirmed and the word is not "different"; as far as the requests show
}

// calibrated says of a calibration what its word means there. The word itself is as ever.
func (s *scope) calibrated(v *Verdict) {
	if s.watch.cfg.Name != CalibrationRun {
		return
	}
	c := &Calibration{Differing: len(s.standings), Confirmed: len(s.confirmed), EvenTo: max(1-v.EquivBounds[0], 0)}
	for _, st := range s.standings {
		c.LnE = max(c.LnE, st.finding.LnE)
	}
	c.Fair = c.Confirmed == 0 && v.Word != Different
	v.Calibration = c
	lead := map[Word]string{Different: "the set-up is lopsided: ", Equivalent: "the set-up is even: "}[v.Word]
	for i, reason := range v.Reasons {
		reason = strings.ReplaceAll(reason, "because of the candidate", "because of the set-up")
		if v.Word == Different || i == 0 {
			reason = lead + reason
		}
		v.Reasons[i] = reason
	}
	v.Reasons = append(v.Reasons, c.said(), "a calibration: known-good code answers in the candidate's place, so this says nothing of a candidate")
}

func (c *Calibration) said() string {
	fields := humanize.Comma(int64(c.Differing)) + " fields have differed"
	if c.Differing == 1 {
		fields = "1 field has differed"
	}
	said := fmt.Sprintf("measured on this traffic: %s and %d of them confirmed, the greatest evidence is ln E %.1f", fields, c.Confirmed, c.LnE)
	if c.Differing == 0 {
		said = "measured on this traffic: no field has differed"
	}
	if c.Fair {
		return said + "; the pair is fair as far as " + percent(c.EvenTo) + " of the requests"
	}
	return said + "; the pair is not fair, and a candidate would be blamed for it"
}
