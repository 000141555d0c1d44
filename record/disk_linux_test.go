package record

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"shadowdiff/fixtures/disk"
	"shadowdiff/multicast"
)

// TestAFullDisk, really: clients are answered, what finds no room is counted, what was written before can be read, and
// when there is room again it goes on by itself.
func TestAFullDisk(t *testing.T) {
	dir := disk.Own(t)
	if dir == "" {
		return
	}
	disk.Mount(t, "tmpfs", dir, "tmpfs", 0, "size=1m")
	random := rand.NewChaCha8([32]byte{}) // which no packing makes smaller
	primary := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		body := make([]byte, 32<<10)
		random.Read(body)
		w.Write(append(body, "geheim"...))
	}))
	defer primary.Close()
	p := newTape(t, func(cfg *multicast.Config) {
		cfg.Primary, cfg.Record.Dir = primary.URL, filepath.Join(dir, "tape")
	})
	p.dir = filepath.Join(dir, "tape")
	p.get("/first")
	p.eventually("one is written", func(c multicast.RecordCounts) bool { return c.Written == 1 })
	ballast := filepath.Join(dir, "ballast")
	disk.Fill(t, ballast)
	for i := range 5 {
		p.get(fmt.Sprintf("/lost/%d", i))
	}
	p.eventually("the loss is counted", func(c multicast.RecordCounts) bool { return c.Dropped[multicast.ReasonDisk] == 5 })
	if recs := p.read(); len(recs) != 1 || recs[0].Request.Target != "/first" {
		t.Errorf("%d can be read", len(recs))
	}
	if n := strings.Count(p.logged(), "recordings cannot be written"); n != 1 || !strings.Contains(p.logged(), "no space left on device") {
		t.Errorf("it is logged %d times:\n%s", n, p.logged())
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	p.get("/kept")
	p.eventually("it goes on", func(c multicast.RecordCounts) bool { return c.Written == 2 })
	for i := range 40 { // more than there is room for
		p.get(fmt.Sprintf("/many/%d", i))
	}
	p.eventually("all are told of", func(c multicast.RecordCounts) bool { return c.Written+c.Dropped[multicast.ReasonDisk] == c.Sampled })
	p.stop()
	recs := p.read()
	written := p.proxy.Counts().Record.Written
	if int64(len(recs)) != written || len(recs) < 2 || recs[1].Request.Target != "/kept" {
		t.Errorf("%d can be read, of %d written", len(recs), written)
	}
}
