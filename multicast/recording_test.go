package multicast

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// taken are the recordings that a proxy hands on. Each is told to be written, as long as not told otherwise.
type taken struct {
	mu   sync.Mutex
	list []*Recording // copies
	hold []*Recording // not done yet
	keep bool         // nothing is done
}

func (c *taken) take(r *Recording) {
	c.mu.Lock()
	defer c.mu.Unlock()
	kept := *r
	kept.Exchange = *keep(&r.Exchange)
	c.list = append(c.list, &kept)
	if c.keep {
		c.hold = append(c.hold, r)
		return
	}
	r.Done("")
}

func (c *taken) all() []*Recording {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]*Recording(nil), c.list...)
}

// newTapped is a stage that records.
func newTapped(t *testing.T, handlers map[Role]http.HandlerFunc, configure func(*Config)) (*stage, *taken) {
	t.Helper()
	c := &taken{}
	s := &stage{t: t, prepare: func(p *Proxy) { p.deps.Record = c.take }}
	cfg := DefaultConfig()
	for role, address := range map[Role]*string{Primary: &cfg.Primary, Secondary: &cfg.Secondary, Candidate: &cfg.Candidate} {
		s.upstream[role] = newUpstream(handlers[role])
		*address = s.upstream[role].server.URL
		t.Cleanup(s.upstream[role].server.Close)
	}
	s.start(cfg, func(cfg *Config) {
		cfg.Record.Dir = "anywhere" // the proxy itself writes nothing
		if configure != nil {
			configure(cfg)
		}
	})
	return s, c
}

func (s *stage) recorded(want RecordCounts) {
	s.t.Helper()
	var got *RecordCounts
	s.eventually("every recording has its place", func() bool {
		got = s.proxy.Counts().Record
		return got != nil && got.Sampled == got.Written+sum(got.Dropped) && got.Sampled >= want.Sampled
	})
	if got.Sampled != want.Sampled || got.Written != want.Written || fmt.Sprint(got.Dropped) != fmt.Sprint(want.Dropped) {
		s.t.Errorf("recorded %+v, want %+v", *got, want)
	}
	if held := s.proxy.recordings.memory.used.Load(); held != 0 {
		s.t.Errorf("%d bytes are held", held)
	}
}

// TestWhatPassesIsRecorded: the request as the primary gets it and the answer as the client does, also of a POST, which is
// not shadowed, and with the bodies whole.
func TestWhatPassesIsRecorded(t *testing.T) {
	big := strings.Repeat("0123456789", 5000)
	s, c := newTapped(t, map[Role]http.HandlerFunc{Primary: func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Way", "back")
		w.WriteHeader(201)
		_, _ = io.WriteString(w, big+string(body))
	}}, nil)
	req, err := http.NewRequest("POST", "http://"+s.addr+"/a%2Fb?c=;d", strings.NewReader(big))
	if err != nil {
		t.Fatal(err)
	}
	req.Host = "shop.example"
	req.Header.Set("X-There", "yes")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(res.Body)
	res.Body.Close()
	if string(body) != big+big {
		t.Errorf("the client has %d bytes", len(body))
	}
	s.recorded(RecordCounts{Sampled: 1, Written: 1})
	got := c.all()[0]
	asked := s.upstream[Primary].requests()[0]
	if r := got.Request; r.Method != "POST" || r.Target != "/a%2Fb?c=;d" || r.Host != "shop.example" || string(r.Body) != big || r.Header.Get("X-There") != "yes" || r.Header["Content-Length"] != nil {
		t.Errorf("the request is %s %s %v, %d bytes", r.Method, r.Target, r.Header, len(r.Body))
	}
	if got.Request.Header.Get("X-Forwarded-For") != asked.header.Get("X-Forwarded-For") {
		t.Errorf("the primary has got %v, and %v is recorded", asked.header, got.Request.Header)
	}
	if a := got.Response(Primary); a.Status != 201 || a.Outcome != OutcomeOK || !bytes.Equal(a.Body, body) || a.Size != int64(len(body)) || a.Header.Get("X-Way") != "back" || a.Duration <= 0 {
		t.Errorf("the answer is %d %v, %d bytes in %s", a.Status, a.Header, len(a.Body), a.Duration)
	}
	if got.Response(Candidate).Outcome != "" || len(s.upstream[Candidate].requests()) > 0 {
		t.Error("the POST was shadowed")
	}
}

// TestWhatIsTooLongOrHasNoRoomIsNotKept: long bodies are left out and said to be; without memory the request is served and
// counted.
func TestWhatIsTooLongOrHasNoRoomIsNotKept(t *testing.T) {
	long := strings.Repeat("x", 300<<10)
	s, c := newTapped(t, map[Role]http.HandlerFunc{Primary: func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/stream":
			w.Header().Set("Content-Type", "text/event-stream")
		case "/cut":
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "half")
			panic(http.ErrAbortHandler)
		}
		_, _ = io.WriteString(w, long)
	}}, func(cfg *Config) {
		cfg.Record.MaxBody, cfg.Record.Memory, cfg.Candidate = 256*KiB, 1*MiB, ""
	})
	get := func(path, upload string) {
		res, err := http.Post("http://"+s.addr+path, "text/plain", strings.NewReader(upload))
		if err == nil {
			_, _ = io.Copy(io.Discard, res.Body)
			res.Body.Close()
		}
	}
	get("/a", long)
	s.recorded(RecordCounts{Sampled: 1, Written: 1})
	got := c.all()[0]
	if a := got.Response(Primary); !got.RequestCut || !got.ResponseCut || got.Request.Body != nil || a.Body != nil || a.Size != int64(len(long)) || a.Hash != sha256.Sum256([]byte(long)) {
		t.Errorf("the request is cut: %v, the answer: %v, %d bytes of %d", got.RequestCut, got.ResponseCut, len(a.Body), a.Size)
	}
	get("/stream", "")
	get("/cut", "")
	s.recorded(RecordCounts{Sampled: 3, Written: 1, Dropped: map[Reason]int64{ReasonStream: 1, ReasonPrimaryFailed: 1}})
	c.mu.Lock()
	c.keep = true // as a disk that takes nothing
	c.mu.Unlock()
	long = long[:200<<10]
	for range 10 {
		get("/b", "")
	}
	counts := s.proxy.Counts().Record
	if counts.Dropped[ReasonMemory] < 4 || counts.Sampled != 13 {
		t.Errorf("without memory: %+v", counts)
	}
	for _, r := range c.hold {
		r.Done(ReasonDisk)
	}
	s.recorded(RecordCounts{Sampled: 13, Written: 1, Dropped: map[Reason]int64{
		ReasonStream: 1, ReasonPrimaryFailed: 1, ReasonMemory: counts.Dropped[ReasonMemory], ReasonDisk: int64(len(c.hold)),
	}})
}

// TestAShareIsRecorded, and no copy that another proxy has sent.
func TestAShareIsRecorded(t *testing.T) {
	s, c := newTapped(t, nil, func(cfg *Config) { cfg.Record.Sample = Whole / 10 })
	for range 100 {
		res, err := http.Get("http://" + s.addr + "/")
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
	}
	s.recorded(RecordCounts{Sampled: 10, Written: 10})
	req, _ := http.NewRequest("GET", "http://"+s.addr+"/copy", nil)
	req.Header.Set("X-Shadow-Request", "1")
	for range 10 {
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
	}
	s.recorded(RecordCounts{Sampled: 10, Written: 10})
	for _, r := range c.all() {
		if r.Request.Target != "/" {
			t.Errorf("recorded: %s", r.Request.Target)
		}
	}
}
