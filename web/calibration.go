package web

import (
	"fmt"

	"shadowdiff/diff"
)

// calibrationSentence is what a page begins with where known-good code answers in the candidate's place.
func calibrationSentence(v *diff.Verdict) string {
	const is = "This is a calibration, and says nothing of a candidate: "
	c := v.Calibration
	switch {
	case v.Compared == 0:
		return is + "nothing has been compared yet."
	case v.Word == diff.Different:
		return is + fmt.Sprintf("the set-up is lopsided, with %s between two instances of known-good code.", things(int64(c.Confirmed), "confirmed difference"))
	case v.Word == diff.Equivalent && c.Fair:
		return is + fmt.Sprintf("for the traffic seen, the set-up is even: it makes at most %s of the requests differ.", plain(v.Budget))
	case c.Fair:
		return is + "so far nothing shows that the set-up is lopsided."
	}
	return is + fmt.Sprintf("%s between two instances of known-good code.", things(int64(c.Confirmed), "confirmed difference"))
}

// notOfARelease says why a gate does not let a calibration pass for a candidate.
const notOfARelease = "a calibration is no verdict on a candidate; ask with run=" + diff.CalibrationRun + " where the set-up itself is to pass"
