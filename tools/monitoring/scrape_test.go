package monitoring

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const root = "../.."

// scrape are the labels of each metric that the running product tells.
type scrape map[string]map[string]bool

// real is the scrape of a process that has compared a few hundred requests under a guard and a ramp. All tests share it.
var real = sync.OnceValues(func() (scrape, error) {
	dir, err := os.MkdirTemp("", "monitoring")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	text, err := scrapeProduct(ctx, dir)
	if err != nil {
		return nil, err
	}
	return parseScrape(text), nil
})

// scrapeProduct builds shadowdiff, has it compare, and returns what it tells.
func scrapeProduct(ctx context.Context, dir string) (string, error) {
	binary := filepath.Join(dir, "shadowdiff")
	build := exec.CommandContext(ctx, "go", "build", "-o", binary, "./cmd/shadowdiff")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, out)
	}
	shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"price": 1}`)
	}))
	defer shop.Close()
	config := filepath.Join(dir, "shadowdiff.yaml")
	text := fmt.Sprintf(`
listen: 127.0.0.1:0
primary: %[1]s
secondary: %[1]s
candidate: %[1]s
guard: {primary_p99: 1m, primary_errors: 50%%, memory: 1TiB, cpu: 100%%}
ramp: {steps: [100%%]}
store: {path: %[2]s/shadowdiff.db}
web: {listen: "127.0.0.1:0"}
`, shop.URL, dir)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return "", err
	}
	service := exec.CommandContext(ctx, binary, "serve", "-config", config)
	logs, err := service.StderrPipe()
	if err != nil {
		return "", err
	}
	if err := service.Start(); err != nil {
		return "", err
	}
	defer func() {
		_ = service.Process.Signal(syscall.SIGTERM)
		_ = service.Wait()
	}()
	clients, admin, err := announced(logs)
	if err != nil {
		return "", err
	}
	for { // some figures are there only when there is much to tell by, and only while it is fresh
		for range 100 {
			if _, err := get(ctx, clients+"/products/1"); err != nil {
				return "", err
			}
		}
		told, err := get(ctx, admin+"/metrics")
		if err != nil || strings.Contains(told, "\nshadowdiff_latency_p99_ratio ") && strings.Contains(told, `shadowdiff_guard_used_ratio{limit="primary_p99"}`) {
			return told, err
		}
	}
}

// announced reads the log's line that says where clients and the pages are served, and goes on reading.
func announced(logs io.Reader) (clients, admin string, err error) {
	lines := bufio.NewScanner(logs)
	for lines.Scan() {
		var line struct{ Msg, Clients, Dashboard string }
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "serving" {
			go func() { _, _ = io.Copy(io.Discard, logs) }()
			return line.Clients, line.Dashboard, nil
		}
	}
	return "", "", fmt.Errorf("the process has not served: %w", lines.Err())
}

func get(ctx context.Context, url string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("GET %s: %s", url, resp.Status)
	}
	return string(body), err
}

var (
	sampleLine = regexp.MustCompile(`(?m)^([a-z0-9_]+)(?:\{(.*)\})? \S+$`)
	labelName  = regexp.MustCompile(`(?:^|,)([a-z_]+)="`)
)

// parseScrape reads Prometheus' text. Prometheus itself adds job and instance.
func parseScrape(text string) scrape {
	s := scrape{}
	for _, line := range sampleLine.FindAllStringSubmatch(text, -1) {
		if s[line[1]] == nil {
			s[line[1]] = map[string]bool{"job": true, "instance": true}
		}
		for _, label := range labelName.FindAllStringSubmatch(line[2], -1) {
			s[line[1]][label[1]] = true
		}
	}
	return s
}

func scraped(t *testing.T) scrape {
	t.Helper()
	s, err := real()
	if err != nil {
		t.Fatal(err)
	}
	if len(s) < 50 || !s["shadowdiff_compared_total"]["route"] {
		t.Fatalf("a poor scrape: %q", slices.Sorted(maps.Keys(s)))
	}
	return maps.Clone(s)
}
