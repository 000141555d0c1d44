package web

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"shadowdiff/diff"
	"shadowdiff/store"
)

// receiver is who is told, over a real socket.
type receiver struct {
	*httptest.Server
	answer atomic.Int64 // status; 0: none ever
	posts  chan post
}

type post struct {
	header http.Header
	body   []byte
	at     time.Time
}

func newReceiver(t *testing.T, status int) *receiver {
	t.Helper()
	rc := &receiver{posts: make(chan post, 100)}
	rc.answer.Store(int64(status))
	rc.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Errorf("read the post: %v", err)
		}
		rc.posts <- post{r.Header, body, time.Now()}
		status := int(rc.answer.Load())
		if status == 0 {
			<-r.Context().Done()
			return
		}
		if status/100 == 3 {
			w.Header().Set("Location", rc.URL+"/elsewhere")
		}
		w.WriteHeader(status)
	}))
	t.Cleanup(rc.Close)
	return rc
}

// next is the next post.
func (rc *receiver) next(t *testing.T) post {
	t.Helper()
	select {
	case p := <-rc.posts:
		return p
	case <-time.After(60 * time.Second):
		t.Fatal("nothing was posted within 60 s")
		return post{}
	}
}

// logged is a log that may be read meanwhile.
type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// hook starts a webhook of the rig's store, with times that a test can bear; stop waits for its end.
func (r *rig) hook(cfg WebhookConfig, log io.Writer, change func(*Webhook)) (h *Webhook, stop func()) {
	r.t.Helper()
	h = NewWebhook(WebhookDeps{
		Log: slog.New(slog.NewTextHandler(log, nil)), DB: r.db, Metrics: NewMetrics(),
		Config: func() WebhookConfig { return cfg }, Page: func() string { return "https://ops.example/shadowdiff" },
	})
	h.gap, h.first, h.longest = time.Millisecond, time.Millisecond, 4*time.Millisecond
	if change != nil {
		change(h)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := h.Run(ctx); err != nil {
			r.t.Errorf("webhook: %v", err)
		}
	})
	stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
	})
	r.t.Cleanup(stop)
	return h, stop
}

// eventually asks until the answer is yes.
func eventually(t *testing.T, what string, ask func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for late := time.After(60 * time.Second); !ask(); {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("%s: not so after 60 s", what)
		}
	}
}

func (h *Webhook) counted(t *testing.T, outcome string) int {
	t.Helper()
	families, err := h.deps.Metrics.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == "shadowdiff_webhook_total" && m.GetLabel()[0].GetValue() == outcome {
				return int(m.GetCounter().GetValue())
			}
		}
	}
	t.Fatalf("no metric for %q", outcome)
	return 0
}

func toldTo(url string) WebhookConfig {
	cfg := DefaultWebhookConfig()
	cfg.URL, cfg.Secret = url, "pepper"
	return cfg
}

// The word is told when it changes, signed, once, and not again by the next process.
func TestTheWebhookIsToldOnce(t *testing.T) {
	r, rc := newRig(t, shop("1"), shop("2"), nil), newReceiver(t, http.StatusNoContent)
	var log logged
	h, stop := r.hook(toldTo(rc.URL+"/hooks/s3cret"), &log, nil)
	r.ask(2, "/products/1")
	r.ask(60, "/products/1")
	p := rc.next(t)
	mac := hmac.New(sha256.New, []byte("pepper"))
	mac.Write(p.body)
	if got, want := p.header.Get("X-Shadowdiff-Signature"), "sha256="+hex.EncodeToString(mac.Sum(nil)); got != want {
		t.Errorf("signature %s, want %s", got, want)
	}
	var told struct {
		Delivery    int64
		Previous    diff.Word
		Verdict     diff.Word
		Page        string
		Run         struct{ Name string }
		Reasons     []string
		Differences []diff.Finding
	}
	decode(t, string(p.body), &told)
	if told.Delivery != 1 || told.Previous != diff.Undecided || told.Verdict != diff.Different || len(told.Reasons) == 0 ||
		told.Page != "https://ops.example/shadowdiff/" || told.Run.Name != "v2.3.1" || len(told.Differences) == 0 {
		t.Errorf("told %s", p.body)
	}
	for _, f := range told.Differences {
		if !f.Confirmed {
			t.Errorf("%s is not confirmed", f.Field)
		}
	}
	eventually(t, "it is counted", func() bool { return h.counted(t, "ok") == 1 })
	r.ask(20, "/products/1")
	stop()
	again, stop := r.hook(toldTo(rc.URL), &log, nil)
	r.ask(20, "/products/1")
	stop()
	if len(rc.posts) > 0 || again.counted(t, "ok") != 0 {
		t.Errorf("it was told again: %s", (<-rc.posts).body)
	}
	if text := log.String(); text != "" {
		t.Errorf("the log: %s", text)
	}
}

