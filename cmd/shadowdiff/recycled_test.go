package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"shadowdiff/diff"
	"shadowdiff/multicast"
	"shadowdiff/normalize"
	"shadowdiff/store"
)

// The proxy uses the room of captured bodies again as soon as an exchange was recorded, and in a build with the race
// detector overwrites it before. So whatever is kept of an exchange must be a copy: each sample has its own bodies, byte for
// byte, and no difference shows another's.
func TestNothingKeptOfAnExchangeIsOverwritten(t *testing.T) {
	answer := func(role string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, recycledBody(role, r.URL.Path)) }
	}
	cfg := multicast.DefaultConfig()
	for role, address := range map[string]*string{"primary": &cfg.Primary, "secondary": &cfg.Secondary, "candidate": &cfg.Candidate} {
		server := httptest.NewServer(answer(role))
		t.Cleanup(server.Close)
		*address = server.URL
	}
	cfg.Shadow.Queue = 1000
	front, db, stop := recycledPipeline(t, cfg)
	const clients, each = 4, 60
	var all sync.WaitGroup
	for i := range clients {
		all.Go(func() {
			for j := range each {
				path := fmt.Sprintf("/%c%d", 'a'+i, j%7)
				res, err := http.Get(front + path)
				if err != nil {
					t.Error(err)
					return
				}
				body, err := io.ReadAll(res.Body)
				_ = res.Body.Close()
				if err != nil || string(body) != recycledBody("primary", path) {
					t.Errorf("%s: the client got %.60q, %v", path, body, err)
				}
			}
		})
	}
	all.Wait()
	stop()
	samples, _, err := db.Samples(t.Context(), store.Filter{Limit: 100})
	if err != nil || len(samples) == 0 {
		t.Fatalf("%d samples, %v", len(samples), err)
	}
	for _, listed := range samples {
		sample, err := db.Sample(t.Context(), listed.ID)
		if err != nil {
			t.Fatal(err)
		}
		path := sample.Request.Target
		for role, res := range sample.Responses {
			if want := recycledBody(multicast.Role(role).String(), path); string(res.Body) != want {
				t.Errorf("%s: of the %s is kept %.60q", path, multicast.Role(role), res.Body)
			}
		}
		for _, d := range sample.Candidate {
			if shown := fmt.Sprintf("%+v", d); !strings.Contains(shown, "candidate of "+path) {
				t.Errorf("%s: the difference shown is %.200s", path, shown)
			}
		}
	}
}

// recycledBody is what one instance answers: some kilobytes, in which the candidate differs.
func recycledBody(role, path string) string {
	name := "known"
	if role == "candidate" {
		name = "candidate"
	}
	return fmt.Sprintf(`{"name":"%s of %s","filler":"%s"}`, name, path, strings.Repeat(path, 500))
}

// recycledPipeline is the product without its pages; stop ends it when all is recorded.
func recycledPipeline(t *testing.T, cfg multicast.Config) (front string, db *store.DB, stop func()) {
	normalizer, err := normalize.New(normalize.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	stored := store.DefaultConfig()
	stored.Path = filepath.Join(t.TempDir(), "test.db")
	if db, err = store.Open(stored, store.Deps{Judge: diff.DefaultConfig()}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	run, err := db.StartRun("", store.Fingerprint{Candidate: cfg.Candidate, Rules: normalizer.Fingerprint()})
	if err != nil {
		t.Fatal(err)
	}
	comparer := diff.NewComparer(normalizer, new(normalize.Names), diff.DefaultLimits())
	deliver := func(ex *multicast.Exchange) { db.Record(run.ID, comparer.Compare(ex)) }
	proxy, err := multicast.New(cfg, multicast.Deps{Deliver: func() multicast.Deliver { return deliver }})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	ctx, cancel := context.WithCancel(context.Background())
	var proxying, writing sync.WaitGroup
	proxying.Go(func() { _ = proxy.Run(ctx) })
	writing.Go(func() { _ = db.Run(ctx) })
	<-proxy.Running()
	return server.URL, db, func() {
		cancel()
		proxying.Wait()
		writing.Wait()
		if c := proxy.Counts(); c.Compared == 0 || c.Compared+c.Dropped[multicast.ReasonQueue] != c.Requests {
			t.Errorf("counts are %+v", c)
		}
	}
}
