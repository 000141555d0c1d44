package web

import (
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

const formType = "Content-Type: application/x-www-form-urlencoded"

// says answers with a text of a type.
func says(kind, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		_, _ = w.Write([]byte(text))
	}
}

// manyItems is JSON of many lines, in which one price may be another.
func manyItems(price string) string {
	var b strings.Builder
	b.WriteString(`{"items":[`)
	for i := range 3000 {
		p := "1.5"
		if i == 2000 {
			p = price
		}
		fmt.Fprintf(&b, `{"id":%d,"price":%s},`, i, p)
	}
	return b.String() + `{"id":"last"}]}`
}

// Of a long body a page shows what differs, and has links to all the rest: followed one by one, they miss no line.
func TestALongBodyIsOnePageAndLinks(t *testing.T) {
	r := newRig(t, says("application/json", manyItems("1.5")), says("application/json", manyItems("2.5")), nil)
	r.ask(1, "/items")
	page := r.get("/samples/1")
	mustHold(t, "the page", page, `href="#d1"`, `id="d1"`, "/items/2000/price", "12,007 lines", "8,000 equal lines")
	if len(page) > 300_000 {
		t.Errorf("the page has %d bytes", len(page))
	}
	link := regexp.MustCompile(`hx-get="([^"]+/lines[^"]*)"`)
	first := link.FindStringSubmatch(page)
	if first == nil {
		t.Fatalf("no link to the lines of a fold:\n%s", excerpt(page))
	}
	seen, next := 0, strings.ReplaceAll(first[1], "&amp;", "&")
	for range 100 {
		part := r.get(next)
		seen += strings.Count(part, `class="line`)
		if strings.Contains(part, "<html") || len(part) > 300_000 {
			t.Fatalf("%s is no part of a page: %d bytes", next, len(part))
		}
		found := link.FindStringSubmatch(part)
		if found == nil {
			break
		}
		next = strings.ReplaceAll(found[1], "&amp;", "&")
	}
	if seen != 8000 {
		t.Errorf("%d lines behind the first fold, want those of 2,000 items", seen)
	}
	mustHold(t, "a page with lines opened", r.get("/samples/1?open=100-120"), `id="l110"`)
	if a := r.do(http.MethodGet, "/samples/1?open=9-1", ""); a.status != http.StatusBadRequest {
		t.Errorf("lines in the wrong order: %d", a.status)
	}
}

// Each kind of body is laid out as what it is compared as.
func TestBodiesOfEachKind(t *testing.T) {
	for name, c := range map[string]struct{ kind, primary, candidate, holds string }{
		"HTML":  {"text/html", "<p>one</p><p>two</p>", "<p>one</p><p>six</p>", "as HTML"},
		"XML":   {"application/xml", "<a><b>1</b></a>", "<a><b>2</b></a>", "as XML"},
		"form":  {"application/x-www-form-urlencoded", "a=1&b=2", "a=1&b=3", "as a form"},
		"bytes": {"image/png", "\x89PNG\r\n\x1a\n\x00\x01" + strings.Repeat("\x00", 600), "\x89PNG\r\n\x1a\n\x00\x01" + strings.Repeat("\x00", 599) + "\x01", "The first byte that differs is at 609 (0x261)."},
		"text":  {"text/plain", "a\nb\nc\nd\ne\nf\ng\nh\ni\nj", "a\nb\nc\nd\ne\nf\ng\nh\ni\nk", `data-no="10"`},
		"lines": {"application/x-ndjson", "{\"a\":1}\n{\"a\":2}", "{\"a\":1}\n{\"a\":3}", "/1/a"},
		"long":  {"application/json", `{"a":"` + strings.Repeat("x", 9000) + `A"}`, `{"a":"` + strings.Repeat("x", 9000) + `B"}`, "x<mark>B</mark>"},
		"none":  {"application/json", `{"a":1}`, "", "no-candidate"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, says(c.kind, c.primary), says(c.kind, c.candidate), nil)
			r.ask(1, "/x")
			mustHold(t, name, r.get("/samples/1"), c.holds, "<h1")
			mustHold(t, name+", raw", r.get("/samples/1?view=raw"), "HTTP/1.1 200 OK", "/samples/1/body?role=candidate")
			if file := r.do(http.MethodGet, "/samples/1/body?role=primary", ""); file.body != c.primary ||
				!strings.HasPrefix(file.header.Get("Content-Disposition"), "attachment") {
				t.Errorf("the file holds %q, %v", file.body, file.header)
			}
		})
	}
}

// The page asks again as the API does, and says what has changed.
func TestThePageAsksAgain(t *testing.T) {
	r := newAskRig(t, echo("old"), echo("new"), nil)
	r.send("GET", "/things/7?token=abc&n=1", "", "Authorization: Bearer s3cret")
	at := samplePath(r.firstSample())
	mustHold(t, "the sample", r.get(at), "Ask the three now", "header.authorization", "query.token", `<th scope="row">n</th>`, "redacted</span>")

	form := url.Values{"headers": {"Authorization: Bearer s3cret\nX-Plain:"}}.Encode()
	page := r.doAs(200, "POST", at+"/ask", form, formType)
	mustHold(t, "the answer", page, "Asked again just now", "The candidate still stands alone at body.word.", `id="again"`)
	if strings.Contains(page, "s3cret") || strings.Contains(page, "hx-get") && strings.Contains(page, `id="live" hx-get`) {
		t.Error("the page of new answers shows the token, or fetches itself again")
	}
	mustHold(t, "no header", r.doAs(400, "POST", at+"/ask", "headers=nonsense", formType), "is not of the form", "Sample")
	mustHold(t, "a header that may not be changed", r.doAs(400, "POST", at+"/ask", "headers=Host:+x", formType), "Host cannot be changed")
	r.do("PUT", "/api/v1/shadowing", `{"enabled": false}`)
	mustHold(t, "switched off", r.doAs(409, "POST", at+"/ask", "", formType), "switched off", `role="alert"`)
	mustHold(t, "come back to", r.get(at+"/ask"), "Ask the three now")
}