// A receiver that fails is asked again until it takes it; that is told in the log once, and without its address.
func TestTheWebhookTriesAgain(t *testing.T) {
	r, rc := newRig(t, shop("1"), shop("2"), nil), newReceiver(t, http.StatusServiceUnavailable)
	var log logged
	h, stop := r.hook(toldTo(rc.URL+"/hooks/s3cret"), &log, nil)
	r.ask(60, "/products/1")
	first := rc.next(t)
	rc.next(t)
	rc.answer.Store(http.StatusOK)
	eventually(t, "it is taken", func() bool { return h.counted(t, "ok") == 1 })
	stop()
	var last post
	for len(rc.posts) > 0 {
		last = <-rc.posts
	}
	if first.header.Get("X-Shadowdiff-Delivery") != "1" || last.header != nil && last.header.Get("X-Shadowdiff-Delivery") != "1" {
		t.Errorf("a repeated post has another number: %v, %v", first.header, last.header)
	}
	if h.counted(t, "failed") < 1 { // the second may have been taken
		t.Error("no failure is counted")
	}
	text := log.String()
	if strings.Count(text, "the webhook fails") != 1 || strings.Count(text, "takes the verdict again") != 1 {
		t.Errorf("the log:\n%s", text)
	}
	for _, secret := range []string{"s3cret", "pepper", strings.TrimPrefix(rc.URL, "http://")} {
		if strings.Contains(text, secret) {
			t.Errorf("the log tells %s:\n%s", secret, text)
		}
	}
}

// What asking again does not mend is not asked again, and a redirect is not followed.
func TestTheWebhookIsRefused(t *testing.T) {
	for _, status := range []int{http.StatusFound, http.StatusTemporaryRedirect, http.StatusForbidden} {
		r, rc := newRig(t, shop("1"), shop("2"), nil), newReceiver(t, status)
		var log logged
		h, stop := r.hook(toldTo(rc.URL), &log, nil)
		r.ask(60, "/products/1")
		rc.next(t)
		eventually(t, "it is refused", func() bool { return h.counted(t, "refused") == 1 })
		r.ask(5, "/products/1")
		stop()
		if len(rc.posts) > 0 || strings.Count(log.String(), "refuses the verdict") != 1 {
			t.Errorf("%d: %d more posts; the log: %s", status, len(rc.posts), log.String())
		}
	}
}

// A receiver that is away for good is given up, without its address in the log.
func TestTheWebhookIsGivenUp(t *testing.T) {
	r, rc := newRig(t, shop("1"), shop("2"), nil), newReceiver(t, http.StatusOK)
	address := rc.URL
	rc.Close()
	var log logged
	h, stop := r.hook(toldTo(address), &log, func(h *Webhook) { h.patience = 20 * time.Millisecond })
	r.ask(60, "/products/1")
	eventually(t, "it is given up", func() bool { return h.counted(t, "given_up") == 1 })
	stop()
	text := log.String()
	if !strings.Contains(text, "connection refused") || strings.Contains(text, strings.TrimPrefix(address, "http://")) {
		t.Errorf("the log:\n%s", text)
	}
}

