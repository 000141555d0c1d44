package diff

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/andybalholm/brotli"

	"shadowdiff/multicast"
	"shadowdiff/normalize"
)

// exchange is one with three answers; a nil one was not asked.
func exchange(primary, secondary, candidate *multicast.Response) *multicast.Exchange {
	ex := &multicast.Exchange{
		ID: "1", Time: time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC),
		Request: multicast.Request{Method: "GET", Target: "/items/17?q=1", Host: "shop.example"},
	}
	for role, r := range []*multicast.Response{primary, secondary, candidate} {
		if r != nil {
			ex.Responses[role] = *r
		}
	}
	return ex
}

func comparer(t testing.TB, rules ...normalize.RuleConfig) *Comparer {
	return NewComparer(normalizer(t, rules...), &normalize.Names{}, DefaultLimits())
}

// tell is a Comparison on one line.
func tell(c *Comparison) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s", c.Result)
	for _, flag := range []struct {
		set  bool
		name string
	}{{c.Raw, "raw"}, {c.Noise, "noise"}, {c.CandidateUp, "up"}, {c.ControlUp, "down"}, {c.Failed, "failed"}, {c.NoControl, "alone"}} {
		if flag.set {
			b.WriteString(" " + flag.name)
		}
	}
	for _, f := range c.Fields {
		fmt.Fprintf(&b, "; %s %d:%d at %d:%d", f.Field, f.Candidate, f.Control, f.CandidatePlaces, f.ControlPlaces)
		if f.Drift != 0 || f.Trait != 0 {
			fmt.Fprintf(&b, " drift %+d trait %+d", f.Drift, f.Trait)
		}
	}
	return b.String()
}

