package multicast

import (
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A server that fails for every connection says it once a second, and how often it has not; a panic is always told.
func TestServerLogDoesNotFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &logBuffer{}
		log := ServerLog(slog.New(slog.NewTextHandler(out, nil)))
		for range 1000 {
			log.Print("http: Accept error: accept tcp: too many open files; retrying in 1s")
		}
		log.Print("http: panic serving 127.0.0.1:1: oh")
		log.Print("http: panic serving 127.0.0.1:2: oh")
		<-time.After(time.Second)
		log.Print("http: TLS handshake error from 127.0.0.1:1: EOF")
		text := out.String()
		if n := strings.Count(text, "too many open files"); n != 1 {
			t.Errorf("%d lines of one trouble", n)
		}
		if n := strings.Count(text, "level=ERROR msg=\"serving panicked\""); n != 2 {
			t.Errorf("%d panics were told", n)
		}
		if !strings.Contains(text, "TLS handshake error from 127.0.0.1:1: EOF\" left_out=999") {
			t.Errorf("the log:\n%s", text)
		}
	})
}
