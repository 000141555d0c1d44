package web

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"shadowdiff/diff"
	"shadowdiff/store"
)

// A backup is a download that opens as a store, with what was counted; it is noted in the activity, and not made for one
// who merely reads.
func TestBackupIsADownload(t *testing.T) {
	r := newRig(t, shop("10"), shop("12"), nil)
	r.ask(5, "/products/1")
	answer := r.do("POST", "/api/v1/backup", "")
	if answer.status != http.StatusOK || answer.header.Get("Content-Type") != "application/vnd.sqlite3" ||
		!strings.HasPrefix(answer.header.Get("Content-Disposition"), `attachment; filename="shadowdiff-2`) {
		t.Fatalf("answered %d with %v", answer.status, answer.header)
	}
	cfg := store.DefaultConfig()
	cfg.Path = filepath.Join(t.TempDir(), "copy.db")
	if err := os.WriteFile(cfg.Path, []byte(answer.body), 0o600); err != nil {
		t.Fatal(err)
	}
	copied, err := store.Open(cfg, store.Deps{Judge: diff.DefaultConfig()})
	if err != nil {
		t.Fatal(err)
	}
	defer copied.Close()
	s, err := copied.RunSnapshot(t.Context(), 1)
	if err != nil || s.Tallies.Total.Compared != 5 {
		t.Errorf("the copy has %+v, %v", s, err)
	}
	if said, err := r.db.Activity(t.Context(), 1); err != nil || len(said) != 1 || said[0].Action != "backup" {
		t.Errorf("activity: %+v, %v", said, err)
	}
	if got := r.do("GET", "/api/v1/backup", "").status; got != http.StatusMethodNotAllowed {
		t.Errorf("a GET is answered %d", got)
	}
}