// The page makes a request smaller as the API does.
func TestThePageShrinks(t *testing.T) {
	r := newAskRig(t, prices(nil), prices(func(r *http.Request, _ string) bool { return r.URL.Query().Get("currency") == "EUR" }), nil)
	r.send("GET", "/products?a=1&currency=EUR&b=2", "")
	at := samplePath(r.firstSample())
	page := r.doAs(200, "POST", at+"/shrink", "field=body.price", formType)
	mustHold(t, "the answer", page, "The difference needs query.currency, and nothing else.", "/products?currency=EUR", "least-curl", "query.a")
	if strings.Contains(page, "not asked") {
		t.Error("what the smallest request got is not told")
	}
	mustHold(t, "another field", r.doAs(409, "POST", at+"/shrink", "field=body.name", formType), "does not differ at", `role="alert"`)
}

// Read only, the forms say so; what is not there says when samples go.
func TestWhatASamplePageCannotDo(t *testing.T) {
	r := newAskRig(t, echo("old"), echo("new"), func(c *Config) { c.ReadOnly = true })
	r.send("GET", "/things/7", "")
	at := samplePath(r.firstSample())
	mustHold(t, "read only", r.get(at), "web.read_only is set", "shadowdiff diff -case shadowdiff-sample-1.case.json")
	if a := r.do("POST", at+"/ask", "", formType); a.status != http.StatusForbidden {
		t.Errorf("asked again though read only: %d", a.status)
	}
	mustHold(t, "gone", r.doAs(404, "GET", "/samples/4711", "", "Accept: text/html"), "store.keep_samples", "Samples that are kept", "sample 4711")
}

// Bytes are told apart by how many they are and the beginning of their hash.
func TestSampleOfBytes(t *testing.T) {
	r := newRig(t, says("image/png", "\x00\x01"), says("image/png", "\x00\x02"), nil)
	r.ask(1, "/logo.png")
	mustHold(t, "the sentence", r.get("/samples/1"), "The candidate alone has 2 bytes (sha256 fcf0a6c7…) at body, where the primary has 2 bytes (sha256 b413f47d…).")
}

// One goes from sample to sample of a field, and is told why a difference is noise.
func TestFromSampleToSample(t *testing.T) {
	r := newRig(t, shop("1"), shop("2"), nil)
	for range 3 { // asked at once they may be compared in another order
		r.ask(1, "/products/1")
	}
	page := r.get("/samples/2?field=body.price")
	mustHold(t, "the second", page, "/samples/3?field=body.price", "/samples/1?field=body.price", `rel="prev"`, `rel="next"`,
		"why noise?", "so this is no sign of the new code", "/rules?draft=", "Of 3 requests of this route, the control differs here in 3, the candidate in 3.")
}

// Whatever answers hold, their pages have it as text alone.
func FuzzSamplePage(f *testing.F) {
	server := &Server{pages: parsePages()}
	f.Add("application/json", `{"<b>":"<script>"}`, `{"<b>":"<img src=x>"}`)
	f.Add("text/html", "<p onclick=x>a</p>", "<script>alert(1)</script>")
	f.Add("image/png", "\x00\xff", "\x00<script>")
	f.Add("text/plain", "a\xff\n<script>", "'\"><script>")
	f.Fuzz(func(t *testing.T, kind, primary, candidate string) {
		sample := compared(t, primary, primary, candidate)
		for i := range sample.Responses {
			sample.Responses[i].Header = http.Header{"Content-Type": {kind}, "X-Kind": {primary}}
		}
		for _, view := range []string{"", viewText, viewRaw} {
			laid, err := layOut(sample, view)
			if err != nil {
				t.Fatal(err)
			}
			page := samplePageOf(sample, nil)
			page.Body = server.bodyView(sample, laid, window{}, view, linesAt{path: "/samples/1"})
			for _, p := range placesViewOf(sample) {
				page.Places = append(page.Places, placeRow{placeView: p})
			}
			var b strings.Builder
			if err := server.pages.sets["sample"].ExecuteTemplate(&b, "main", page); err != nil {
				t.Fatal(err)
			}
			if found := regexp.MustCompile(`(?i)<(script|img|iframe|[^>]*\son[a-z]+\s*=\s*[^"' >])`).FindString(b.String()); found != "" {
				t.Errorf("%q is markup on the page", found)
			}
		}
	})
}

// Where one side has no JSON, the JSON of the others has a line for each value, and its text stays as it was sent.
func TestJSONBesideTextIsLaidOut(t *testing.T) {
	const sent = `{"id":1.50,"tags":["a","b"]}`
	says := func(body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }
	}
	r := newRig(t, says(sent), says("out of order"), nil)
	r.ask(1, "/products/1")
	page := html.UnescapeString(r.get(samplePath(r.firstSample())))
	mustHold(t, "the sample", page, `"id": 1.50,`, "Not all of these bodies are JSON", "out of order", `data-no="6"`)
}
