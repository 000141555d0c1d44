package web

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"testing"
)

// readEvent returns the next event's lines, without comments.
func readEvent(t *testing.T, in *bufio.Scanner) string {
	t.Helper()
	var event []string
	for in.Scan() {
		switch line := in.Text(); {
		case line == "" && len(event) > 0:
			return strings.Join(event, "\n")
		case line != "" && !strings.HasPrefix(line, ":") && !strings.HasPrefix(line, "retry:"):
			event = append(event, line)
		}
	}
	t.Fatalf("the stream ended: %v", in.Err())
	return ""
}

func TestEventsFollowTheSnapshots(t *testing.T) {
	r := newRig(t, shop("1"), shop("2"), nil)
	resp, err := r.client.Get(r.admin.URL + "/api/v1/events")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if got := resp.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Fatalf("type %q", got)
	}
	in := bufio.NewScanner(resp.Body)
	first := readEvent(t, in)
	if !strings.HasPrefix(first, "event: snapshot\nid: ") {
		t.Fatalf("first event %q", first)
	}
	r.ask(3, "/products/1")
	second := readEvent(t, in)
	if second == first || !strings.Contains(second, `data: {"version":`) {
		t.Errorf("after new counts: %q", second)
	}
}

// Shutting the server down ends the streams: nothing keeps a process alive.
func TestShutdownEndsTheStreams(t *testing.T) {
	r := newRig(t, shop("1"), shop("2"), nil)
	resp, err := r.client.Get(r.admin.URL + "/api/v1/events")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	in := bufio.NewScanner(resp.Body)
	readEvent(t, in)
	if err := r.admin.Config.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	for in.Scan() {
	}
	if err := in.Err(); err != nil {
		t.Errorf("the stream broke: %v", err)
	}
}

func TestTooManyStreams(t *testing.T) {
	r := newRig(t, shop("1"), shop("2"), nil)
	r.server.streams.Store(maxStreams)
	a := r.do(http.MethodGet, "/api/v1/events", "")
	if a.status != http.StatusServiceUnavailable || a.header.Get("Retry-After") == "" {
		t.Errorf("%d %v", a.status, a.header)
	}
	if n := r.server.streams.Load(); n != maxStreams {
		t.Errorf("%d streams counted after a refusal", n)
	}
}
