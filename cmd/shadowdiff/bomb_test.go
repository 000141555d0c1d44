package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"
)

// gzipped is text as a whole gzip stream; many of them behind each other are one too.
func gzipped(t *testing.T, text []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err == nil {
		_, err = w.Write(text)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestABombIsNotInflated: a candidate whose small answers inflate to a gigabyte differs, and costs neither memory nor
// time; the client gets what the primary sent, byte for byte.
func TestABombIsNotInflated(t *testing.T) { // not beside others, whose memory would be counted
	const member, members = 1 << 20, 950 // within the cap as sent
	text := gzipped(t, []byte(`{"price":1}`))
	bomb := bytes.Repeat(gzipped(t, make([]byte, member)), members)
	answer := func(body []byte) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(body)
		}
	}
	primary, secondary, candidate := newPeer(t, "p", answer(text)), newPeer(t, "s", answer(text)), newPeer(t, "c", answer(bomb))
	l := serveFile(t, addresses(primary, secondary, candidate)+"shadow: {timeout: 60s}\n")
	const requests = 2
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	c := l.connect()
	for range requests {
		if got := c.get("/price", "Accept-Encoding: gzip"); got != "200 "+string(text) {
			t.Fatalf("the client got %q", got)
		}
	}
	counts := l.settled()
	runtime.ReadMemStats(&after)
	if counts.Compared != requests || counts.CapturedBytes != 0 {
		t.Errorf("%+v", counts)
	}
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 256<<20 { // inflated it would be a gigabyte for each
		t.Errorf("%d bytes were allocated", grown)
	}
	l.flush()
	var fields []string
	for _, f := range l.svc.db.Snapshot().Tallies.Fields {
		fields = append(fields, fmt.Sprint(f.Field))
	}
	if all := strings.Join(fields, " "); !strings.Contains(all, "body") {
		t.Errorf("the fields that differ are %q", all)
	}
}