func TestExchanges(t *testing.T) {
	jsons := func(body string) string { return "200\nContent-Type: application/json\n\n" + body }
	for _, test := range []struct {
		name                          string
		primary, secondary, candidate string
		want                          string
	}{
		{"all the same bytes", jsons(`{"a":1}`), jsons(`{"a":1}`), jsons(`{"a":1}`), "agree"},
		{"the same in other words", jsons(`{"a":1,"b":2}`), jsons(`{"b":2,"a":1}`), jsons(`{"b":2,"a":1e0}`), "agree; size 0:0 at 0:0 drift +1 trait +0"},
		{
			"the candidate alone", jsons(`{"a":1}`), jsons(`{"a":1}`), jsons(`{"a":2}`),
			"candidate_only raw up; body.a 1:0 at 1:0 drift +1 trait +0",
		},
		{
			"the control alone", jsons(`{"a":2}`), jsons(`{"a":1}`), jsons(`{"a":2}`),
			"control_only noise down; body.a 0:1 at 0:1 drift +1 trait -1",
		},
		{
			"noise on both sides", jsons(`{"id":"a"}`), jsons(`{"id":"b"}`), jsons(`{"id":"c"}`),
			"both raw noise; body.id 1:1 at 1:1",
		},
		{
			"a graver change under noise", jsons(`{"at":"2026-11-30T10:00:00Z"}`), jsons(`{"at":"2026-11-30T10:00:01Z"}`), jsons(`{"at":1764496800}`),
			"candidate_only raw noise up; body.at 3:1 at 1:1; size 0:0 at 0:0 drift -1 trait +0",
		},
		{
			"each up at its own field", jsons(`{"a":"x","b":"x"}`), jsons(`{"a":"x","b":"y"}`), jsons(`{"a":"y","b":"x"}`),
			"both raw noise up down; body.a 1:0 at 1:0; body.b 0:1 at 0:1",
		},
		{
			"more places", jsons(`["a","b","c"]`), jsons(`["x","b","c"]`), jsons(`["y","b","z"]`),
			"both raw noise; body[] 1:1 at 2:1",
		},
		{
			"more words", jsons(`{"m":"order 7f3a at 10:00:07 costs 5 EUR"}`), jsons(`{"m":"order 90c1 at 10:00:07 costs 5 EUR"}`),
			jsons(`{"m":"order b2e8 at 10:00:07 costs 6 EUR"}`), "both raw noise; body.m 1:1 at 2:1",
		},
		{
			"more words of a text", "200\n\nid 7f3a\nprice 5\n", "200\n\nid 90c1\nprice 5\n", "200\n\nid b2e8\nprice 6\nsize 3\n",
			"both raw noise; body 1:1 at 4:1; size 0:0 at 0:0 drift +1 trait +0",
		},
		{
			"more words of a header", "302\nLocation: http://one:80/a?x=1\n\n", "302\nLocation: http://two:80/a?x=1\n\n",
			"302\nLocation: http://three:80/a?x=2\n\n", "both raw noise; header.location 1:1 at 2:1",
		},
		{
			"status and body", jsons(`{"a":1}`), jsons(`{"a":1}`), "500\nContent-Type: text/plain\n\noops!!!",
			"candidate_only raw up; body 3:0 at 1:0; header.content-type 1:0 at 2:0; status 1:0 at 1:0",
		},
		{
			"a drift under noise", jsons(`{"score":10.01}`), jsons(`{"score":10.02}`), jsons(`{"score":10.99}`),
			"both raw noise; body.score 1:1 at 1:1 drift +1 trait +1",
		},
		{
			"an id rounded as a float64 would", jsons(`{"id":9007199254740993}`), jsons(`{"id":9007199254740993}`), jsons(`{"id":9007199254740992}`),
			"candidate_only raw up; body.id 1:0 at 1:0 drift -1 trait +0",
		},
		{
			"booleans and lengths drift", jsons(`{"on":false,"l":["a","b"]}`), jsons(`{"on":true,"l":["a","b"]}`), jsons(`{"on":true,"l":["a"]}`),
			"candidate_only raw noise up; body.l 0:0 at 0:0 drift -1 trait +0; body.l[] 4:0 at 1:0; body.on 1:1 at 1:1 drift +0 trait +1; size 0:0 at 0:0 drift -1 trait -1",
		},
		{
			"a sum over the places that both align with", jsons(`[{"k":"a","v":5},{"k":"b","v":5},{"k":"c","v":5}]`),
			jsons(`[{"k":"a","v":6},{"k":"b","v":5},{"k":"c","v":5}]`), jsons(`[{"k":"a","v":5},{"k":"c","v":7}]`),
			"candidate_only raw noise up; body 0:0 at 0:0 drift -1 trait +0; body[] 4:0 at 1:0; body[].v 1:1 at 1:1 drift +1 trait +1; size 0:0 at 0:0 drift -1 trait +0",
		},
		{
			"what has no counterpart does not drift", jsons(`{"a":{"v":1}}`), jsons(`{"a":{"v":9}}`), jsons(`{"a":null}`),
			"both raw noise up down; body.a 3:0 at 1:0; body.a.v 0:1 at 0:1 drift +0 trait +1; size 0:0 at 0:0 drift -1 trait +0",
		},
		{"two empty answers", "204\n\n", "204\n\n", "200\n\n", "candidate_only raw up; status 1:0 at 1:0"},
		{"one not modified", "304\nEtag: \"1\"\n\n", "304\nEtag: \"1\"\n\n", "304\nEtag: \"1\"\n\n", "agree"},
		{"JSON cut off", jsons(`{"a":1}`), jsons(`{"a":1}`), jsons(`{"a":`), "candidate_only raw up; body 3:0 at 1:0; size 0:0 at 0:0 drift -1 trait +0"},
	} {
		t.Run(test.name, func(t *testing.T) {
			ex := exchange(answer(t, test.primary), answer(t, test.secondary), answer(t, test.candidate))
			got := comparer(t).Compare(ex)
			if tell(got) != test.want {
				t.Errorf("got  %s\nwant %s", tell(got), test.want)
			}
			if got.Route != "GET /items/{id}" || got.Time != ex.Time || got.Exchange != ex {
				t.Errorf("route %q, time %v", got.Route, got.Time)
			}
			if !slices.IsSortedFunc(got.Fields, func(a, b FieldComparison) int { return strings.Compare(a.Field, b.Field) }) {
				t.Error("fields are not sorted")
			}
			// Swapping the names of the shadows swaps what is said of them: the promise that all evidence rests on.
			ex.Responses[multicast.Secondary], ex.Responses[multicast.Candidate] = ex.Responses[multicast.Candidate], ex.Responses[multicast.Secondary]
			back := comparer(t).Compare(ex)
			if back.Raw != got.Noise || back.CandidateUp != got.ControlUp || len(back.Fields) < len(got.Fields)-2 {
				t.Errorf("swapped: %s", tell(back))
			}
			for _, f := range back.Fields {
				i := slices.IndexFunc(got.Fields, func(g FieldComparison) bool { return g.Field == f.Field })
				if i < 0 {
					if f.Candidate+f.Control > 0 || f.Drift != 0 {
						t.Errorf("swapped: %+v is new", f)
					}
				} else if g := got.Fields[i]; f.Drift != -g.Drift || f.Candidate != g.Control || f.CandidatePlaces != g.ControlPlaces {
					t.Errorf("swapped: %+v, was %+v", f, g)
				}
			}
		})
	}
}

