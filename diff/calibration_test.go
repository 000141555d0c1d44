package diff

import (
	"slices"
	"strings"
	"testing"
)

func calibrating(c *Config) { c.Name = CalibrationRun }

// said tells whether a reason holds these words.
func said(v *Verdict, words string) bool {
	return slices.ContainsFunc(v.Reasons, func(r string) bool { return strings.Contains(r, words) })
}

func TestACalibrationBlamesTheSetUpAndNoCandidate(t *testing.T) {
	tally := story(NewTally(nil), "GET /a", 3000, func(i int) []FieldComparison {
		if i%3 == 0 {
			return []FieldComparison{at("body.pid", 1, 0), at("body.served", 1, 1)}
		}
		return []FieldComparison{at("body.served", 1, 1)}
	})
	v := judged(t, tally, calibrating)
	if v.Word != Different || !strings.HasPrefix(v.Reasons[0], "the set-up is lopsided: body.pid on GET /a differs") {
		t.Errorf("%s: %q", v.Word, v.Reasons)
	}
	if said(v, "because of the candidate") || !said(v, "says nothing of a candidate") || !said(v, "2 fields have differed and 1 of them confirmed") {
		t.Errorf("reasons %q", v.Reasons)
	}
	c := v.Calibration
	if c == nil || c.Differing != 2 || c.Confirmed != 1 || c.Fair || c.LnE < 100 {
		t.Errorf("calibration %+v", c)
	}
	if v := judged(t, tally); v.Calibration != nil || said(v, "set-up") {
		t.Errorf("another run: %q", v.Reasons)
	}
}

func TestACleanCalibrationSaysHowEvenTheSetUpIs(t *testing.T) {
	tally := story(NewTally(nil), "GET /a", 6000, every(1, at("body.served", 1, 1)))
	v := judged(t, tally, calibrating)
	if v.Word != Equivalent || !strings.HasPrefix(v.Reasons[0], "the set-up is even: at most 0.082 % of the requests differ because of the set-up") {
		t.Errorf("%s: %q", v.Word, v.Reasons)
	}
	if c := v.Calibration; c == nil || !c.Fair || c.Confirmed != 0 || c.EvenTo <= 0 || c.EvenTo > 0.001 {
		t.Errorf("calibration %+v", c)
	}
	v = judged(t, story(NewTally(nil), "GET /a", 100, every(1, at("body.served", 1, 1))), calibrating)
	if v.Word != Undecided || !v.Calibration.Fair || !said(v, "1 field has differed and 0 of them confirmed") || v.Reasons[0] == "" {
		t.Errorf("%s: %q", v.Word, v.Reasons)
	}
	if v := judged(t, NewTally(nil), calibrating); !said(v, "no field has differed") {
		t.Errorf("%q", v.Reasons)
	}
}
