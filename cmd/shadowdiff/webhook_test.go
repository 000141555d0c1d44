package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The verdict of the whole service is told to an address from a file, which nothing shows.
func TestTheVerdictIsPosted(t *testing.T) {
	t.Parallel()
	posts := make(chan string, 10)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Errorf("read the post: %v", err)
		}
		posts <- r.URL.Path + " " + r.Header.Get("X-Shadowdiff-Signature") + " " + string(body)
	}))
	t.Cleanup(receiver.Close)
	folder := t.TempDir()
	for name, text := range map[string]string{"url": receiver.URL + "/hooks/s3cret\n", "secret": "p3pper\n"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	hook := "webhook: {url_file: " + filepath.Join(folder, "url") + ", secret_file: " + filepath.Join(folder, "secret") + ", on: [equivalent]}\n"
	tr := startTrial(t, proves+hook)
	tr.send(150, "/items")
	var post string
	select {
	case post = <-posts:
	case <-time.After(60 * time.Second):
		t.Fatal("nothing was posted within 60 s")
	}
	for _, part := range []string{"/hooks/s3cret sha256=", `"verdict":"equivalent"`, `"previous":"undecided"`, `"page":"` + tr.svc.AdminURL() + `/"`, `"delivery":1`} {
		if !strings.Contains(post, part) {
			t.Errorf("%q is not in %s", part, post)
		}
	}
	text, err := os.ReadFile(tr.file)
	if err != nil {
		t.Fatal(err)
	}
	plain := strings.Replace(string(text), "url_file: "+filepath.Join(folder, "url"), "url: "+receiver.URL+"/hooks/s3cret2", 1)
	done := tr.reload(plain)
	if len(done.Changed) != 1 || done.Changed[0] != "webhook.url" {
		t.Errorf("changed: %q", done.Changed)
	}
	shown := tr.log.String()
	for _, path := range []string{"/", "/metrics", "/api/v1/report", "/api/v1/activity", "/api/v1/reload"} {
		shown += tr.page(path)
	}
	for _, secret := range []string{"s3cret", "p3pper"} {
		if strings.Contains(shown, secret) {
			t.Errorf("%s is shown", secret)
		}
	}
	if !strings.Contains(shown, `shadowdiff_webhook_total{outcome="ok"} 1`) {
		t.Error("the post is not counted")
	}
}
