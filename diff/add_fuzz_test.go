package diff

import (
	"encoding/json"
	"testing"
)

// FuzzTalliesFromElsewhere: whatever a service says that it has counted is refused, or added and judged without harm.
func FuzzTalliesFromElsewhere(f *testing.F) {
	tally := NewTally(nil)
	for _, c := range traffic(9, 60) {
		tally.Add(c)
	}
	all, _ := tally.Cut()
	text, err := json.Marshal(all)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"total":{"compared":-1},"routes":[null],"fields":[{"route":"a"}]}`))
	f.Add([]byte(`{"total":{"course":{"shift":255,"first":9223372036854775807,"used":8,"spans":[{"compared":1}]}}}`))
	f.Add([]byte(`{"routes":[{"route":"a","compared":9223372036854775807,"latency":{"candidate":"AQEB"}}],"fields":[{"route":"a","field":"x","tests":[{"candidate_only":9223372036854775807,"order":9223372036854775807}]}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var one, other Tallies
		if json.Unmarshal(text, &one) != nil || one.Check() != nil || json.Unmarshal(text, &other) != nil {
			return
		}
		sum := Add(&one, &other)
		v, _ := Judge(sum, DefaultConfig())
		if v.Word != Different && v.Word != Equivalent && v.Word != Undecided {
			t.Errorf("the verdict is %q", v.Word)
		}
		Judge(Add(&one), DefaultConfig())
	})
}
