package diff

import (
	"fmt"
	"strings"

	"shadowdiff/normalize"
)

// remedy is a rule that may quiet a field.
type remedy struct {
	rule   normalize.RuleConfig
	why    string
	quiets func(*sight) bool // what it surely makes equal
	hides  func(*sight) bool // what it may make equal
}

// remedies are the rules for a field, the narrowest first.
func (n *noise) remedies(field string, f *noisyField) (list []remedy) {
	inBody, whole := strings.HasPrefix(field, "body"), field == string(normalize.FieldBody)
	if inBody {
		list = append(list, remedy{
			rule: normalize.RuleConfig{Sort: field}, why: "both sides hold the same elements in another order",
		}.of(bit(normalize.OtherOrder)))
	}
	if whole {
		return list
	}
	if inBody {
		list = append(list, n.tolerances(field, f)...)
	}
	list = append(list, masks(field, f)...)
	if inBody {
		list = append(list, absences(field)...)
	}
	return append(list, n.present(field, f), remedy{
		rule: normalize.RuleConfig{Drop: field}, why: "nothing narrower quiets it: this is the last resort",
	}.of(^bit(normalize.NullMissing, normalize.EmptyMissing, normalize.OneMissing)).hiding(^uint32(0)))
}

// of is the remedy for sights made of nothing but some likenesses.
func (r remedy) of(likes uint32) remedy {
	r.quiets = func(s *sight) bool { return s.likes&^likes == 0 }
	r.hides = r.quiets
	return r
}

// hiding is the remedy that may hide more than it quiets.
func (r remedy) hiding(likes uint32) remedy {
	r.hides = func(s *sight) bool { return s.likes&^likes == 0 }
	return r
}

// within is the remedy for sights within bounds.
func (r remedy) within(bound func(*sight) bool) remedy {
	quiets, hides := r.quiets, r.hides
	r.quiets = func(s *sight) bool { return quiets(s) && bound(s) }
	r.hides = func(s *sight) bool { return hides(s) && bound(s) }
	return r
}

// tolerances are the remedies for what is close: as close as it has always been.
func (n *noise) tolerances(field string, f *noisyField) (list []remedy) {
	times := bit(normalize.LikeTime, normalize.LikeWebTime, normalize.LikeEpoch, normalize.LikeEpochText)
	if all := f.control.widest(times); all.likes != 0 && int(all.time) < len(n.ladders.time) {
		within := n.ladders.time[all.time].Within
		list = append(list, remedy{
			rule: normalize.RuleConfig{Tolerate: field, Within: within}, why: "both sides are times, at most " + within + " apart",
		}.of(times).within(func(s *sight) bool { return s.time <= all.time }))
	}
	return append(list, n.numbers(field, f)...)
}

// jitter is how far apart numbers may lie, in themselves, that are no share of each other.
const jitter = "100"

// numbers are the remedies for numbers: by distance, or by share where that hides less. Numbers that are far apart by both
// do not jitter.
func (n *noise) numbers(field string, f *noisyField) (list []remedy) {
	numbers := bit(normalize.LikeNumber, normalize.LikeEpoch)
	all := f.control.widest(numbers)
	if all.likes == 0 {
		return nil
	}
	byShare, byDistance := int(all.share) < len(n.ladders.share), int(all.number) < len(n.ladders.number)
	if !byShare && (!byDistance || all.number > n.rung(jitter)) {
		return nil
	}
	remedyOf := func(within string, bound func(*sight) bool) remedy {
		return remedy{
			rule: normalize.RuleConfig{Tolerate: field, Within: within}, why: "both sides are numbers, at most " + within + " apart",
		}.of(numbers).within(bound)
	}
	if byDistance {
		list = append(list, remedyOf(n.ladders.number[all.number].Within, func(s *sight) bool { return s.number <= all.number }))
	}
	if byShare {
		list = append(list, remedyOf(n.ladders.share[all.share].Within, func(s *sight) bool { return s.share <= all.share }))
	}
	if len(list) == 2 && f.alone.of(list[1].hides) < f.alone.of(list[0].hides) {
		list[0], list[1] = list[1], list[0]
	}
	return list
}

// rung is where on the ladder of numbers a tolerance is.
func (n *noise) rung(within string) uint8 {
	for i := range n.ladders.number {
		if n.ladders.number[i].Within == within {
			return uint8(i)
		}
	}
	return 0
}

// masks are the remedies for tokens. Their expressions are such that what is no such token still shows.
func masks(field string, f *noisyField) (list []remedy) {
	digits := bit(normalize.LikeDigits, normalize.LikeEpochText)
	for _, mask := range []struct {
		like normalize.Likeness
		also uint32 // what it quiets beside these
		more uint32 // what it may hide beside these
	}{
		{normalize.LikeUUID, 0, 0},
		{normalize.LikeEpochText, 0, 0},
		{normalize.LikeHex, 0, digits},
		{normalize.LikeTime, 0, 0},
		{normalize.LikeWebTime, 0, 0},
		{normalize.LikeBase64, 0, digits | bit(normalize.LikeHex, normalize.LikeUUID)},
		{normalize.UUIDInside, bit(normalize.LikeUUID), 0},
		{normalize.TimeInside, 0, bit(normalize.LikeTime)},
		{normalize.HexInside, 0, bit(normalize.LikeHex) | digits},
		{normalize.LikeDigits, digits, 0},
		{normalize.DigitsInside, bit(normalize.LikeEpochText), digits | bit(normalize.LikeTime, normalize.TimeInside)},
	} {
		all := f.control.widest(bit(mask.like))
		pattern, with := mask.like.Mask(int(all.least), int(all.most))
		if all.likes == 0 || pattern == "" {
			continue
		}
		what := mask.like.String()
		if mask.like == normalize.LikeHex && all.least == all.most {
			what = fmt.Sprintf("%d %s", all.most, what)
		}
		list = append(list, remedy{
			rule: normalize.RuleConfig{Mask: field, Pattern: pattern, With: &with}, why: "both sides are " + what,
		}.of(bit(mask.like)|mask.also).hiding(bit(mask.like)|mask.also|mask.more).within(func(s *sight) bool {
			return all.most == 0 || s.most == 0 || all.least <= s.least && s.most <= all.most
		}))
	}
	return list
}

// absences are the remedies for what is there on one side only and says nothing.
func absences(field string) []remedy {
	return []remedy{
		remedy{
			rule: normalize.RuleConfig{Absent: field, When: "null"}, why: "one side has null where the other has nothing",
		}.of(bit(normalize.NullMissing)),
		remedy{
			rule: normalize.RuleConfig{Absent: field, When: "empty"}, why: "one side is empty where the other has nothing",
		}.of(bit(normalize.EmptyMissing)),
	}
}

// present is the remedy for values that change at random: that there is one still matters.
func (n *noise) present(field string, f *noisyField) remedy {
	why := "the values have nothing in common"
	switch f.control.widest(^uint32(0)).likes {
	case bit(normalize.LikeBool):
		why = "both sides are booleans, either way"
	case bit(normalize.LikeNumber), bit(normalize.LikeEpoch), bit(normalize.LikeNumber, normalize.LikeEpoch):
		why = "both sides are numbers, far apart"
	}
	gone := bit(normalize.OneNull, normalize.NullMissing, normalize.EmptyMissing, normalize.OneMissing, normalize.OtherOrder)
	return remedy{rule: normalize.RuleConfig{Present: field}, why: why + ", so any value is as good as another as long as there is one"}.of(^gone)
}
