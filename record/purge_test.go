package record

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"shadowdiff/multicast"
	"shadowdiff/traffic"
)

// TestAPurgeTakesWhatIsUnderWay: what is in a file, what waits for one, and what is answered only later. What is asked
// afterwards is recorded.
func TestAPurgeTakesWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	arrived, answer := make(chan struct{}), make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			close(arrived)
			<-answer
		}
		io.WriteString(w, `{"password":"geheim"}`)
	}))
	t.Cleanup(slow.Close)
	p := newTape(t, func(cfg *multicast.Config) { cfg.Primary = slow.URL })
	p.get("/written")
	p.eventually("one is written", func(c multicast.RecordCounts) bool { return c.Written == 1 })
	p.get("/waits")
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.get("/slow")
	}()
	<-arrived
	if n, err := p.recorder.Within([]traffic.Span{{Until: time.Now()}}); err != nil || n.Files != 1 {
		t.Errorf("to be looked through: %+v, %v", n, err)
	}
	n, err := p.recorder.Purge(t.Context(), []traffic.Span{{Until: time.Now()}})
	if err != nil || n.Exchanges < 1 || n.Files != 1 {
		t.Errorf("purged %+v, %v", n, err)
	}
	close(answer)
	<-done
	p.get("/later")
	p.eventually("all is told of", func(c multicast.RecordCounts) bool { // what waits may have come to the recorder after the purge only
		purged := c.Dropped[multicast.ReasonPurged]
		return c.Written+purged == 4 && purged == 3-n.Exchanges
	})
	recs := p.read()
	if len(recs) != 1 || recs[0].Request.Target != "/later" {
		t.Errorf("recorded: %+v", recs)
	}
	p.stop()
	if _, err := p.recorder.Purge(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "has stopped") {
		t.Errorf("a purge after the end: %v", err)
	}
}

// TestTheFolderIsGivenBack by a recorder that was never run, and kept from a second one until then.
func TestTheFolderIsGivenBack(t *testing.T) {
	t.Parallel()
	cfg := multicast.DefaultConfig()
	cfg.Record.Dir = t.TempDir()
	first, err := New(cfg.Record, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	_, err = New(cfg.Record, nil, slog.New(slog.DiscardHandler))
	if err == nil || !strings.Contains(err.Error(), "record.dir: the folder for recordings "+cfg.Record.Dir+" is in use by process ") {
		t.Errorf("a second one: %v", err)
	}
	for range 2 {
		if err := first.Close(); err != nil {
			t.Error(err)
		}
	}
	again, err := New(cfg.Record, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}
