package main

import (
	"fmt"
	"io"
	"net/http"
	"testing"

	"shadowdiff/diff"
)

// What is asked again is compared under the rules in force now, and they learn nothing of it.
func TestASampleIsAskedAgainUnderTheRulesInForce(t *testing.T) {
	t.Parallel()
	shop := func(price int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, fmt.Sprintf(`{"price":%d,"odd":%d}`, price, price))
		}
	}
	text := addresses(newPeer(t, "p", shop(1)), newPeer(t, "s", shop(1)), newPeer(t, "c", shop(2)))
	l := serveFile(t, text)
	l.askedOf(l.connect(), 1, "/things/7?a=1")
	var kept struct{ Items []struct{ ID int64 } }
	l.eventually("a sample is kept", func() bool {
		l.call("GET", "/api/v1/samples", "", 200, &kept)
		return len(kept.Items) > 0
	})
	var asked struct {
		Result diff.Result
		Fields []string
		Route  string
	}
	ask := fmt.Sprintf("/api/v1/samples/%d/ask", kept.Items[0].ID)
	l.call("POST", ask, "", 200, &asked)
	if asked.Result != diff.CandidateOnly || len(asked.Fields) != 2 || asked.Route != "GET /things/{id}" {
		t.Errorf("answer %+v", asked)
	}
	l.reload(text + "rules:\n- {drop: body.odd}\n")
	l.call("POST", ask, "", 200, &asked)
	if len(asked.Fields) != 1 || asked.Fields[0] != "body.price" {
		t.Errorf("answer %+v", asked)
	}
	var rules struct {
		Items []struct{ Documents, Matched int64 }
	}
	l.call("GET", "/api/v1/rules", "", 200, &rules)
	if len(rules.Items) != 1 || rules.Items[0].Documents > 0 || rules.Items[0].Matched > 0 {
		t.Errorf("rules %+v", rules)
	}
	var small struct {
		Kept    []string
		Minimal bool
	}
	l.call("POST", fmt.Sprintf("/api/v1/samples/%d/shrink", kept.Items[0].ID), `{"field": "body.price"}`, 200, &small)
	if !small.Minimal || len(small.Kept) > 0 {
		t.Errorf("answer %+v", small)
	}
}
