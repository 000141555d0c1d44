package web

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"shadowdiff/diff"
	"shadowdiff/multicast"
	"shadowdiff/normalize"
)

// newAskRig is a rig whose samples can be asked again.
func newAskRig(t *testing.T, primary, candidate http.HandlerFunc, change func(*Config)) *rig {
	t.Helper()
	r := newRig(t, primary, candidate, change)
	r.server.deps.Comparer = func() (*diff.Comparer, error) {
		rules, err := normalize.New(normalize.DefaultConfig())
		return diff.NewComparer(rules, new(normalize.Names), diff.DefaultLimits()), err
	}
	return r
}

// send has a client ask the front, and waits until that is kept. Headers are given as "Name: value".
func (r *rig) send(method, path, body string, headers ...string) {
	r.t.Helper()
	req, err := http.NewRequest(method, r.front.URL+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	<-r.delivered
	r.ask(0, "")
}

// firstSample is the id of the first that was kept.
func (r *rig) firstSample() int64 {
	r.t.Helper()
	var l list[sampleItem]
	r.decode(r.get("/api/v1/samples"), &l)
	if len(l.Items) == 0 {
		r.t.Fatal("nothing was kept")
	}
	return l.Items[len(l.Items)-1].ID
}

func (r *rig) decode(text string, into any) {
	r.t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		r.t.Fatalf("%v: %s", err, excerpt(text))
	}
}

// doAs is do for what must be answered so.
func (r *rig) doAs(status int, method, path, body string, headers ...string) string {
	r.t.Helper()
	a := r.do(method, path, body, headers...)
	if a.status != status {
		r.t.Fatalf("%s %s %s: %d, want %d: %s", method, path, body, a.status, status, a.body)
	}
	return a.body
}

// echo answers with the request's own headers, one of which it never shows.
func echo(word string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		known := r.Header.Get("Authorization") == "Bearer s3cret"
		fmt.Fprintf(w, `{"word":%q,"known":%t,"password":"hunter2","copy":%t}`, word, known, r.Header.Get("X-Shadow-Request") != "")
	}
}

func TestASampleIsAskedAgain(t *testing.T) {
	r := newAskRig(t, echo("old"), echo("new"), nil)
	r.send("GET", "/things/7?token=abc&n=1", "", "Authorization: Bearer s3cret", "X-Plain: kept")
	before, counters := r.get("/api/v1/equivalence"), r.proxy.Counts()
	path := fmt.Sprintf("/api/v1/samples/%d/ask", r.firstSample())

	var asked askAnswer
	text := r.doAs(200, "POST", path, "")
	r.decode(text, &asked)
	if asked.Result != diff.CandidateOnly || asked.Unknown != "" || !slices.Equal(asked.Fields, []string{"body.word"}) || asked.Route != "GET /things/{id}" {
		t.Errorf("answer %s", text)
	}
	if want := []string{"header.authorization", "query.token"}; !slices.Equal(asked.Redacted, want) {
		t.Errorf("redacted %v, want %v", asked.Redacted, want)
	}
	mustHold(t, "the answer", text, `\"known\":false`, `\"copy\":true`, `[redacted]`, `"X-Plain":["kept"]`)

	text = r.doAs(200, "POST", path, `{"headers": {"authorization": "Bearer s3cret", "X-Plain": null, "X-More": "hidden too"}}`)
	r.decode(text, &asked)
	mustHold(t, "the answer with a header", text, `\"known\":true`, `"X-More":["[redacted]"]`)
	for _, secret := range []string{"s3cret", "hunter2", "hidden too", "X-Plain"} {
		if strings.Contains(text, secret) {
			t.Errorf("the answer holds %q: %s", secret, text)
		}
	}
	if want := []string{"query.token"}; !slices.Equal(asked.Redacted, want) {
		t.Errorf("redacted %v, want %v", asked.Redacted, want)
	}
	if after := r.get("/api/v1/equivalence"); after != before {
		t.Errorf("counts have changed: %s", after)
	}
	if after := r.proxy.Counts(); after.Requests != counters.Requests || after.Exchanged != counters.Exchanged {
		t.Errorf("counters have changed: %+v", after)
	}
	if noise := r.get("/api/v1/suggestions"); !strings.Contains(noise, `"items":[]`) {
		t.Errorf("suggestions: %s", noise)
	}
}

