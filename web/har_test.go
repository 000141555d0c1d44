package web

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"shadowdiff/multicast"
	"shadowdiff/store"
)

// harSchema is the published schema of HAR 1.2.
func harSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	files, err := filepath.Glob("testdata/har/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal("no schema", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		schema.(map[string]any)["$id"] = "https://har.example/" + filepath.Base(file)
		if err := c.AddResource("https://har.example/"+filepath.Base(file), schema); err != nil {
			t.Fatal(err)
		}
	}
	return c.MustCompile("https://har.example/har.json")
}

// validHAR holds a text against the schema, and to what the schema leaves to words: names that the format does not have
// begin with _.
func validHAR(t *testing.T, schema *jsonschema.Schema, text string) {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%v in %.500s", err, text)
	}
	if err := schema.Validate(v); err != nil {
		t.Errorf("%v in %.2000s", err, text)
	}
	known := strings.Fields("log version creator browser pages entries comment name startedDateTime time request response cache timings " +
		"serverIPAddress connection pageref method url httpVersion cookies headers queryString postData headersSize bodySize status statusText " +
		"content redirectURL value path domain expires httpOnly secure mimeType params text fileName contentType size compression encoding " +
		"send wait receive blocked dns connect ssl")
	names := map[string]bool{}
	for _, name := range known {
		names[name] = true
	}
	var walk func(at string, v any)
	walk = func(at string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for name, inner := range v {
				if strings.HasPrefix(name, "_") {
					continue
				}
				if !names[name] {
					t.Errorf("%s.%s is no name of HAR 1.2", at, name)
				}
				walk(at+"."+name, inner)
			}
		case []any:
			for _, inner := range v {
				walk(at, inner)
			}
		}
	}
	walk("", v)
}

// harRead is a file as a reader takes it.
type harRead struct {
	Log struct {
		Version string
		Creator harCreator
		Entries []struct {
			harEntry
			Differs []map[string]any `json:"_differences"`
		}
	}
}

func TestAnExportedSampleIsAHAR(t *testing.T) {
	schema := harSchema(t)
	r := newRig(t, shop("1"), shop("2"), nil)
	r.ask(2, "/products/1?token=hidden&q=a%20b+c&%zz=1&empty&x={y}")
	a := r.do(http.MethodGet, "/api/v1/samples/1/har", "")
	validHAR(t, schema, a.body)
	if a.header.Get("Content-Type") != "application/json" || a.header.Get("Content-Disposition") != "attachment; filename*=UTF-8''shadowdiff-sample-1.har" {
		t.Errorf("%v", a.header)
	}
	var f harRead
	decode(t, a.body, &f)
	if len(f.Log.Entries) != 3 || f.Log.Version != "1.2" || f.Log.Creator != (harCreator{"shadowdiff", "test"}) {
		t.Fatalf("%+v", f.Log)
	}
	for i, role := range []string{"primary", "secondary", "candidate"} {
		e := &f.Log.Entries[i]
		if e.Role != role || e.Sample != 1 || e.Route != "GET /products/{id}" || e.Response.Status != 200 || e.Response.Content.MimeType != "application/json" ||
			!strings.Contains(e.Response.Content.Text, `"price":`) || e.Time <= 0 || e.Time != e.Timings.Wait {
			t.Errorf("%s: %+v", role, e)
		}
	}
	candidate := &f.Log.Entries[2]
	if want := r.now().Targets.Candidate + "/products/1?token=%5Bredacted%5D&q=a%20b+c&%25zz=1&empty&x=%7By%7D"; candidate.Request.URL != want {
		t.Errorf("URL %s, want %s", candidate.Request.URL, want)
	}
	query, _ := json.Marshal(candidate.Request.Query)
	if string(query) != `[{"name":"token","value":"[redacted]"},{"name":"q","value":"a b c"},{"name":"%zz","value":"1"},{"name":"empty","value":""},{"name":"x","value":"{y}"}]` {
		t.Errorf("query %s", query)
	}
	if len(candidate.Differs) == 0 || len(f.Log.Entries[0].Differs) != 0 {
		t.Errorf("differences: %+v", candidate.Differs)
	}
	list := r.do(http.MethodGet, "/api/v1/samples?format=har&limit=1&result=candidate_only", "")
	validHAR(t, schema, list.body)
	all := r.do(http.MethodGet, "/api/v1/samples?format=har", "")
	validHAR(t, schema, all.body)
	decode(t, all.body, &f)
	if len(f.Log.Entries) != 6 || all.header.Get("Link") != "" {
		t.Errorf("%d entries of two samples, Link %q", len(f.Log.Entries), all.header.Get("Link"))
	}
	if strings.Contains(a.body+all.body, "hidden") {
		t.Error("the token is shown")
	}
}