// A receiver that never answers holds nobody up: not the flushes, and not the end.
func TestTheWebhookHoldsNobodyUp(t *testing.T) {
	r, rc := newRig(t, shop("1"), shop("2"), nil), newReceiver(t, 0)
	h, stop := r.hook(toldTo(rc.URL), io.Discard, nil)
	r.ask(60, "/products/1")
	rc.next(t)
	r.ask(60, "/products/1")
	began := time.Now()
	stop()
	if d := time.Since(began); d > 5*time.Second {
		t.Errorf("it took %v to end", d)
	}
	rc.answer.Store(http.StatusOK)
	if h.counted(t, "failed")+h.counted(t, "ok") != 0 {
		t.Error("what was cut off is counted")
	}
	_, _ = r.hook(toldTo(rc.URL), io.Discard, nil)
	if p := rc.next(t); p.header.Get("X-Shadowdiff-Delivery") != "1" {
		t.Errorf("the next process tells it as number %s", p.header.Get("X-Shadowdiff-Delivery"))
	}
}

// Of what changes quickly the last is told, and no sooner than it may be.
func TestTheWebhookWaitsBetweenPosts(t *testing.T) {
	const gap = 1500 * time.Millisecond
	r, rc := newRig(t, shop("1"), shop("2"), nil), newReceiver(t, http.StatusOK)
	_, stop := r.hook(toldTo(rc.URL), io.Discard, func(h *Webhook) { h.gap = gap })
	r.ask(60, "/products/1")
	first := rc.next(t)
	var last store.Run
	for _, rules := range []string{"a", "b"} {
		last = r.begin("v3", rules)
		r.ask(60, "/products/1")
	}
	second := rc.next(t)
	var told struct {
		Run      store.Run
		Previous diff.Word
	}
	decode(t, string(second.body), &told)
	if told.Run.ID != last.ID || told.Previous != diff.Undecided {
		t.Errorf("told of run %d after %s, want %d", told.Run.ID, told.Previous, last.ID)
	}
	if d := second.at.Sub(first.at); d < gap {
		t.Errorf("the second post came after %v", d)
	}
	stop()
	if len(rc.posts) > 0 {
		t.Errorf("more was posted: %s", (<-rc.posts).body)
	}
}

// Only the words that are asked for are told.
func TestTheWebhookTellsWhatIsAskedFor(t *testing.T) {
	r, rc := newRig(t, shop("1"), shop("2"), nil), newReceiver(t, http.StatusOK)
	cfg := toldTo(rc.URL)
	cfg.On = []diff.Word{diff.Equivalent}
	_, stop := r.hook(cfg, io.Discard, nil)
	_, stopped := r.hook(WebhookConfig{On: cfg.On}, io.Discard, nil)
	r.ask(60, "/products/1")
	stop()
	stopped()
	if len(rc.posts) > 0 {
		t.Errorf("told %s", (<-rc.posts).body)
	}
}

func TestAWebhookIsValidated(t *testing.T) {
	for text, want := range map[string]string{
		`{"URL": "ftp://x/s3cret", "On": ["different"]}`:          "webhook.url: not an http or https address",
		`{"URL": "http://[/s3cret", "On": ["different"]}`:         "webhook.url: not an http or https address",
		`{"URL": "http://x/s3cret#here", "On": ["different"]}`:    "webhook.url: a fragment",
		`{"URL": "/s3cret", "On": ["different"]}`:                 "webhook.url: not an http",
		`{"URL": "http://x", "On": []}`:                           "webhook.on: names no verdict",
		`{"URL": "http://x", "On": ["different", "bad"]}`:         `webhook.on[1]: "bad" is no verdict`,
		`{"URL": "http://x", "On": ["undecided", "undecided"]}`:   `webhook.on[1]: "undecided" is there twice`,
		`{"URL": "", "On": ["different", "equivalent"]}`:          "",
		`{"URL": "https://x/y?z", "On": ["undecided"]}`:           "",
		`{"URL": "https://u:p@x/y?z=1&a=2", "On": ["undecided"]}`: "",
	} {
		var cfg WebhookConfig
		if err := json.Unmarshal([]byte(text), &cfg); err != nil {
			t.Fatal(err)
		}
		said := ""
		for _, err := range cfg.Validate() {
			said += err.Error()
		}
		if want == "" && said != "" || !strings.Contains(said, want) || strings.Contains(said, "s3cret") {
			t.Errorf("%s: %q, want %q", text, said, want)
		}
	}
}