func TestOneShadowFailed(t *testing.T) {
	ok := answer(t, "200\n\n{\"a\":1}")
	other := answer(t, "200\n\n{\"a\":2}")
	dead := &multicast.Response{Outcome: multicast.OutcomeTimeout, Detail: "no answer within 5s"}
	for _, test := range []struct {
		name                 string
		secondary, candidate *multicast.Response
		want                 string
	}{
		{"the candidate", other, dead, "candidate_only raw up failed; transport 4:0 at 1:0"},
		{"the secondary", dead, other, "control_only noise down failed; transport 0:4 at 0:1"},
		{"the candidate, and there is no secondary", nil, dead, "candidate_only raw up failed alone; transport 4:0 at 1:0"},
		{"none, and there is no secondary", nil, other, "candidate_only raw up alone; body.a 1:0 at 1:0"},
		{"none, no secondary and no difference", nil, ok, "agree alone"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := comparer(t).Compare(exchange(ok, test.secondary, test.candidate))
			if tell(got) != test.want || got.Unknown != "" || got.Latency != (LatencyPair{}) {
				t.Errorf("got  %s, unknown %q, latency %v\nwant %s", tell(got), got.Unknown, got.Latency, test.want)
			}
			for _, d := range slices.Concat(got.Candidate, got.Control) {
				if got.Failed && show(d) != `transport failed "ok"|"timeout: no answer within 5s" -|-` {
					t.Error(show(d))
				}
			}
		})
	}
	t.Run("both", func(t *testing.T) {
		ex := exchange(ok, dead, dead)
		if got := comparer(t).Compare(ex); got.Unknown != multicast.ReasonShadowsFailed || ex.Unknown != got.Unknown || got.Result != "" {
			t.Errorf("%+v", got)
		}
	})
}

func TestUnknownPassesThrough(t *testing.T) {
	ex := exchange(answer(t, "200\n\n1"), answer(t, "200\n\n2"), answer(t, "200\n\n3"))
	ex.Unknown, ex.Route = multicast.ReasonStale, "GET /configured"
	got := comparer(t).Compare(ex)
	if got.Unknown != multicast.ReasonStale || got.Route != "GET /configured" || got.Result != "" || got.Raw || got.Fields != nil {
		t.Errorf("%+v", got)
	}
}

func TestTheLatencyIsThatOfThePair(t *testing.T) {
	ex := exchange(answer(t, "200\n\n1"), answer(t, "200\n\n1"), answer(t, "200\n\n1"))
	ex.Responses[multicast.Secondary].Duration = 3 * time.Millisecond
	ex.Responses[multicast.Candidate].Duration = 7 * time.Millisecond
	if got := comparer(t).Compare(ex).Latency; got != (LatencyPair{Candidate: 7 * time.Millisecond, Secondary: 3 * time.Millisecond}) {
		t.Error(got)
	}
}

// A body over the cap is known by length and hash: then all three are compared so, even if they mean the same.
func TestBodiesOverTheCap(t *testing.T) {
	over := func(body string) *multicast.Response {
		r := answer(t, "200\nContent-Type: application/json\n\n")
		r.Over, r.Size, r.Hash = true, int64(len(body)), sha256.Sum256([]byte(body))
		return r
	}
	kept := func(body string) *multicast.Response {
		return answer(t, "200\nContent-Type: application/json\n\n"+body)
	}
	endless := over("0123456789abcdef")
	endless.Outcome = multicast.OutcomeOversize
	for _, test := range []struct {
		name                          string
		primary, secondary, candidate *multicast.Response
		want, kind                    string
	}{
		{"equal", over("[1, 2]"), over("[1, 2]"), over("[1, 2]"), "agree", ""},
		{"equal, one of them kept", over("[1, 2]"), over("[1, 2]"), kept("[1, 2]"), "agree", ""},
		{"another length", over("[1, 2]"), over("[1, 2]"), kept("[1,2]"), "candidate_only raw up; body 1:0 at 1:0; size 0:0 at 0:0 drift -1 trait +0", "length"},
		{"other bytes", over("[1, 2]"), over("[1, 2]"), over("[1, 3]"), "candidate_only raw up; body 1:0 at 1:0", "value"},
		{"all kept but one", kept("[1]"), kept("[1 ]"), over("[1 ]"), "both raw noise; body 1:1 at 1:1; size 0:0 at 0:0 drift +0 trait +1", "length"},
		{"without an end", kept("[1]"), kept("[1]"), endless, "candidate_only raw up; body 1:0 at 1:0", "length"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := comparer(t).Compare(exchange(test.primary, test.secondary, test.candidate))
			if tell(got) != test.want {
				t.Errorf("got  %s\nwant %s", tell(got), test.want)
			}
			if test.kind != "" && (len(got.Candidate) != 1 || string(got.Candidate[0].Kind) != test.kind || got.Candidate[0].Field != "body") {
				t.Errorf("differences %v", got.Candidate)
			}
		})
	}
}

