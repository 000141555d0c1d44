package store

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"shadowdiff/multicast"
)

// What is asked again is shown as a sample of it would be, and there is no such sample.
func TestAComparisonIsShownAsItsSampleWouldBe(t *testing.T) {
	db := openStore(t, testConfig(t), Deps{})
	startRun(t, db, candidateV1)
	c := compared("GET /products/{id}", noon, field("body.user.password", 1, 0), field("body.price", 1, 0))
	ex := c.Exchange
	ex.Request.Header = http.Header{"Authorization": {"Bearer s3cret"}}
	ex.Responses[multicast.Candidate].Body = []byte(`{"user":{"password":"s3cret"},"price":1}`)
	ex.Responses[multicast.Candidate].Header = http.Header{"Content-Type": {"application/json"}}
	c.Candidate[0].Left, c.Candidate[0].Right = `"s3cret"`, `"s3cre7"`
	s, err := db.Redact(c)
	if err != nil {
		t.Fatal(err)
	}
	if s.ID != 0 || s.Exchange != ex.ID || s.Route != c.Route || s.Result != c.Result || s.Redactions != 2 || len(s.Fields) != 2 {
		t.Errorf("sample %+v", s)
	}
	text := s.Request.Header.Get("Authorization") + string(s.Responses[multicast.Candidate].Body)
	for _, d := range s.Candidate {
		text += string(d.Left + d.Right)
	}
	if strings.Contains(text, "s3cre") || !strings.Contains(string(s.Responses[multicast.Candidate].Body), `"price":1`) {
		t.Errorf("shown: %s", text)
	}
	ex.Responses[multicast.Candidate].Body[2] = '!'
	if strings.Contains(string(s.Responses[multicast.Candidate].Body), "!") {
		t.Error("it shares the exchange's memory")
	}
	flush(t, db)
	if kept, _, err := db.Samples(context.Background(), Filter{}); err != nil || len(kept) > 0 {
		t.Errorf("kept %v, %v", kept, err)
	}
}
