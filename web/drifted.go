package web

import (
	"fmt"

	"shadowdiff/diff"
	"shadowdiff/multicast"
	"shadowdiff/store"
)

// driftedView is a field that has drifted over many requests, and what this one had there.
type driftedView struct {
	Field string
	Words string // "4.5 here against the control's 4.4", empty where that would be long
}

// driftedIn finds the confirmed drifts of a sample's route that the sample has a part in: one request alone proves none.
func driftedIn(sample *store.Sample, places []placeView, v *diff.Verdict) []driftedView {
	if v == nil {
		return nil
	}
	var out []driftedView
	for _, f := range v.Differences {
		if f.Kind != diff.TestDrift || !f.Confirmed {
			continue
		}
		if words, is := driftedHere(sample, places, f.Field); is {
			out = append(out, driftedView{f.Field, words})
		}
	}
	return out
}

func driftedHere(sample *store.Sample, places []placeView, field string) (words string, is bool) {
	const most = 24 // longer values are not for a sentence
	if field == diff.FieldSize {
		if !sizesDiffer(sample) {
			return "", false
		}
		return against(size(sample.Decoded[multicast.Candidate]), size(sample.Decoded[multicast.Secondary])), true
	}
	for _, p := range places {
		c, s := p.Values[candidate], p.Values[control]
		if p.Field == field+"[]" && p.Absent[candidate] != p.Absent[control] { // the length of a list
			is = true
		}
		if p.Field != field || c == s {
			continue
		}
		if c != "" && s != "" && len(c) <= most && len(s) <= most {
			return against(c, s), true
		}
		is = true
	}
	return "", is
}

func against(candidate, control string) string {
	return fmt.Sprintf("%s here against the control's %s", candidate, control)
}
