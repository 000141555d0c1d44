package rig

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Service is shadowdiff as a child.
type Service struct {
	*Child
	Clients string // host and port for clients
	Admin   string // URL of the pages
	config  string // the file
	admin   http.Client
}

// StartService runs `shadowdiff serve` with a configuration, which is written below dir together with the store, and
// waits until it serves. Both listeners take ports of the kernel's choice.
func StartService(ctx context.Context, binary, dir, config string) (*Service, error) {
	file := filepath.Join(dir, "shadowdiff.yaml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		return nil, err
	}
	child, err := Start("shadowdiff", binary, "serve", "-config", file, "-listen", "127.0.0.1:0", "-admin", "127.0.0.1:0",
		"-db", filepath.Join(dir, "shadowdiff.db"))
	if err != nil {
		return nil, err
	}
	s := &Service{Child: child, config: file, admin: http.Client{
		Transport: &http.Transport{DisableKeepAlives: true}, // so that asking leaves nothing behind
		Timeout:   10 * time.Second,
	}}
	if err := s.announced(ctx); err != nil {
		_ = s.Stop(0)
		return nil, err
	}
	return s, nil
}

// announced waits for the log's first line, which names the addresses.
func (s *Service) announced(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	line, err := s.Line(ctx, func(line string) bool { return strings.Contains(line, `"msg":"serving"`) })
	if err != nil {
		return err
	}
	var serving struct{ Clients, Dashboard string }
	if err := json.Unmarshal([]byte(line), &serving); err != nil {
		return fmt.Errorf("reading %q: %w", line, err)
	}
	s.Clients, s.Admin = strings.TrimPrefix(serving.Clients, "http://"), serving.Dashboard
	return nil
}

// Counts reads the counters.
func (s *Service) Counts(ctx context.Context) (Counts, error) {
	var c Counts
	body, err := s.ask(ctx, http.MethodGet, "/api/v1/counters", nil)
	if err != nil {
		return c, err
	}
	if err := json.Unmarshal(body, &c); err != nil {
		return c, fmt.Errorf("reading the counters: %w", err)
	}
	return c, nil
}

// Judged reads how many exchanges the present run has compared, as the store has them.
func (s *Service) Judged(ctx context.Context) (int64, error) {
	var answer struct{ Compared int64 }
	body, err := s.ask(ctx, http.MethodGet, "/api/v1/equivalence", nil)
	if err != nil {
		return 0, err
	}
	return answer.Compared, json.Unmarshal(body, &answer)
}

// SetShadowing turns the switch.
func (s *Service) SetShadowing(ctx context.Context, enabled bool) error {
	_, err := s.ask(ctx, http.MethodPut, "/api/v1/shadowing", fmt.Appendf(nil, `{"enabled": %t}`, enabled))
	return err
}

// Reload gives it another configuration. One that is wrong is an error, and the old one stays.
func (s *Service) Reload(ctx context.Context, config string) error {
	if err := os.WriteFile(s.config, []byte(config), 0o600); err != nil {
		return err
	}
	_, err := s.ask(ctx, http.MethodPost, "/api/v1/reload", nil)
	return err
}

// Metric reads one metric that has no labels.
func (s *Service) Metric(ctx context.Context, name string) (float64, error) {
	body, err := s.ask(ctx, http.MethodGet, "/metrics", nil)
	if err != nil {
		return 0, err
	}
	return metric(body, name)
}

// metric finds a metric without labels in Prometheus' text.
func metric(text []byte, name string) (float64, error) {
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		if value, ok := strings.CutPrefix(lines.Text(), name+" "); ok {
			return strconv.ParseFloat(value, 64)
		}
	}
	return 0, fmt.Errorf("there is no metric %s", name)
}

func (s *Service) ask(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, s.Admin+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	res, err := s.admin.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s: %s: %s", method, path, res.Status, answer)
	}
	return answer, err
}