func TestWhatCannotBeAskedAgainIsRefused(t *testing.T) {
	r := newAskRig(t, echo("old"), echo("new"), nil)
	r.send("GET", "/things/7", "")
	path := fmt.Sprintf("/api/v1/samples/%d/ask", r.firstSample())
	for body, want := range map[string]string{
		`{"header": {}}`:                                   `did you mean \"headers\"`,
		`{"headers": ["a"]}`:                               "give names with one text each",
		`{"headers": {"A": 1}}`:                            "give names with one text each",
		`{"headers": {"Host": "x"}}`:                       "Host cannot be changed",
		`{"headers": {"x-shadow-id": "x"}}`:                "X-Shadow-Id cannot be changed",
		`{"headers": {"a b": "x"}}`:                        "is no name of a header",
		`{"headers": {"A": "x\r\nB: y"}}`:                  "holds control characters",
		`[]`:                                               "not a JSON object",
		`{"headers": {"A": "1"}, "headers": {}}`:           "given twice",
		`{"headers": {` + many(addedMost+1) + `"Z":null}}`: "are too many",
	} {
		mustHold(t, body, r.doAs(400, "POST", path, body), want)
	}
	mustHold(t, "no such sample", r.doAs(404, "POST", "/api/v1/samples/99/ask", ""), "not kept")
	mustHold(t, "another method", r.doAs(409, "POST", path, `{"headers": {"X-HTTP-Method-Override": "DELETE"}}`), "not a method that may be shadowed")
	r.do("PUT", "/api/v1/shadowing", `{"enabled": false}`)
	mustHold(t, "switched off", r.doAs(409, "POST", path, ""), "switched off")
	mustHold(t, "from another site", r.doAs(403, "POST", path, "", "Sec-Fetch-Site: cross-site"), "403")
	r.server.deps.Comparer = nil
	mustHold(t, "no comparer", r.doAs(409, "POST", path, ""), "cannot ask again")
}

func many(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"X-%d":"",`, i)
	}
	return b.String()
}

func TestAskingAgainIsAWrite(t *testing.T) {
	r := newAskRig(t, echo("old"), echo("new"), func(c *Config) { c.ReadOnly = true })
	r.send("GET", "/things/7", "")
	for _, what := range []string{"ask", "shrink"} {
		mustHold(t, what, r.doAs(403, "POST", fmt.Sprintf("/api/v1/samples/%d/%s", r.firstSample(), what), `{}`), "read_only")
	}
}

func TestARequestThatWasNotKeptWholeIsNotAskedAgain(t *testing.T) {
	r := newAskRig(t, echo("old"), echo("new"), nil)
	cfg := r.cfg
	cfg.Methods, cfg.Shadow.MaxRequestBody = []string{"POST"}, 8*multicast.MiB
	if err := r.proxy.Reconfigure(cfg, nil); err != nil {
		t.Fatal(err)
	}
	r.send("POST", "/long", `{"text": "`+strings.Repeat("x", 2<<20)+`"}`, "Content-Type: application/json")
	mustHold(t, "cut", r.doAs(409, "POST", fmt.Sprintf("/api/v1/samples/%d/ask", r.firstSample()), ""), "cannot be asked again")
}

func TestOnlyTwoSamplesAreAskedAgainAtOneTime(t *testing.T) {
	arrived, free := make(chan struct{}, 100), make(chan struct{})
	r := newAskRig(t, echo("old"), func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Hold") != "" {
			arrived <- struct{}{}
			<-free
		}
		echo("new")(w, r)
	}, nil)
	r.send("GET", "/things/7", "")
	path := fmt.Sprintf("/api/v1/samples/%d/ask", r.firstSample())
	var asking sync.WaitGroup
	for range maxAsking {
		asking.Go(func() {
			if a := r.do("POST", path, `{"headers": {"X-Hold": "1"}}`); a.status != 200 {
				t.Errorf("%d %s", a.status, a.body)
			}
		})
	}
	for range maxAsking {
		<-arrived
	}
	a := r.do("POST", path, "")
	if a.status != http.StatusTooManyRequests || a.header.Get("Retry-After") == "" {
		t.Errorf("%d %v %s", a.status, a.header, a.body)
	}
	close(free)
	asking.Wait()
	r.doAs(200, "POST", path, "")
}

func TestAnAnswerThatNeverCameIsToldOf(t *testing.T) {
	refuses := make(chan bool, 100)
	r := newAskRig(t, func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-refuses:
			w.WriteHeader(503)
		default:
			echo("old")(w, r)
		}
	}, echo("new"), nil)
	r.send("GET", "/things/7", "")
	path := fmt.Sprintf("/api/v1/samples/%d/ask", r.firstSample())
	refuses <- true
	refuses <- true
	var asked askAnswer
	r.decode(r.doAs(200, "POST", path, ""), &asked)
	if asked.Unknown != multicast.ReasonPrimaryRefused || asked.Result != "" || asked.Responses["primary"].Status != 503 {
		t.Errorf("answer %+v", asked)
	}
}
