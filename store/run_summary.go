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
	Judging   string    `json:"judging"` // under which it is so
}

// summary is that of the run as it was last judged.
func (l *ledger) summary(judge diff.Config) Summary {
	if l.verdict == nil {
		return Summary{}
	}
	return summaryOf(l.verdict, judgingOf(judge, &l.run))
}

func summaryOf(v *diff.Verdict, judge diff.Config) Summary {
	s := Summary{Word: v.Word, Compared: v.Compared, Unknown: v.Unknown, Judging: fmt.Sprintf("%+v", judge)}
	for i := range v.Differences {
		if v.Differences[i].Confirmed {
			s.Confirmed++
		}
	}
	return s
}
