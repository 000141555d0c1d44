package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// answering is a server that gives each path its answer.
func answering(t *testing.T, answers map[string]string) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Lane", answers["lane"])
		_, _ = io.WriteString(w, answers[r.URL.Path])
	}))
	t.Cleanup(server.Close)
	return server
}

// TestACaseSeesWhatTheServiceSaw: a sample that was exported is compared on a desk, under the same rules, with the same
// outcome.
func TestACaseSeesWhatTheServiceSaw(t *testing.T) {
	t.Parallel()
	primary := answering(t, map[string]string{
		"lane": "a", "/cart": `{"items":[{"id":1,"price":10},{"id":2,"price":7}],"tags":["x","y"],"at":"t1","${HOME}":1,"seed":3}`,
		"/bytes": "\x89PNG\x00\x81binary", "/equal": `{"a":1}`, "/unread": "\xff\xfe\x00a",
	})
	secondary := answering(t, map[string]string{
		"lane": "b", "/cart": `{"items":[{"id":2,"price":7},{"id":1,"price":10}],"tags":["y","x"],"at":"t2","${HOME}":1,"seed":4}`,
		"/bytes": "\x89PNG\x00\x81binary", "/equal": `{"a":1}`, "/unread": "\xff\xfe\x00a",
	})
	candidate := answering(t, map[string]string{
		"lane": "a", "/cart": `{"items":[{"id":2,"price":7},{"id":1,"price":10.5},{"id":3}],"tags":["y","x"],"at":null,"${HOME}":2,"seed":5}`,
		"/bytes": "\x89PNG\x00\x81binarY", "/equal": `{"a":1}`, "/unread": "\xff\xfe\x00b",
	})
	l := serveFile(t, fmt.Sprintf("primary: %s\nsecondary: %s\ncandidate: %s\n", primary.URL, secondary.URL, candidate.URL)+`
headers: {ignore: [X-Lane], compare: [Date-Of-Birth]}
rules:
  - {pair: "body.items", by: id}
  - {sort: body.tags, route: GET /cart}
  - {drop: body.seed}
  - {drop: body.tags, route: GET /elsewhere}
`)
	c := l.connect()
	for _, path := range []string{"/cart", "/bytes", "/equal", "/unread"} {
		c.get(path)
	}
	l.settled()
	type difference struct {
		Field        string          `json:"field"`
		LeftPointer  *string         `json:"left_pointer"`
		RightPointer *string         `json:"right_pointer"`
		Kind         string          `json:"kind"`
		Left         json.RawMessage `json:"left"`
		Right        json.RawMessage `json:"right"`
		Note         string          `json:"note"`
	}
	var kept struct {
		Items []struct {
			ID    int64
			Route string
		}
	}
	l.eventually("four samples", func() bool {
		if err := json.Unmarshal([]byte(l.page("/api/v1/samples")), &kept); err != nil {
			t.Fatal(err)
		}
		return len(kept.Items) == 4
	})
	for _, item := range kept.Items {
		if item.Route == "GET /unread" { // of which nothing is kept, so that two notes would be compared
			if status, text := l.ask(http.MethodGet, fmt.Sprintf("/api/v1/samples/%d/case", item.ID), ""); status != http.StatusConflict || !strings.Contains(text, "nothing of it was kept") {
				t.Errorf("%s: %d %s", item.Route, status, text)
			}
			continue
		}
		var sample struct{ Candidate, Control []difference }
		if err := json.Unmarshal([]byte(l.page(fmt.Sprintf("/api/v1/samples/%d", item.ID))), &sample); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "sample.json")
		if err := os.WriteFile(file, []byte(l.page(fmt.Sprintf("/api/v1/samples/%d/case", item.ID))), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("shadowdiff", "diff", "-json", "-case", file)
		out, _ := cmd.CombinedOutput()
		var seen struct {
			Equal       bool
			Differences []difference
			Noise       []difference
		}
		if err := json.Unmarshal(out, &seen); err != nil {
			t.Fatalf("%s: %v in %s", item.Route, err, out)
		}
		if wrong := cmp.Diff(sample.Candidate, seen.Differences); wrong != "" {
			t.Errorf("%s: the service against the case:\n%s", item.Route, wrong)
		}
		if wrong := cmp.Diff(sample.Control, seen.Noise); wrong != "" {
			t.Errorf("%s: the service's noise against the case's:\n%s", item.Route, wrong)
		}
		if want := map[string]int{"GET /cart": 1, "GET /bytes": 1, "GET /equal": 0}[item.Route]; cmd.ProcessState.ExitCode() != want || seen.Equal != (want == 0) {
			t.Errorf("%s: exit code %d, %s", item.Route, cmd.ProcessState.ExitCode(), out)
		}
		if item.Route == "GET /cart" && len(seen.Differences) != 4 {
			t.Errorf("GET /cart: %s", out)
		}
	}
}

// TestTheAPIPageShowsWhatIsAnswered runs the examples of the page that ask a service, against one. Of an answer that the page
// shortens (…) it looks for the keys.
func TestTheAPIPageShowsWhatIsAnswered(t *testing.T) {
	t.Parallel()
	shop := answering(t, map[string]string{"/products/7": `{"id":7,"price":10}`})
	cheaper := answering(t, map[string]string{"/products/7": `{"id":7,"price":9}`})
	l := serveFile(t, fmt.Sprintf("primary: %[1]s\nsecondary: %[1]s\ncandidate: %[2]s\n", shop.URL, cheaper.URL))
	l.connect().get("/products/7")
	l.settled()
	l.eventually("a sample", func() bool { return strings.Contains(l.page("/api/v1/samples"), `"id":1`) })
	list := sessions(t, "../../docs/api.md")
	if len(list) < 3 {
		t.Errorf("%d examples", len(list))
	}
	places := strings.NewReplacer("http://127.0.0.1:8881", l.svc.AdminURL(), "curl ", "curl -sSf ", "bin/shadowdiff", "shadowdiff",
		"samples/17/", "samples/1/")
	for _, s := range list {
		dir := t.TempDir()
		for _, step := range s.steps {
			cmd := exec.Command("sh", "-c", places.Replace(step.command))
			cmd.Dir = dir
			out, err := cmd.CombinedOutput()
			shown := strings.NewReplacer(shop.URL, "http://127.0.0.1:9001", l.svc.traffic.Addr().String(), "127.0.0.1:8880").Replace(string(out))
			switch wrong := cmp.Diff(step.output, shown); {
			case strings.Contains(step.output, "…"):
				for _, key := range keysOf(step.output) {
					if !strings.Contains(shown, key) {
						t.Errorf("line %d: $ %s\nno %s in what is answered (%v): %s", s.line, step.command, key, err, shown)
					}
				}
			case err != nil && cmd.ProcessState.ExitCode() != exitDifferent, wrong != "" && step.output != "":
				t.Errorf("line %d: $ %s\nthe page against what is answered (%v):\n%s", s.line, step.command, err, wrong)
			}
		}
	}
}
