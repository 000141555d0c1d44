package diff

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"shadowdiff/normalize"
)

// TestMultisetsMatchInFull counts each element on both sides: what is left over must be what is reported.
func TestMultisetsMatchInFull(t *testing.T) {
	element := rapid.SampledFrom([]string{"1", "1.0", "2", `"a"`, "null", "[1]", "[1,2]", "[2,1]", `{"a":1}`, `{"a":1.0}`, `{"a":2}`, "{}"})
	rapid.Check(t, func(rt *rapid.T) {
		l := rapid.SliceOfN(element, 0, 8).Draw(rt, "left")
		r := rapid.SliceOfN(element, 0, 8).Draw(rt, "right")
		left, right := "["+strings.Join(l, ",")+"]", "["+strings.Join(r, ",")+"]"
		sorted := normalize.RuleConfig{Sort: "body"}
		got, _ := Compare(documentOf(t, left, sorted), documentOf(t, right, sorted), DefaultLimits())

		lost, gained := slices.Clone(parseAny(t, left).([]any)), slices.Clone(parseAny(t, right).([]any))
		for i := 0; i < len(lost); {
			j := slices.IndexFunc(gained, func(v any) bool { return refEqual(lost[i], v) })
			if j < 0 {
				i++
				continue
			}
			lost, gained = slices.Delete(lost, i, i+1), slices.Delete(gained, j, j+1)
		}
		missing, extra, inside := 0, 0, 0
		for _, d := range got {
			switch {
			case d.Field == "body[]" && d.Kind == KindMissing:
				missing++
			case d.Field == "body[]" && d.Kind == KindExtra:
				extra++
			default:
				inside++
			}
		}
		compared := len(lost) == 1 && len(gained) == 1 && refType(lost[0]) == refType(gained[0]) &&
			(refType(lost[0]) == "[]interface {}" || refType(lost[0]) == "map[string]interface {}")
		if compared {
			// Missing and extra elements of [1] against [1,2] are at body[][], so these two are not among them.
			if missing+extra > 0 || inside == 0 {
				rt.Fatalf("%s against %s: %v", left, right, got)
			}
		} else if missing != len(lost) || extra != len(gained) || inside > 0 {
			rt.Fatalf("%s against %s: %v, want %d missing and %d extra", left, right, got, len(lost), len(gained))
		}
	})
}