// What does not fit one file is in those that follow, each sample once.
func TestAHARGoesOnInTheNextOne(t *testing.T) {
	r := newRig(t, shop("1"), shop("2"), nil)
	r.ask(5, "/products/1")
	seen := map[int64]int{}
	path := "/api/v1/samples?format=har&limit=2"
	files := 0
	for ; path != "" && files < 10; files++ {
		a := r.do(http.MethodGet, path, "")
		var f harRead
		decode(t, a.body, &f)
		for _, e := range f.Log.Entries {
			seen[e.Sample]++
		}
		path = ""
		if link, ok := strings.CutPrefix(a.header.Get("Link"), "<"); ok {
			path = strings.TrimSuffix(link, `>; rel="next"`)
		}
	}
	var list list[sampleItem]
	decode(t, r.get("/api/v1/samples"), &list)
	if len(seen) != len(list.Items) || len(seen) < 3 || files != (len(seen)+1)/2 {
		t.Errorf("%d files with %v, of %d samples", files, seen, len(list.Items))
	}
	for id, entries := range seen {
		if entries != 3 {
			t.Errorf("sample %d has %d entries", id, entries)
		}
	}
}

// Answers of every sort make a valid file: failed ones, bytes that are no text, bodies that were not kept.
func TestAHARHoldsEveryAnswer(t *testing.T) {
	schema := harSchema(t)
	r := newRig(t, shop("1"), shop("2"), nil)
	sample := &store.Sample{ID: 3, Exchange: "x", Time: time.Unix(1e9, 0).UTC(), Route: "POST /ü", Result: "both"}
	sample.Request = multicast.Request{
		Method: "POST", Target: "/ü b\"<>?q=\xff", Host: "h", Body: []byte("\xff\x00"), Header: http.Header{"Cookie": {"a=b; c=d"}, "X-Odd": {"\xff"}},
	}
	sample.RequestCut = true
	sample.Responses[multicast.Primary] = multicast.Response{
		Outcome: "ok", Status: 200, Body: []byte("\x00\xfe"), Size: 2, Header: http.Header{"Set-Cookie": {"sid=1; Path=/; HttpOnly; Secure", "broken"}, "Location": {"/x"}},
	}
	sample.Responses[multicast.Secondary] = multicast.Response{Outcome: "timeout", Detail: "no answer within 5s"}
	sample.Responses[multicast.Candidate] = multicast.Response{Outcome: "ok", Status: 599, Over: true, Size: 1 << 30}
	text, err := encode(r.server.harOf([]*store.Sample{sample, {ID: 4}}))
	if err != nil {
		t.Fatal(err)
	}
	validHAR(t, schema, string(text))
	var f harRead
	decode(t, string(text), &f)
	if len(f.Log.Entries) != 3 {
		t.Fatalf("%d entries", len(f.Log.Entries))
	}
	p, s, c := f.Log.Entries[0], f.Log.Entries[1].Response, f.Log.Entries[2].Response
	if p.Request.PostData == nil || p.Request.PostData.Text != "/wA=" || p.Request.PostData.Encoding != "base64" || len(p.Request.Cookies) != 2 ||
		p.Response.Content.Text != "AP4=" || p.Response.Content.Encoding != "base64" || len(p.Response.Cookies) != 1 || p.Response.RedirectURL != "/x" {
		t.Errorf("primary %+v", p)
	}
	if s.Status != 0 || s.Error != "timeout: no answer within 5s" || c.Content.Size != 1<<30 || !strings.Contains(c.Content.Comment, "SHA-256 0000") {
		t.Errorf("shadows %+v, %+v", s, c)
	}
}

// FuzzURI: whatever clients send becomes a URI that can be read.
func FuzzURI(f *testing.F) {
	for _, seed := range []string{"/a b", "/%", "/%2", "/%2f%", "/\x00\xff", "/[::1]", "//x:y@z", "/ü?#"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, part string) {
		got := uri(part)
		u, err := url.Parse("http://h/" + got)
		if err != nil {
			t.Fatalf("%q became %q: %v", part, got, err)
		}
		if u.Fragment != "" || u.Host != "h" {
			t.Errorf("%q became %q, with the host %q and the fragment %q", part, got, u.Host, u.Fragment)
		}
		if again := uri(got); again != got {
			t.Errorf("%q became %q, and that %q", part, got, again)
		}
		for _, pair := range harQuery(part) {
			if pair.Name == "" && pair.Value == "" && !strings.Contains(part, "=") {
				t.Errorf("%q holds an empty parameter", part)
			}
		}
	})
}
