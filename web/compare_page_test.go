package web

import (
	"testing"

	"shadowdiff/multicast"
)

// Of the rules of two runs only those are shown that one of them has alone, however often it has them.
func TestOnlyTheRulesThatAreOthersAreShown(t *testing.T) {
	if otherRulesOf(nil) != nil {
		t.Error("rules that are the same are others")
	}
	then := "- drop: body.a\n- mask: body.b\n  pattern: x\n- drop: body.c\n"
	now := "- drop: body.c\n- drop: body.a\n- mask: body.b\n  pattern: \"- y\"\n- drop: body.a\n"
	got := otherRulesOf(&pair[string]{then, now})
	want := otherRules{pair[string]{"- mask: body.b\n  pattern: x\n", "- mask: body.b\n  pattern: \"- y\"\n- drop: body.a\n"}, 2}
	if *got != want {
		t.Errorf("%+v, want %+v", *got, want)
	}
	if got := otherRulesOf(&pair[string]{"", then}); got.Then != "" || got.Now != then || got.Same != 0 {
		t.Errorf("of none and some: %+v", got)
	}
}

// What is counted as not recorded is explained on the page of help, where the number leads.
func TestWhyARequestIsNotRecordedIsExplained(t *testing.T) {
	for _, reason := range multicast.RecordReasons() {
		if reasonMeaning(reason) == "" {
			t.Errorf("%s is not explained", reason)
		}
	}
}
