package web

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"shadowdiff/diff"
	"shadowdiff/multicast"
	"shadowdiff/normalize"
	"shadowdiff/store"
)

// rig is the whole road on real parts: three upstreams, the proxy, the comparer, a database, and the pages over HTTP.
type rig struct {
	t         testing.TB
	db        *store.DB
	cfg       multicast.Config
	proxy     *multicast.Proxy
	metrics   *Metrics
	server    *Server
	front     *httptest.Server
	admin     *httptest.Server
	client    *http.Client // as a browser: with cookies
	delivered chan struct{}
	instance  atomic.Pointer[Instance]
	reload    func(actor string) Reload // nil until a test sets it
	comparer  *diff.Comparer
	run       atomic.Int64           // in force
	rules     atomic.Pointer[[]Rule] // nil until a test sets it
}

// now is what the process says of itself.
func (r *rig) now() Instance { return *r.instance.Load() }

// become changes that.
func (r *rig) become(change func(*Instance)) {
	next := r.now()
	change(&next)
	r.instance.Store(&next)
}

// newRig starts a rig. primary answers for the secondary too.
func newRig(t testing.TB, primary, candidate http.HandlerFunc, change func(*Config)) *rig {
	t.Helper()
	r := &rig{t: t, metrics: NewMetrics(), delivered: make(chan struct{}, 10_000)}
	known, other, trial := httptest.NewServer(primary), httptest.NewServer(primary), httptest.NewServer(candidate)
	t.Cleanup(known.Close)
	t.Cleanup(other.Close)
	t.Cleanup(trial.Close)
	cfg := multicast.DefaultConfig()
	cfg.Primary, cfg.Secondary, cfg.Candidate = known.URL, other.URL, trial.URL
	r.cfg = cfg
	r.open(cfg)
	web := DefaultConfig()
	if change != nil {
		change(&web)
	}
	r.instance.Store(&Instance{
		Targets: Targets{Listen: "http://127.0.0.1:8880", Primary: known.URL, Secondary: other.URL, Candidate: trial.URL},
		Phase:   PhaseServing, Loaded: time.Now(),
	})
	r.server = New(web, Deps{
		Log: quiet(), DB: r.db, Proxy: r.proxy, Version: "test", Metrics: r.metrics, Instance: r.now,
		Reload:      func(_ context.Context, actor string) Reload { return r.reload(actor) },
		Suggestions: r.comparer.Suggestions,
		Judge:       diff.DefaultConfig,
		BeginRun: func(_ context.Context, b RunBeginning) (store.Run, error) {
			return r.db.StartRun(b.Name, store.Fingerprint{Candidate: r.cfg.Candidate})
		},
		Rules: func() []Rule {
			if list := r.rules.Load(); list != nil {
				return *list
			}
			return nil
		},
	})
	r.front, r.admin = httptest.NewServer(r.proxy), httptest.NewUnstartedServer(nil)
	r.admin.Config = r.server.HTTP()
	r.admin.Start()
	t.Cleanup(r.admin.Close)
	t.Cleanup(r.front.Close)
	jar, _ := cookiejar.New(nil)
	r.client = &http.Client{Jar: jar, Timeout: 20 * time.Second}
	return r
}

// open starts the proxy and the store.
func (r *rig) open(cfg multicast.Config) {
	r.t.Helper()
	rules, err := normalize.New(normalize.DefaultConfig())
	if err != nil {
		r.t.Fatal(err)
	}
	names := new(normalize.Names)
	r.comparer = diff.NewComparer(rules, names, diff.DefaultLimits())
	deliver := func(ex *multicast.Exchange) {
		r.db.Record(r.run.Load(), r.comparer.Compare(ex))
		r.delivered <- struct{}{}
	}
	r.proxy, err = multicast.New(cfg, multicast.Deps{
		Log: quiet(), Deliver: func() multicast.Deliver { return deliver },
		Observe: r.metrics.Observe, ObserveShadow: r.metrics.ObserveShadow,
	})
	if err != nil {
		r.t.Fatal(err)
	}
	storing := store.DefaultConfig()
	storing.Path = filepath.Join(r.t.TempDir(), "test.db")
	r.db, err = store.Open(storing, store.Deps{Log: quiet(), Judge: diff.DefaultConfig(), Counters: r.proxy.Counts, Names: names})
	if err != nil {
		r.t.Fatal(err)
	}
	r.begin("v2.3.1", "")
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := r.proxy.Run(ctx); err != nil {
			r.t.Errorf("proxy: %v", err)
		}
	})
	r.t.Cleanup(func() {
		stop()
		running.Wait()
		if err := r.db.Close(); err != nil {
			r.t.Errorf("close the store: %v", err)
		}
	})
}

// begin puts a run under these rules in force.
func (r *rig) begin(name, rules string) store.Run {
	r.t.Helper()
	run, err := r.db.StartRun(name, store.Fingerprint{Candidate: r.cfg.Candidate, Rules: rules})
	if err != nil {
		r.t.Fatal(err)
	}
	r.run.Store(run.ID)
	return run
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// ask sends requests to the front, waits until each is compared, and flushes.
func (r *rig) ask(times int, path string) {
	r.t.Helper()
	for range times {
		resp, err := http.Get(r.front.URL + path)
		if err != nil {
			r.t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	for range times {
		<-r.delivered
	}
	for was := uint64(0); was != r.db.Snapshot().Version; { // one flush packs no more samples than it has time for
		was = r.db.Snapshot().Version
		if err := r.db.Flush(context.Background()); err != nil {
			r.t.Fatal(err)
		}
	}
}

// later is one more comparison of a route, some minutes from now: the charts have a second point.
func (r *rig) later(route string) {
	r.t.Helper()
	at := time.Now().Add(3 * time.Minute)
	r.db.Record(r.db.Snapshot().Run.ID, &diff.Comparison{Route: route, Given: true, Time: at, Result: diff.Both, Raw: true, Noise: true})
	if err := r.db.Flush(context.Background()); err != nil {
		r.t.Fatal(err)
	}
}

// answer is what a request to the admin listener got.
type answer struct {
	status int
	header http.Header
	body   string
}

// do sends a request to the admin listener. Headers are given as "Name: value".
func (r *rig) do(method, path, body string, headers ...string) answer {
	r.t.Helper()
	req, err := http.NewRequest(method, r.admin.URL+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if name == "Host" {
			req.Host = value
		}
		req.Header.Set(name, value)
	}
	resp, err := r.client.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	a := answer{resp.StatusCode, resp.Header, string(b)}
	r.described(method, path, a)
	return a
}

// get reads a path that must exist.
func (r *rig) get(path string, headers ...string) string {
	r.t.Helper()
	a := r.do(http.MethodGet, path, "", headers...)
	if a.status != http.StatusOK {
		r.t.Fatalf("GET %s: %d %s", path, a.status, a.body)
	}
	return a.body
}

// mustHold fails for each text that a page does not hold.
func mustHold(t *testing.T, where, page string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(page, text) {
			t.Errorf("%s does not say %q:\n%s", where, text, excerpt(page))
		}
	}
}

func excerpt(page string) string {
	if i := strings.Index(page, "<main"); i >= 0 {
		page = page[i:]
	}
	return page[:min(len(page), 3000)]
}

// shop answers with a price, and with a number that differs each time: noise.
func shop(price string) http.HandlerFunc {
	var mu sync.Mutex
	served := 0
	return func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		served++
		n := served
		mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Lane", "left")
		fmt.Fprintf(w, `{"id":"a7","tags":["x","y","z","w"],"price":%s,"served":"#%06d-%p"}`, price, n, &served)
	}
}
