package web

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"shadowdiff/diff"
	"shadowdiff/store"
)

// WebhookConfig is the `webhook:` part of the configuration.
type WebhookConfig struct {
	URL    string      `yaml:"url"`    // where the verdict is posted; empty: nowhere. It may hold a secret and is never shown
	On     []diff.Word `yaml:"on"`     // the verdicts that are told; default different and equivalent
	Secret string      `yaml:"secret"` // signs what is posted; empty: unsigned
}

// DefaultWebhookConfig posts nowhere.
func DefaultWebhookConfig() WebhookConfig {
	return WebhookConfig{On: []diff.Word{diff.Different, diff.Equivalent}}
}

// Validate returns every fault of the configuration; each message begins with its key. The address is not repeated.
func (c WebhookConfig) Validate() []error {
	var faults []error
	if c.URL != "" {
		u, err := url.Parse(c.URL)
		switch {
		case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
			faults = append(faults, errors.New("webhook.url: not an http or https address such as https://chat.example.com/hooks/shadowdiff"))
		case u.Fragment != "":
			faults = append(faults, errors.New("webhook.url: a fragment (#) is never sent"))
		}
	}
	if len(c.On) == 0 {
		faults = append(faults, errors.New("webhook.on: names no verdict; leave it out for different and equivalent"))
	}
	for i, word := range c.On {
		switch {
		case !slices.Contains([]diff.Word{diff.Different, diff.Equivalent, diff.Undecided}, word):
			faults = append(faults, fmt.Errorf("webhook.on[%d]: %q is no verdict; give different, equivalent or undecided", i, word))
		case slices.Contains(c.On[:i], word):
			faults = append(faults, fmt.Errorf("webhook.on[%d]: %q is there twice", i, word))
		}
	}
	return faults
}

// WebhookDeps are what a webhook is handed.
type WebhookDeps struct {
	Log     *slog.Logger
	DB      *store.DB
	Metrics *Metrics
	Config  func() WebhookConfig // in force; asked for each time
	Page    func() string        // the dashboard's address, without a slash at its end
}

// Webhook posts a run's verdict when its word has become another than the one that was posted last. It reads what the store
// publishes and holds nobody up: what changes while a post is under way is found afterwards, and only the newest state is
// ever posted. It posts at most once a minute, so that a verdict that goes back and forth is told once it rests.
//
// What was posted is kept in the store: a restart posts nothing again, but for a post whose receipt was lost by a crash.
// That has the same delivery number.
type Webhook struct {
	deps   WebhookDeps
	client *http.Client
	posts  *prometheus.CounterVec

	told    announced
	failing bool      // the last attempt failed, and that was logged
	pending announced // what is being tried
	since   time.Time // when its first attempt was
	tries   int
	next    time.Time // no post before

	gap, first, longest, patience time.Duration
}

// announced is what was posted, as it is kept.
type announced struct {
	Run      int64     `json:"run"`
	Word     diff.Word `json:"verdict"`
	Delivery int64     `json:"delivery"` // of the post, from 1
}

const keyWebhook = "webhook.told"

// NewWebhook returns a webhook that has not begun.
func NewWebhook(deps WebhookDeps) *Webhook {
	h := &Webhook{
		deps: deps,
		client: &http.Client{
			Transport:     &http.Transport{ForceAttemptHTTP2: true, IdleConnTimeout: 10 * time.Second, MaxIdleConns: 1},
			Timeout:       10 * time.Second,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		posts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "shadowdiff_webhook_total",
			Help: "Attempts to post the verdict, by how they ended: ok, failed (tried again), refused or given_up.",
		}, []string{"outcome"}),
		gap: time.Minute, first: time.Second, longest: time.Minute, patience: 10 * time.Minute,
	}
	for _, outcome := range []string{"ok", "failed", "refused", "given_up"} {
		h.posts.WithLabelValues(outcome)
	}
	deps.Metrics.registry.MustRegister(h.posts)
	return h
}

// Run posts until ctx ends. A post under way is cut off then, and made again by the next process.
func (h *Webhook) Run(ctx context.Context) error {
	defer h.client.CloseIdleConnections()
	h.restore(ctx)
	versions := h.deps.DB.Watch(ctx)
	later := time.NewTimer(time.Hour)
	defer later.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case _, open := <-versions:
			if !open {
				return nil
			}
		case <-later.C:
		}
		if wait := h.step(ctx); wait > 0 {
			later.Reset(wait)
		} else {
			later.Stop()
		}
	}
}

// restore reads what the process before has posted.
func (h *Webhook) restore(ctx context.Context) {
	text, err := h.deps.DB.Setting(ctx, keyWebhook)
	if err == nil {
		err = json.Unmarshal([]byte(text), &h.told)
	}
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		h.deps.Log.Warn("what the webhook was last told could not be read: it may be told again", "err", err)
	}
}

