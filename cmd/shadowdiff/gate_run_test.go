package main

import (
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A gate that waits for a run never takes that of the candidate before for it.
func TestAGateWaitsForItsRun(t *testing.T) {
	t.Parallel()
	tr := startTrial(t, proves)
	tr.send(150, "/items")
	gated("-url", tr.svc.AdminURL(), "-run", "v2", "-wait", "30ms").must(t, "a run that never came", exitTrouble, `no such run yet: "v2"`)
	done := make(chan said, 1)
	looks := tr.svc.db.Snapshot().Run.Name
	go func() { done <- gated("-url", tr.svc.AdminURL(), "-run", "v2", "-wait", "80s") }()
	if status, text := tr.ask(http.MethodPost, "/api/v1/runs", `{"name": "v2"}`); status/100 != 2 {
		t.Fatalf("POST /api/v1/runs: %d %s", status, text)
	}
	tr.price.Store(2)
	tr.send(60, "/items")
	(<-done).must(t, "the run that came", exitDifferent, "DIFFERENT: run v2")

	if status, text := tr.ask(http.MethodPost, "/api/v1/runs", `{"name": "v3"}`); status/100 != 2 {
		t.Fatalf("POST /api/v1/runs: %d %s", status, text)
	}
	gated("-url", tr.svc.AdminURL(), "-run", looks).must(t, "a run that has ended", exitEquivalent, "EQUIVALENT: "+looks)
	gated("-url", tr.svc.AdminURL(), "-run", "v2").must(t, "another one", exitDifferent, "DIFFERENT: run v2")
	tr.price.Store(1)
	tr.send(5, "/items")
	if status, text := tr.ask(http.MethodPost, "/api/v1/runs", `{"name": "v4"}`); status/100 != 2 {
		t.Fatalf("POST /api/v1/runs: %d %s", status, text)
	}
	gated("-url", tr.svc.AdminURL(), "-run", "v3", "-wait", "1h").must(t, "one that ended undecided", exitUndecided, "nothing more will come")
}

// The report is saved beside the verdict, in the form that its name says.
func TestAGateSavesTheReport(t *testing.T) {
	t.Parallel()
	tr := startTrial(t, proves)
	tr.price.Store(2)
	tr.send(60, "/prices")
	for name, holds := range map[string]string{"r.html": "<!doctype html>", "r.json": `"verdict":"different"`} {
		file := filepath.Join(t.TempDir(), name)
		gated("-url", tr.svc.AdminURL(), "-report", file).must(t, name, exitDifferent)
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), holds) || !strings.Contains(string(text), "body.price") {
			t.Errorf("%s: %s", name, text)
		}
	}
}

// A certificate that is not known is trouble at once; with -ca it is known.
func TestAGateTrustsItsAuthority(t *testing.T) {
	t.Parallel()
	tr := startTrial(t, proves)
	admin, err := url.Parse(tr.svc.AdminURL())
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewUnstartedServer(httputil.NewSingleHostReverseProxy(admin))
	front.Config.ErrorLog = log.New(io.Discard, "", 0)
	front.StartTLS()
	t.Cleanup(front.Close)
	gated("-url", front.URL, "-wait", "1h").must(t, "unknown", exitTrouble, "give its authority with -ca")
	file := filepath.Join(t.TempDir(), "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: front.Certificate().Raw})
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	gated("-url", front.URL, "-wait", "0", "-ca", file).must(t, "known", exitUndecided, "UNDECIDED")
}
