package web

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"shadowdiff/multicast"
	"shadowdiff/normalize"
)

// prices answers with a price, which the new code gets wrong where wrong says so of the request and its body.
func prices(wrong func(r *http.Request, body string) bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		price := 100
		if wrong != nil && wrong(r, string(body)) {
			price = 93
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"price":%d,"name":"tea"}`, price)
	}
}

// shrunkSeen is the answer as a script reads it.
type shrunkSeen struct {
	shrunk
	Differences []map[string]any `json:"differences"`
}

func (r *rig) shrink(id int64, body string) shrunkSeen {
	r.t.Helper()
	var a shrunkSeen
	r.decode(r.doAs(200, "POST", fmt.Sprintf("/api/v1/samples/%d/shrink", id), body), &a)
	return a
}

func TestADifferenceShrinksToTheOneParameterThatItHangsOn(t *testing.T) {
	r := newAskRig(t, prices(nil), prices(func(r *http.Request, _ string) bool { return r.URL.Query().Get("currency") == "EUR" }), nil)
	r.send("GET", "/products?a=1&b=2&c=3&d=4&e=5&currency=EUR&f=6&g=7&h=8&token=abc&j=&k", "", "Authorization: Bearer s3cret", "X-Plain: kept")
	a := r.shrink(r.firstSample(), `{"field": "body.price", "headers": {"Authorization": "Bearer other"}}`)
	if a.Request.Target != "/products?currency=EUR" || a.Request.Method != "GET" || len(a.Request.Header) != 0 {
		t.Errorf("request %+v", a.Request)
	}
	if !slices.Equal(a.Kept, []string{"query.currency"}) || !a.Minimal || a.Stopped != "" || a.Kind != "value" {
		t.Errorf("answer %+v", a)
	}
	for _, part := range []string{"query.a", "query.k", "query.token", "header.authorization", "header.x-plain", "header.user-agent", "header.x-forwarded-for"} {
		if !slices.Contains(a.Dropped, part) {
			t.Errorf("%s is not among what was dropped: %v", part, a.Dropped)
		}
	}
	if a.Asks < 4 || a.Asks > 60 || a.Shown != shrinkAtEnd || a.Asked != shrinkAtEnd || len(a.Redacted) > 0 {
		t.Errorf("answer %+v", a)
	}
	if len(a.Differences) != 1 || a.Differences[0]["field"] != "body.price" || a.Differences[0]["right"] != 93.0 {
		t.Errorf("differences %+v", a.Differences)
	}
	mustHold(t, "the command", a.Curl, "made smaller: what shows the difference at body.price", "--url '"+r.cfg.Candidate+"/products?currency=EUR'")
}

func TestWhatADifferenceNeedsTogetherStays(t *testing.T) {
	needs := func(r *http.Request, _ string) bool {
		return r.URL.Query().Get("b") == "2" && r.Header.Get("X-Tier") == "gold" && r.Header.Get("Authorization") == "Bearer s3cret"
	}
	r := newAskRig(t, prices(nil), prices(needs), nil)
	r.send("GET", "/products?a=1&b=2", "", "Authorization: Bearer s3cret", "X-Tier: gold", "X-Other: x")
	refused := r.doAs(409, "POST", fmt.Sprintf("/api/v1/samples/%d/shrink", r.firstSample()), `{"field": "body.price"}`)
	mustHold(t, "without the token", refused, "does not show any more", "the candidate does not differ", "header.authorization")
	a := r.shrink(r.firstSample(), `{"field": "body.price", "headers": {"Authorization": "Bearer s3cret"}}`)
	if want := []string{"query.b", "header.authorization", "header.x-tier"}; !slices.Equal(a.Kept, want) {
		t.Errorf("kept %v, want %v", a.Kept, want)
	}
	text, _ := json.Marshal(a)
	if strings.Contains(string(text), "s3cret") || a.Request.Header.Get("Authorization") != normalize.Redacted {
		t.Errorf("the caller's token is shown: %s", text)
	}
}

func TestABodyShrinksToTheMemberThatADifferenceHangsOn(t *testing.T) {
	r := newAskRig(t, prices(nil), prices(func(_ *http.Request, body string) bool {
		var quote struct{ Lines []struct{ Tax *json.Number } }
		_ = json.Unmarshal([]byte(body), &quote)
		for _, line := range quote.Lines {
			if line.Tax != nil && *line.Tax == "7.00" {
				return true
			}
		}
		return false
	}), nil)
	cfg := r.cfg
	yes := true
	cfg.Routes = []multicast.RouteConfig{{Match: "POST /quote", Shadow: &yes}}
	if err := r.proxy.Reconfigure(cfg, nil); err != nil {
		t.Fatal(err)
	}
	r.send("POST", "/quote", `{"dry_run": true, "customer": {"id": 7, "tags": ["a", "b"]}, "lines": [{"sku": "x"}, {"sku": "y", "tax": 7.00}, {"sku": "z"}]}`)
	id := r.firstSample()
	mustHold(t, "a POST", r.doAs(409, "POST", fmt.Sprintf("/api/v1/samples/%d/shrink", id), `{"field": "body.price"}`), "side effects", "unsafe")
	a := r.shrink(id, `{"field": "body.price", "unsafe": true}`)
	if a.Request.Body != `{"lines":[{"tax":7.00}]}` || !slices.Equal(a.Kept, []string{"body.lines[1].tax"}) {
		t.Errorf("answer %+v", a)
	}
	for _, part := range []string{"body.dry_run", "body.customer", "body.lines[0]", "body.lines[1].sku", "body.lines[2]"} {
		if !slices.Contains(a.Dropped, part) {
			t.Errorf("%s is not among what was dropped: %v", part, a.Dropped)
		}
	}
}

func TestWhatCannotShrinkIsRefused(t *testing.T) {
	var mended, broken atomic.Bool
	known := func(w http.ResponseWriter, r *http.Request) {
		if broken.Load() {
			w.WriteHeader(503)
			return
		}
		prices(nil)(w, r)
	}
	r := newAskRig(t, known, prices(func(*http.Request, string) bool { return !mended.Load() }), nil)
	r.send("GET", "/products", "")
	path := fmt.Sprintf("/api/v1/samples/%d/shrink", r.firstSample())
	refused := func(status int, body string, texts ...string) {
		t.Helper()
		mustHold(t, body, r.doAs(status, "POST", path, body), texts...)
	}
	refused(400, `{}`, "say which difference is to stay", "body.price")
	refused(400, `{"fields": "body.price"}`, `did you mean \"field\"`)
	refused(400, `{"field": 1}`, "is not a text")
	refused(400, `{"field": "body.price", "unsafe": "yes"}`, "unsafe: give true or false")
	refused(409, `{"field": "body.name"}`, "does not differ at", "it does at body.price")
	refused(409, `{"field": "body.price", "kind": "type"}`, "is of kind value")
	broken.Store(true)
	refused(409, `{"field": "body.price"}`, "nothing could be compared", "primary_refused")
	broken.Store(false)
	mended.Store(true)
	refused(409, `{"field": "body.price"}`, "does not show any more", "the candidate does not differ")
	r.do("PUT", "/api/v1/shadowing", `{"enabled": false}`)
	refused(409, `{"field": "body.price"}`, "switched off")
	if again := r.server.shrinking.Load() + r.server.asking.Load(); again != 0 {
		t.Errorf("%d places are not given back", again)
	}
}

