package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// TestRulesThatDoNothingAndRulesThatDoAll are told of: in the API, and once each in the log.
func TestRulesThatDoNothingAndRulesThatDoAll(t *testing.T) {
	t.Parallel()
	primary, secondary, candidate := newPeer(t, "p", nil), newPeer(t, "s", nil), newPeer(t, "c", nil)
	begin := addresses(primary, secondary, candidate) + "rules: [{drop: body.atime}, {drop: body, route: GET /all}, {absent: body.x, when: null}]\n"
	l := serveFile(t, begin)
	c := l.connect()
	rules := func() (list []struct {
		Rule      string
		Exchanges int64
		Matched   int64
		Unused    bool
		TooWide   bool `json:"too_wide"`
	},
	) {
		t.Helper()
		answer := struct{ Items any }{&list}
		if err := json.Unmarshal([]byte(l.page("/api/v1/rules")), &answer); err != nil {
			t.Fatal(err)
		}
		return list
	}
	if got := rules(); len(got) != 3 || got[2].Rule != "- absent: body.x\n  when: null\n" || got[0].Rule != "- drop: body.atime\n" || got[0].Unused || got[1].TooWide {
		t.Errorf("at first: %+v", got)
	}
	c.get("/all")
	for range 99 {
		c.get("/a")
	}
	l.settled()
	said := func(message string) int { return strings.Count(l.log.String(), message) }
	const unused, wide = "a rule has matched nothing", "a rule takes whole bodies away"
	l.eventually("a warning", func() bool { return said(wide) > 0 })

	l.reload(begin + "verdict: {budget: 5%}\n") // the same rules in the same run: nothing is forgotten
	if got := rules(); got[1].Exchanges != 100 || got[1].Matched == 0 || !got[1].TooWide {
		t.Errorf("after a reload: %+v", got)
	}
	for range 9 {
		for range 100 {
			c.get("/a")
		}
		l.settled() // no more of them than may wait
	}
	l.eventually("a warning", func() bool { return said(unused) > 0 })
	got := rules()
	if !got[0].Unused || got[1].Unused || got[0].TooWide || !got[1].TooWide || got[0].Exchanges != 1000 {
		t.Errorf("after all: %+v", got)
	}
	if got[2].Unused != (said(unused) == 2) || said(wide) != 1 || !strings.Contains(l.log.String(), "drop body.atime") {
		t.Errorf("%+v\n%s", got, fmt.Sprint(said(unused), said(wide)))
	}
	l.reload(strings.Replace(begin, "body.atime", "body.mtime", 1))
	if got := rules(); got[0].Exchanges != 0 || got[1].Matched != 0 {
		t.Errorf("under other rules: %+v", got)
	}
}
