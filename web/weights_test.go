package web

import (
	"bytes"
	"compress/gzip"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"shadowdiff/diff"
	"shadowdiff/multicast"
	"shadowdiff/store"
)

// Scripts come over slow lines, too: all that there are, those of single pages included, are less than 150 KB.
func TestScriptsAreLight(t *testing.T) {
	total := 0
	err := fs.WalkDir(staticFiles, "static", func(at string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(at, ".js") {
			return err
		}
		body, err := staticFiles.ReadFile(at)
		if err != nil {
			return err
		}
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		_, _ = z.Write(body)
		_ = z.Close()
		t.Logf("%-40s %6d, packed %6d", at, len(body), packed.Len())
		total += packed.Len()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if total == 0 || total >= 150_000 {
		t.Errorf("all scripts are %d bytes, packed", total)
	}
}

// However much there is, a page shows what fits one: the overview of 1,000 routes, and a route and a field of a great many
// requests.
func TestPagesAreLight(t *testing.T) {
	upstream := multicast.DefaultConfig()
	upstream.Primary, upstream.Secondary, upstream.Candidate = "http://127.0.0.1:1", "http://127.0.0.1:2", "http://127.0.0.1:3"
	proxy, err := multicast.New(upstream, multicast.Deps{Log: quiet(), Deliver: func() multicast.Deliver { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	cfg := store.DefaultConfig()
	cfg.Path = t.TempDir() + "/wide.db"
	db, err := store.Open(cfg, store.Deps{Log: quiet(), Judge: diff.DefaultConfig()})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	run, err := db.StartRun("v2.3.1", store.Fingerprint{Candidate: upstream.Candidate})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	for route := range monthRoutes {
		for i := range 4 {
			db.Record(run.ID, differing(route, 3*i, 3, now))
		}
	}
	for i := range 20_000 { // of one route
		db.Record(run.ID, differing(500, i, 3, now))
	}
	if err := db.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	now0 := Instance{Targets: Targets{Primary: upstream.Primary, Candidate: upstream.Candidate}, Phase: PhaseServing}
	s := New(DefaultConfig(), Deps{Log: quiet(), DB: db, Proxy: proxy, Instance: func() Instance { return now0 }, Judge: diff.DefaultConfig})
	if n := len(db.Snapshot().Tallies.Routes); n != monthRoutes {
		t.Fatalf("%d routes", n)
	}
	const route = "GET /service-500/{id}/items"
	for _, path := range []string{"/", routePath(route), fieldPath(route, "body.items[].attribute_100"), "/fields", "/samples"} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.Host = "127.0.0.1:8881"
		began := time.Now()
		s.Handler().ServeHTTP(w, r)
		t.Logf("%-60.60s %6d bytes, %s", path, w.Body.Len(), time.Since(began).Round(time.Millisecond))
		if w.Code != http.StatusOK || w.Body.Len() >= 300_000 {
			t.Errorf("%s: %d, %d bytes", path, w.Code, w.Body.Len())
		}
	}
}
