package web

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"testing"
)

// uncompressed asks without compression, which Go's client would else ask for and undo by itself.
const uncompressed = "Accept-Encoding: identity"

// An answer made of a snapshot is known by its tag until the snapshot is another, however the tag is offered.
func TestAnAnswerThatIsKnownIsNotSentAgain(t *testing.T) {
	r := newRig(t, shop("1"), shop("2"), nil)
	r.ask(3, "/products/1")
	for _, path := range []string{
		"/api/v1/equivalence", "/api/v1/equivalence?route=GET+/products/{id}", "/api/v1/routes", "/api/v1/fields?limit=2",
		"/api/v1/fields?format=csv", "/api/v1/suggestions", "/openapi.yaml",
	} {
		first := r.do(http.MethodGet, path, "", uncompressed)
		tag := first.header.Get("ETag")
		if first.status != http.StatusOK || !strings.HasPrefix(tag, `"`) || first.header.Get("Cache-Control") != "no-cache" ||
			!strings.Contains(strings.Join(first.header.Values("Vary"), ","), "Accept-Encoding") {
			t.Errorf("%s: %d, ETag %q, Cache-Control %q, Vary %q", path, first.status, tag, first.header.Get("Cache-Control"), first.header.Values("Vary"))
			continue
		}
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			for _, offer := range []string{tag, "W/" + tag, `"other", W/"more" ,` + tag, `"a,b",` + tag, "*"} {
				a := r.do(method, path, "", uncompressed, "If-None-Match: "+offer)
				if a.status != http.StatusNotModified || a.body != "" || a.header.Get("ETag") != tag || a.header.Get("Cache-Control") != "no-cache" {
					t.Errorf("%s %s with %s: %d %q, ETag %q", method, path, offer, a.status, a.body, a.header.Get("ETag"))
				}
			}
			for _, offer := range []string{`"other"`, tag[1 : len(tag)-1], `"` + tag, tag[:len(tag)-1]} {
				if a := r.do(method, path, "", uncompressed, "If-None-Match: "+offer); a.status != http.StatusOK {
					t.Errorf("%s %s with %s: %d", method, path, offer, a.status)
				}
			}
		}
	}
	before := r.do(http.MethodGet, "/api/v1/routes", "", uncompressed).header.Get("ETag")
	if other := r.do(http.MethodGet, "/api/v1/routes?limit=3", "", uncompressed).header.Get("ETag"); other == before {
		t.Errorf("other parameters have the same tag %s", before)
	}
	r.ask(1, "/products/1")
	a := r.do(http.MethodGet, "/api/v1/routes", "", uncompressed, "If-None-Match: "+before)
	if a.status != http.StatusOK || a.header.Get("ETag") == before || !strings.Contains(a.body, `"compared":4`) {
		t.Errorf("after another request: %d, ETag %s, %s", a.status, a.header.Get("ETag"), a.body)
	}
	for _, path := range []string{"/api/v1/routes?limit=0", "/api/v1/equivalence?since=1h", "/api/v1/counters", "/api/v1/samples"} {
		if a := r.do(http.MethodGet, path, "", uncompressed); a.header.Get("ETag") != "" || a.header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: ETag %q, Cache-Control %q", path, a.header.Get("ETag"), a.header.Get("Cache-Control"))
		}
	}
}

// The same answer in two codings has two tags, each good for its own.
func TestCompressedAnswersHaveTagsOfTheirOwn(t *testing.T) {
	r := newRig(t, shop("1"), shop("2"), nil)
	r.ask(3, "/products/1")
	for _, path := range []string{"/api/v1/equivalence", "/api/v1/suggestions", "/openapi.yaml", "/api/v1/fields?format=csv"} {
		packed := r.do(http.MethodGet, path, "", "Accept-Encoding: br;q=1.0, gzip;q=0.8")
		as := r.do(http.MethodGet, path, "", uncompressed)
		if packed.header.Get("Content-Encoding") != "gzip" || as.header.Get("Content-Encoding") != "" {
			t.Errorf("%s: codings %q and %q", path, packed.header.Get("Content-Encoding"), as.header.Get("Content-Encoding"))
			continue
		}
		in, err := gzip.NewReader(strings.NewReader(packed.body))
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(in)
		if err != nil || !bytes.Equal(text, []byte(as.body)) {
			t.Errorf("%s: %v, compressed it is\n%s\nelse\n%s", path, err, text, as.body)
		}
		tag := packed.header.Get("ETag")
		if tag == as.header.Get("ETag") {
			t.Errorf("%s: both codings have the tag %s", path, tag)
		}
		if a := r.do(http.MethodGet, path, "", "Accept-Encoding: gzip", "If-None-Match: "+tag); a.status != http.StatusNotModified || a.header.Get("ETag") != tag {
			t.Errorf("%s, compressed, known: %d, ETag %s", path, a.status, a.header.Get("ETag"))
		}
		if a := r.do(http.MethodGet, path, "", uncompressed, "If-None-Match: "+tag); a.status != http.StatusOK {
			t.Errorf("%s, with the tag of the other coding: %d", path, a.status)
		}
	}
	small := r.do(http.MethodGet, "/api/v1/shadowing", "", "Accept-Encoding: gzip")
	if small.header.Get("Content-Encoding") != "" || small.body != `{"enabled":true,"sample":"100%"}`+"\n" {
		t.Errorf("a small answer: %q %q", small.header.Get("Content-Encoding"), small.body)
	}
}

func TestWhoTakesGzip(t *testing.T) {
	for line, takes := range map[string]bool{
		"": false, "gzip": true, "GZIP ; q=1": true, "x-gzip": true, "br": false, "br, gzip;q=0.1": true, "gzip;q=0": false, "gzip;q=0.000": false,
		"*": true, "*;q=0": false, "*, gzip;q=0": false, "gzip;q=0, *": false, "*;q=0, gzip": true, "identity": false, "gzip;q=x": false, "gzipped": false,
	} {
		if got := acceptsGzip(http.Header{"Accept-Encoding": {line}}); got != takes {
			t.Errorf("%q: %t", line, got)
		}
	}
}

// Whatever a header holds, a tag is found if and only if it stands there whole.
func FuzzIfNoneMatch(f *testing.F) {
	for _, seed := range []string{`"a"`, `W/"a"`, `"b", "a"`, `"a`, `*`, `"b""a"`, `,,"a"`, `"b",*`, "\"a\"\t,", `w/"a"`} {
		f.Add(seed, "a")
	}
	f.Fuzz(func(t *testing.T, line, state string) {
		if strings.ContainsAny(state, "\"\x00") {
			return
		}
		tag := `"` + state + `"`
		if tagListed([]string{line}, tag) && strings.TrimSpace(line) != "*" && !strings.Contains(line, tag) {
			t.Errorf("%q is found in %q", tag, line)
		}
		if !strings.ContainsAny(line, `"*`) && line == "" && tagListed([]string{line}, tag) {
			t.Errorf("%q is found in nothing", tag)
		}
		for _, list := range []string{tag, "W/" + tag, `"",W/"x" , ` + tag + " , " + line} {
			if !tagListed([]string{list}, tag) {
				t.Errorf("%q is not found in %q", tag, list)
			}
		}
	})
}
