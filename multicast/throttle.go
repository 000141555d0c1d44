package multicast

import (
	"log"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"
)

// throttle logs one line a second at most, with the number of lines left out since the last one: what fails may fail
// for every request.
type throttle struct {
	log    *slog.Logger
	last   atomic.Int64 // Unix time in ns
	missed atomic.Int64
}

func (t *throttle) warn(message string, attrs ...any) {
	now, last := time.Now().UnixNano(), t.last.Load()
	if now-last < int64(time.Second) || !t.last.CompareAndSwap(last, now) {
		t.missed.Add(1)
		return
	}
	for i, attr := range attrs {
		if a, ok := attr.(slog.Attr); ok && a.Key == "err" {
			attrs[i] = slog.String(a.Key, unquoted(a.Value.String()))
		}
	}
	if missed := t.missed.Swap(0); missed > 0 {
		attrs = append(attrs, slog.Int64("left_out", missed))
	}
	t.log.Warn(message, attrs...)
}

// unquoted leaves out of an error what net/http cites of what a peer has sent, lines of a head and bytes of a body: it may
// be secret.
func unquoted(err string) string {
	var b strings.Builder
	for {
		before, cited, found := strings.Cut(err, `"`)
		b.WriteString(before)
		if !found {
			return b.String()
		}
		b.WriteString(`"…"`)
		err = afterQuote(cited)
	}
}

// afterQuote is what follows the end of a quoted string, in Go's syntax.
func afterQuote(s string) string {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return s[i+1:]
		}
	}
	return ""
}

// ServerLog is for the ErrorLog of an http.Server. What happens to one connection may happen to all, as when no file
// descriptor is left or a scanner comes by: so one line a second is logged at most. Panics are logged always.
func ServerLog(to *slog.Logger) *log.Logger {
	return log.New(&serverLog{throttle: throttle{log: to}}, "", 0)
}

type serverLog struct {
	throttle
	full func() // called when no client can be accepted for want of a file descriptor, which is told nowhere else; may be nil
}

func (l *serverLog) Write(line []byte) (int, error) {
	text := strings.TrimPrefix(strings.TrimSpace(string(line)), "http: ")
	if l.full != nil && strings.HasPrefix(text, "Accept error") && outOfFiles(text) {
		l.full()
	}
	if strings.HasPrefix(text, "panic") {
		l.log.Error("serving panicked", slog.String("err", text))
	} else {
		l.warn("server trouble", slog.String("err", text))
	}
	return len(line), nil
}