func TestASampleInWhichTheControlDiffersAsWellIsNotShrunk(t *testing.T) {
	r := newAskRig(t, shop("1"), shop("2"), nil)
	r.send("GET", "/products", "")
	path := fmt.Sprintf("/api/v1/samples/%d/shrink", r.firstSample())
	mustHold(t, "noise", r.doAs(409, "POST", path, `{"field": "body.served"}`), "the control differs", "as well")
}

func TestShrinkingEndsWithItsCallerAndIsOneAtATime(t *testing.T) {
	arrived := make(chan struct{}, 1000)
	r := newAskRig(t, prices(nil), func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Hold") != "" {
			arrived <- struct{}{}
			<-r.Context().Done()
		}
		prices(func(*http.Request, string) bool { return true })(w, r)
	}, nil)
	r.send("GET", "/products?a=1", "")
	path := fmt.Sprintf("/api/v1/samples/%d/shrink", r.firstSample())
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		req, _ := http.NewRequestWithContext(ctx, "POST", r.admin.URL+path, strings.NewReader(`{"field": "body.price", "headers": {"X-Hold": "1"}}`))
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			resp.Body.Close()
		}
		done <- err
	}()
	<-arrived
	busy := r.do("POST", path, `{"field": "body.price"}`)
	if busy.status != http.StatusTooManyRequests || busy.header.Get("Retry-After") == "" {
		t.Errorf("%d %s", busy.status, busy.body)
	}
	cancel()
	if err := <-done; err == nil {
		t.Error("it was answered")
	}
	for r.server.shrinking.Load() > 0 { // it ends when the server has seen that the caller is gone
		r.get("/healthz")
	}
	if a := r.shrink(r.firstSample(), `{"field": "body.price"}`); len(a.Kept) > 0 || a.Request.Target != "/products" {
		t.Errorf("answer %+v", a)
	}
}