// step posts if there is something to post and it is time. It answers how long to wait until it is; 0: until something
// changes.
func (h *Webhook) step(ctx context.Context) time.Duration {
	cfg, snap := h.deps.Config(), h.deps.DB.Snapshot()
	previous, wanted := h.changed(cfg, snap)
	if !wanted {
		h.pending = announced{}
		return 0
	}
	now := time.Now()
	if wait := h.next.Sub(now); wait > 0 {
		return wait
	}
	state := announced{snap.Run.ID, snap.Verdict.Word, h.told.Delivery + 1}
	if state != h.pending {
		h.pending, h.since, h.tries = state, now, 0
	}
	h.tries++
	err := h.post(ctx, cfg, snap, previous, state.Delivery)
	if ctx.Err() != nil {
		return 0
	}
	h.settle(ctx, state, err)
	return max(time.Until(h.next), time.Millisecond)
}

// changed tells whether the verdict is to be posted, and what was last said of the run. A run begins undecided.
func (h *Webhook) changed(cfg WebhookConfig, snap *store.Snapshot) (previous diff.Word, wanted bool) {
	previous = diff.Undecided
	if h.told.Run == snap.Run.ID {
		previous = h.told.Word
	}
	word := snap.Verdict.Word
	if snap.Verdict.Calibration != nil { // no verdict on a candidate, which whoever is told would take it for
		return previous, false
	}
	return previous, cfg.URL != "" && snap.Run.ID != 0 && word != previous && slices.Contains(cfg.On, word)
}

// settle notes how an attempt has ended, and when the next may be.
func (h *Webhook) settle(ctx context.Context, state announced, err error) {
	var no refused
	switch {
	case err == nil:
		h.posts.WithLabelValues("ok").Inc()
		if h.failing {
			h.deps.Log.Info("the webhook takes the verdict again")
		}
		h.failing = false
		h.keep(ctx, state)
		return
	case errors.As(err, &no):
		h.posts.WithLabelValues("refused").Inc()
		h.deps.Log.Error("the webhook refuses the verdict: it is not told", "verdict", state.Word, "err", err)
		h.keep(ctx, state)
		return
	case time.Since(h.since) >= h.patience:
		h.posts.WithLabelValues("given_up").Inc()
		h.deps.Log.Error("the webhook was given up: the verdict is not told", "verdict", state.Word, "duration", h.patience.String(), "err", err)
		h.keep(ctx, state)
		return
	}
	h.posts.WithLabelValues("failed").Inc()
	if !h.failing {
		h.deps.Log.Warn("the webhook fails: the verdict is posted again until it takes it", "verdict", state.Word, "err", err)
	}
	h.failing = true
	h.next = time.Now().Add(min(h.first<<min(h.tries-1, 20), h.longest))
}

// keep makes a state the one that was told last.
func (h *Webhook) keep(ctx context.Context, state announced) {
	h.told, h.pending, h.next = state, announced{}, time.Now().Add(h.gap)
	text, _ := json.Marshal(state) // numbers and a word
	if err := h.deps.DB.SaveSetting(ctx, keyWebhook, string(text)); err != nil {
		h.deps.Log.Warn("what the webhook was told could not be kept: after a restart it may be told again", "err", err)
	}
}

// webhookBody is what is posted.
type webhookBody struct {
	Delivery int64     `json:"delivery"` // the same when a post is repeated
	Time     time.Time `json:"time"`
	Previous diff.Word `json:"previous"` // what was said of the run before; a run begins undecided
	Page     string    `json:"page"`
	equivalenceAnswer
}

// differencesPosted is how many confirmed differences are posted; the page shows the rest.
const differencesPosted = 20

// refused is an answer that asking again does not mend.
type refused struct{ status string }

func (r refused) Error() string { return "it answers " + r.status }

func (h *Webhook) post(ctx context.Context, cfg WebhookConfig, snap *store.Snapshot, previous diff.Word, delivery int64) error {
	confirmed := true
	body, err := json.Marshal(webhookBody{
		Delivery: delivery, Time: time.Now().UTC(), Previous: previous, Page: h.deps.Page() + "/",
		equivalenceAnswer: equivalenceOf(snap.Run, snap.Verdict, &confirmed, differencesPosted),
	})
	if err != nil {
		return fmt.Errorf("encode the verdict: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, cfg.URL, bytes.NewReader(body))
	if err != nil {
		return errors.New("the address cannot be asked")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "shadowdiff")
	req.Header.Set("X-Shadowdiff-Delivery", fmt.Sprint(delivery))
	if cfg.Secret != "" {
		mac := hmac.New(sha256.New, []byte(cfg.Secret))
		mac.Write(body)
		req.Header.Set("X-Shadowdiff-Signature", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	}
	resp, err := h.client.Do(req)
	if err != nil {
		return unnamed(err, req.URL)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)) // so that the connection can be used again
	switch code := resp.StatusCode; {
	case code/100 == 2:
		return nil
	case code >= 500, code == http.StatusRequestTimeout, code == http.StatusTooEarly, code == http.StatusTooManyRequests:
		return fmt.Errorf("it answers %d", code)
	case code/100 == 3:
		return refused{fmt.Sprintf("%d: it leads elsewhere, and that is not followed", code)}
	default:
		return refused{fmt.Sprint(code)}
	}
}

// unnamed takes the address out of an error: who knows it may post there.
func unnamed(err error, to *url.URL) error {
	var of *url.Error
	if errors.As(err, &of) {
		err = of.Err
	}
	text := err.Error()
	for _, part := range []string{to.Host, to.Hostname()} {
		text = strings.ReplaceAll(text, part, "its host")
	}
	return errors.New(text)
}
