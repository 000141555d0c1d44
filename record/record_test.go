package record

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"shadowdiff/multicast"
	"shadowdiff/traffic"
)

// tape is a proxy that records, on real sockets and a real disk.
type tape struct {
	t        *testing.T
	proxy    *multicast.Proxy
	recorder *Recorder
	url, dir string
	log      *strings.Builder
	logging  *sync.Mutex
	stop     func()
}

func newTape(t *testing.T, configure func(*multicast.Config)) *tape {
	t.Helper()
	primary := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Set-Cookie", "sid=geheim")
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"path":%q,"password":"geheim"}`, r.URL.Path)
	}))
	t.Cleanup(primary.Close)
	p := &tape{t: t, dir: filepath.Join(t.TempDir(), "tape"), log: &strings.Builder{}, logging: &sync.Mutex{}}
	cfg := multicast.DefaultConfig()
	cfg.Primary, cfg.Listen, cfg.Record.Dir = primary.URL, "127.0.0.1:0", p.dir
	if configure != nil {
		configure(&cfg)
	}
	log := slog.New(slog.NewTextHandler(p, nil))
	redact := []string{"header.cookie", "header.set-cookie", "query.token", "body.**.password"}
	var err error
	if p.recorder, err = New(cfg.Record, redact, log); err != nil {
		t.Fatal(err)
	}
	if p.proxy, err = multicast.New(cfg, multicast.Deps{Record: p.recorder.Take}); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p.url = "http://" + listener.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	server := p.proxy.Server()
	var running sync.WaitGroup
	running.Go(func() { _ = server.Serve(listener) })
	running.Go(func() { _ = p.proxy.Run(ctx) })
	running.Go(func() {
		if err := p.recorder.Run(ctx); err != nil {
			p.t.Log(err)
		}
	})
	p.stop = sync.OnceFunc(func() {
		server.Close()
		cancel()
		running.Wait()
	})
	t.Cleanup(p.stop)
	return p
}

func (p *tape) Write(line []byte) (int, error) {
	p.logging.Lock()
	defer p.logging.Unlock()
	return p.log.Write(line)
}

func (p *tape) logged() string {
	p.logging.Lock()
	defer p.logging.Unlock()
	return p.log.String()
}

func (p *tape) get(target string) {
	p.t.Helper()
	req, err := http.NewRequest(http.MethodGet, p.url+target, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("Cookie", "sid=geheim")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer res.Body.Close()
	if body, err := io.ReadAll(res.Body); err != nil || res.StatusCode != 200 || !strings.Contains(string(body), "geheim") {
		p.t.Fatalf("the client got %s %q, %v", res.Status, body, err)
	}
}

func (p *tape) eventually(what string, holds func(c multicast.RecordCounts) bool) {
	p.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for timeout := time.After(60 * time.Second); ; {
		if c := p.proxy.Counts().Record; c != nil && holds(*c) {
			return
		}
		select {
		case <-tick.C:
		case <-timeout:
			p.t.Fatalf("%s: not so after 60 s: %+v", what, p.proxy.Counts().Record)
		}
	}
}

// read reads all that was recorded.
func (p *tape) read() (recs []*traffic.Record) {
	p.t.Helper()
	files, err := traffic.Files([]string{p.dir})
	if err != nil {
		p.t.Fatal(err)
	}
	for _, file := range files {
		r, err := traffic.Open(file, "")
		if err != nil {
			p.t.Fatal(err)
		}
		for {
			rec, err := r.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				p.t.Fatal(err)
			}
			recs = append(recs, rec)
		}
		r.Close()
	}
	return recs
}

// TestNothingThatIsRedactedReachesTheDisk: neither of requests nor of answers; all else is there within a second or so.
func TestNothingThatIsRedactedReachesTheDisk(t *testing.T) {
	t.Parallel()
	p := newTape(t, nil)
	const requests = 50
	for i := range requests {
		p.get(fmt.Sprintf("/things/%d?token=geheim&a=%d", i, i))
	}
	p.eventually("all is on the disk while it goes on", func(c multicast.RecordCounts) bool { return c.Written == requests })
	recs := p.read()
	if len(recs) != requests {
		t.Fatalf("%d records", len(recs))
	}
	for i, rec := range recs {
		text := fmt.Sprintf("%+v %s %+v %s", rec.Request, rec.Request.Body, rec.Answer, rec.Answer.Body)
		if strings.Contains(text, "geheim") {
			t.Fatalf("it holds a secret: %s", text)
		}
		if want := fmt.Sprintf("/things/%d?token=%%5Bredacted%%5D&a=%d", i, i); rec.Request.Target != want || rec.ID == "" || rec.Time.IsZero() || rec.Answer.Took <= 0 {
			t.Errorf("%+v, want %s", rec, want)
		}
		if want := fmt.Sprintf(`{"path":"/things/%d","password":"[redacted]"}`, i); string(rec.Answer.Body) != want || rec.Request.Header.Get("Cookie") != "sid=[redacted]" {
			t.Errorf("%v, %s", rec.Request.Header, rec.Answer.Body)
		}
	}
	p.stop()
	if c := p.proxy.Counts().Record; c.Sampled != requests || c.Written != requests {
		t.Errorf("%+v", c)
	}
}

// TestWhatWasTakenIsWrittenAtTheEnd, without waiting for the next second.
func TestWhatWasTakenIsWrittenAtTheEnd(t *testing.T) {
	t.Parallel()
	p := newTape(t, nil)
	for i := range 20 {
		p.get(fmt.Sprintf("/%d", i))
	}
	p.stop()
	if recs := p.read(); len(recs) != 20 {
		t.Errorf("%d records", len(recs))
	}
	if _, err := os.Stat(filepath.Join(p.dir, "index.ndjson")); err != nil {
		t.Error(err)
	}
}

// TestAFolderThatGoesAwayCostsNoClient: what cannot be written is counted, logged once, and when the folder is back it goes on.
func TestAFolderThatGoesAwayCostsNoClient(t *testing.T) {
	t.Parallel()
	p := newTape(t, func(cfg *multicast.Config) { cfg.Record.RotateSize = 64 * multicast.KiB })
	if err := os.RemoveAll(p.dir); err != nil {
		t.Fatal(err)
	}
	p.get("/lost")
	p.eventually("the loss is counted", func(c multicast.RecordCounts) bool { return c.Dropped[multicast.ReasonDisk] >= 1 })
	p.get("/lost")
	p.eventually("the loss is counted", func(c multicast.RecordCounts) bool { return c.Dropped[multicast.ReasonDisk] >= 2 })
	if n := strings.Count(p.logged(), "recordings cannot be written"); n != 1 {
		t.Errorf("it is logged %d times:\n%s", n, p.logged())
	}
	if err := os.Mkdir(p.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	p.get("/kept")
	p.eventually("it is written again", func(c multicast.RecordCounts) bool { return c.Written == 1 })
	p.stop()
	if recs := p.read(); len(recs) != 1 || recs[0].Request.Target != "/kept" {
		t.Errorf("%d records", len(recs))
	}
	if !strings.Contains(p.logged(), "recordings are written again") {
		t.Errorf("the end of the trouble is not logged:\n%s", p.logged())
	}
}

// TestAFullQueueDropsAndNeverWaits: a recorder that does not run takes what its queue holds, and the rest is counted.
func TestAFullQueueDropsAndNeverWaits(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cfg := multicast.DefaultConfig()
	cfg.Record.Dir = dir
	r, err := New(cfg.Record, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	primary := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "x") }))
	defer primary.Close()
	cfg.Primary = primary.URL
	proxy, err := multicast.New(cfg, multicast.Deps{Record: r.Take})
	if err != nil {
		t.Fatal(err)
	}
	const more = 100
	for range queueLength + more {
		w := httptest.NewRecorder()
		proxy.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
		if w.Body.String() != "x" {
			t.Fatalf("the client got %q", w.Body)
		}
	}
	if c := proxy.Counts().Record; c.Sampled != queueLength+more || c.Dropped[multicast.ReasonQueue] != more {
		t.Errorf("%+v", c)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := r.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if c := proxy.Counts().Record; c.Written != queueLength {
		t.Errorf("%+v", c)
	}
}

// TestAReconfiguredRecorderRedactsOtherwise, from then on, in another file that says so.
func TestAReconfiguredRecorderRedactsOtherwise(t *testing.T) {
	t.Parallel()
	p := newTape(t, nil)
	p.get("/before?key=geheim")
	p.eventually("one is written", func(c multicast.RecordCounts) bool { return c.Written == 1 })
	cfg := multicast.DefaultConfig()
	cfg.Record.Dir = p.dir
	if err := p.recorder.Reconfigure(cfg.Record, []string{"header.cookie", "query.key"}); err != nil {
		t.Fatal(err)
	}
	p.get("/between")
	p.eventually("the next is written", func(c multicast.RecordCounts) bool { return c.Written == 2 })
	p.get("/after?key=geheim")
	p.stop()
	recs := p.read()
	if len(recs) != 3 || recs[0].Request.Target != "/before?key=geheim" || recs[2].Request.Target != "/after?key=%5Bredacted%5D" {
		t.Errorf("%+v", recs)
	}
	if files, err := traffic.Files([]string{p.dir}); err != nil || len(files) != 2 {
		t.Errorf("%v, %v", files, err)
	}
}