func TestWhatIsSmallestWhenShadowingEndsIsAnswered(t *testing.T) {
	var r *rig
	var asked atomic.Int32
	r = newAskRig(t, prices(nil), prices(func(*http.Request, string) bool {
		if asked.Add(1) == 7 { // the client's; two of the whole; two without parameters; then of the headers
			off := false
			r.proxy.SetShadowing(&off, nil)
		}
		return true
	}), nil)
	r.send("GET", "/products?a=1", "")
	a := r.shrink(r.firstSample(), `{"field": "body.price"}`)
	if a.Minimal || !strings.Contains(a.Stopped, "switched off") || a.Request.Target != "/products" || len(a.Request.Header) == 0 {
		t.Errorf("answer %+v", a)
	}
}

// Whatever is left out of a request, what is put together again is one, and nothing else of it has changed.
func FuzzARequestIsTakenApartAndPutTogether(f *testing.F) {
	for _, body := range []string{
		``, `1`, `"a\"b"`, `{"a": 1, "b" : [1, {"c":null} ,[]], "a":"\u00e9\\"}`, "[\n1,2 , 3 ]", `{"":{"x y":{}}}`, `not json`, `[[[[1]]]]`, ` {"a":1.50e3} `,
	} {
		f.Add(body, "/p?a=1&b&&c=%zz", uint64(0b1011010))
	}
	f.Fuzz(func(t *testing.T, body, target string, out uint64) {
		req := &multicast.Request{Method: "POST", Target: target, Header: http.Header{"A": {"1"}, "Host": {"x"}}, Body: []byte(body)}
		a := newAnatomy(req)
		if len(a.units) > mostUnits {
			t.Fatalf("%d parts", len(a.units))
		}
		gone := make([]bool, len(a.units))
		whole := a.without(gone)
		if whole.Target != target && whole.Target+"?" != target || string(whole.Body) != body || len(whole.Header) != 2 {
			t.Fatalf("%q %q became %q %q", target, body, whole.Target, whole.Body)
		}
		for i := range gone {
			gone[i] = out>>(i%64)&1 == 1
		}
		less := a.without(gone)
		if json.Valid([]byte(body)) && body != "" && !gone[a.bodyAt] && !json.Valid(less.Body) {
			t.Errorf("%q became %q without %v", body, less.Body, gone)
		}
		for i := range gone { // the value without any part is what is left of the value
			gone[i] = i == len(gone)-1 && a.bodyAt >= 0 && i > a.bodyAt
		}
		if slices.Contains(gone, true) {
			var before, after any
			if json.Unmarshal([]byte(body), &before) == nil && json.Unmarshal(a.without(gone).Body, &after) != nil {
				t.Errorf("%q became %q", body, a.without(gone).Body)
			}
		}
	})
}