func TestContentCodingsDoNotDiffer(t *testing.T) {
	const body = `{"a":[1,2,3],"b":"x"}`
	coded := func(coding string, data []byte) *multicast.Response {
		r := answer(t, "200\nContent-Type: application/json\n\n")
		r.Body, r.Size = data, int64(len(data))
		if coding != "" {
			r.Header.Set("Content-Encoding", coding)
		}
		return r
	}
	var zipped, brotlied bytes.Buffer
	z, b := gzip.NewWriter(&zipped), brotli.NewWriter(&brotlied)
	for _, w := range []interface {
		Write([]byte) (int, error)
		Close() error
	}{z, b} {
		if _, err := w.Write([]byte(body)); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	got := comparer(t).Compare(exchange(coded("gzip", zipped.Bytes()), coded("", []byte(body)), coded("br", brotlied.Bytes())))
	if tell(got) != "agree" {
		t.Error(tell(got))
	}
}

// A HEAD answer tells of a body that it does not have.
func TestHeadHasNoBody(t *testing.T) {
	head := answer(t, "200\nContent-Type: application/json\nContent-Length: 512\nContent-Encoding: gzip\n\n")
	ex := exchange(head, head, head)
	ex.Request.Method = "HEAD"
	if got := comparer(t).Compare(ex); tell(got) != "agree" || got.Route != "HEAD /items/{id}" {
		t.Error(got.Route, tell(got))
	}
}

func TestAnETagThatARuleSilencesIsSilentForEqualBytesToo(t *testing.T) {
	r := func(etag string) *multicast.Response {
		return answer(t, "200\nEtag: \""+etag+"\"\nContent-Type: application/json\n\n{\"v\":1,\"token\":1}")
	}
	ex := exchange(r("1"), r("1"), r("2"))
	if got := comparer(t, normalize.RuleConfig{Drop: "body.token"}).Compare(ex); tell(got) != "agree" {
		t.Error(tell(got))
	}
	if got := comparer(t).Compare(ex); tell(got) != "candidate_only raw up; header.etag 1:0 at 1:0" {
		t.Error(tell(got))
	}
}

// Nothing of an exchange may live on in its comparison: the bytes are given back and used again.
func TestAComparisonSharesNothingWithItsExchange(t *testing.T) {
	r := func(body string) *multicast.Response {
		return answer(t, "200\nContent-Type: application/json\n\n"+body)
	}
	ex := exchange(r(`{"key":"left","n":1,"l":[1,2]}`), r(`{"key":"left","n":1,"l":[1,2]}`), r(`{"key":"right","n":22,"k":"new"}`))
	got := comparer(t).Compare(ex)
	before := tell(got) + fmt.Sprint(got.Candidate)
	for _, d := range got.Candidate {
		before += show(d)
	}
	for role := range ex.Responses {
		clear(ex.Responses[role].Body)
	}
	after := tell(got) + fmt.Sprint(got.Candidate)
	for _, d := range got.Candidate {
		after += show(d)
	}
	if before != after {
		t.Errorf("before\n%s\nafter\n%s", before, after)
	}
}

// A client cannot read gzip that is not labelled so, though the bytes are the same.
func TestABodyWithoutItsCodingIsAnother(t *testing.T) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write([]byte(`{"a":1}`)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	sent := func(codings ...string) *multicast.Response {
		return &multicast.Response{
			Outcome: multicast.OutcomeOK, Status: 200, Body: packed.Bytes(), Size: int64(packed.Len()),
			Header: map[string][]string{"Content-Encoding": codings, "Content-Type": {"application/json"}},
		}
	}
	got := comparer(t).Compare(exchange(sent("gzip"), sent("x-gzip"), sent()))
	if got.Result != CandidateOnly || len(got.Candidate) != 1 || got.Candidate[0].Kind != KindContent || len(got.Control) != 0 {
		t.Errorf("%s, %+v", tell(got), got.Candidate)
	}
}
