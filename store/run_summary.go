package store

import (
	"fmt"

	"shadowdiff/diff"
)

// Summary is what a run comes to, in a line of a list.
type Summary struct {
	Word      diff.Word `json:"verdict"`
	Compared  int64     `json:"compared"`
	Unknown   int64     `json:"unknown"`
	Confirmed int       `json:"confirmed_differences"`
	Informing int       `json:"informing"` // of these, those that decide nothing
	Alpha     float64   `json:"alpha"`     // that it is judged at

	Equivalence float64    `json:"equivalence_rate"`
	EquivBounds [2]float64 `json:"equivalence_interval"` // both 0: it was written down before this was kept

	Judging string `json:"judging"`
}

// summary is that of the run as it was last judged.
func (l *ledger) summary(judge diff.Config) Summary {
	if l.verdict == nil {
		return Summary{}
	}
	return summarise(l.verdict, judgingOf(judge, &l.run))
}

func summarise(v *diff.Verdict, judge diff.Config) Summary {
	s := Summary{
		Word: v.Word, Compared: v.Compared, Unknown: v.Unknown, Alpha: v.Alpha, Judging: judgingText(judge),
		Equivalence: v.Equivalence, EquivBounds: v.EquivBounds,
	}
	for i := range v.Differences {
		if v.Differences[i].Confirmed {
			s.Confirmed++
			if v.Differences[i].Informs {
				s.Informing++
			}
		}
	}
	return s
}

// judgingText tells judgings apart that may come to other words.
func judgingText(judge diff.Config) string {
	judge.Name = ""
	return fmt.Sprintf("form 2 %+v", judge) // the form of a Summary: one of an earlier form is made anew
}
