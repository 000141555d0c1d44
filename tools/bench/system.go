package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"shadowdiff/tools/rig"
)

// system is a proxy that was started for a trial.
type system struct {
	addr    string // for clients
	child   *rig.Child
	service *rig.Service // ours
	dir     string
}

func (b *bench) start(ctx context.Context, t trial, dir string) (*system, error) {
	switch t.proxy {
	case direct:
		return &system{addr: b.primary.addrs[t.primary()][b.row(t)]}, nil
	case bare:
		child, err := rig.Start("bare", self(), "-primary", b.primary.url(t.primary(), b.row(t)), "bare")
		if err != nil {
			return nil, err
		}
		line, err := child.Line(ctx, func(string) bool { return true })
		return &system{addr: strings.TrimSpace(line), child: child}, err
	case nginx, haproxy:
		return b.startRival(t, dir)
	default:
		return b.startOurs(ctx, t, dir)
	}
}

// startOurs starts shadowdiff as it is, but for what the trial asks.
func (b *bench) startOurs(ctx context.Context, t trial, dir string) (*system, error) {
	shadow, sample, row := same, "100%", b.row(t)
	if t.sample != "" {
		shadow, sample = t.shadow, t.sample
	}
	yaml := fmt.Sprintf("primary: %s\nsecondary: %s\ncandidate: %s\nsample: %s\nshadow: {concurrency: %d, queue: %d, memory: %s}\n",
		b.primary.url(t.primary(), row), b.secondary.url(shadow, row), b.candidate.url(shadow, row), sample,
		b.cfg.concurrency, b.cfg.queue, b.cfg.memory)
	service, err := rig.StartService(ctx, b.cfg.binary, dir, yaml)
	if err != nil {
		return nil, err
	}
	s := &system{addr: service.Clients, child: service.Child, service: service, dir: dir}
	if t.sample == "" {
		if err := service.SetShadowing(ctx, false); err != nil {
			s.stop()
			return nil, err
		}
	}
	return s, nil
}

// stop ends the proxy; it was asked all questions, so it need not be waited for.
func (s *system) stop() {
	if s.child != nil {
		_ = s.child.Stop(200 * time.Millisecond)
	}
}

// ready waits until the proxy answers. A port may be open before what is behind it is.
func (s *system) ready(ctx context.Context, want *answer) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true}}
	for {
		err := s.answers(ctx, &client, want)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("it does not answer: %w", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (s *system) answers(ctx context.Context, client *http.Client, want *answer) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.addr+"/products/1", nil)
	if err != nil {
		return err
	}
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err == nil && !want.check(body) {
		err = fmt.Errorf("%s with another body", res.Status)
	}
	return err
}

// reading is what a proxy has used and counted at a moment.
type reading struct {
	cpu    time.Duration
	rss    int64
	counts rig.Counts
}

func (s *system) reading(ctx context.Context) (r reading, err error) {
	if s.child == nil {
		return r, nil
	}
	if r.rss, err = rig.RSS(s.child.PID()); err != nil {
		return r, err
	}
	if s.service != nil {
		r.counts, err = s.service.Counts(ctx)
	}
	return r, err
}

// clock reads the proxy's CPU time.
func (r *reading) clock(s *system) (err error) {
	if s.child != nil {
		r.cpu, err = rig.CPU(s.child.PID())
	}
	return err
}

// startRival starts nginx or HAProxy in the foreground, with everything it writes below dir.
func (b *bench) startRival(t trial, dir string) (*system, error) {
	addr, err := rig.FreeAddr()
	if err != nil {
		return nil, err
	}
	var text, path string
	var args []string
	row := b.row(t)
	primary := b.primary.addrs[t.primary()][row]
	file := filepath.Join(dir, "proxy.conf")
	if t.proxy == nginx {
		var mirrors []string
		if t.sample != "" {
			mirrors = []string{b.secondary.addrs[t.shadow][row], b.candidate.addrs[t.shadow][row]}
		}
		text = nginxConfig(addr, dir, primary, mirrors)
		path, args = program("nginx"), []string{"-e", "stderr", "-p", dir, "-c", file}
	} else {
		text = haproxyConfig(addr, primary)
		path, args = program("haproxy"), []string{"-db", "-f", file}
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		return nil, err
	}
	child, err := rig.Start(string(t.proxy), path, args...)
	return &system{addr: addr, child: child}, err
}

// nginxConfig is nginx tuned as one would: kept connections on both sides, no access log.
func nginxConfig(addr, dir, primary string, mirrors []string) string {
	var upstreams, locations, mirrored strings.Builder
	for i, mirror := range mirrors {
		fmt.Fprintf(&upstreams, "  upstream mirror%d { server %s; keepalive 128; keepalive_requests 1000000000; }\n", i, mirror)
		fmt.Fprintf(&mirrored, " mirror /mirror%d;", i)
		fmt.Fprintf(&locations, "    location = /mirror%d { internal; proxy_pass http://mirror%d$request_uri; }\n", i, i)
	}
	return `daemon off;
worker_processes auto;
worker_rlimit_nofile 16384;
pid ` + dir + `/nginx.pid;
error_log stderr crit;
events { worker_connections 8192; }
http {
  access_log off;
  client_body_temp_path ` + dir + `/body;
  proxy_temp_path ` + dir + `/proxy;
  fastcgi_temp_path ` + dir + `/fastcgi;
  uwsgi_temp_path ` + dir + `/uwsgi;
  scgi_temp_path ` + dir + `/scgi;
  keepalive_requests 1000000000;
  upstream primary { server ` + primary + `; keepalive 128; keepalive_requests 1000000000; }
` + upstreams.String() + `  server {
    listen ` + addr + `;
    proxy_http_version 1.1;
    proxy_set_header Connection "";
    proxy_set_header Host $http_host;
    proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
    proxy_set_header X-Forwarded-Proto $scheme;
    location / {` + mirrored.String() + ` proxy_pass http://primary; }
` + locations.String() + `  }
}
`
}

// haproxyConfig is HAProxy tuned as one would.
func haproxyConfig(addr, primary string) string {
	return `global
  maxconn 4096
defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
  option forwardfor
  http-reuse always
frontend clients
  bind ` + addr + `
  default_backend primary
backend primary
  server primary ` + primary + `
`
}

// program finds a program that may be where only the superuser looks.
func program(name string) string {
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	return "/usr/sbin/" + name
}

// versions names what is measured with.
func versions() []string {
	list := []string{runtime.Version()}
	for _, name := range []string{"nginx", "haproxy"} {
		out, err := exec.Command(program(name), "-v").CombinedOutput()
		line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
		if err != nil {
			line = name + ": " + err.Error()
		}
		list = append(list, line)
	}
	return list
}

// machine names the machine.
func machine() string {
	model := "processors"
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(text)) {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				model = strings.TrimSpace(value)
				break
			}
		}
	}
	kernel, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	return fmt.Sprintf("%d × %s, Linux %s", runtime.NumCPU(), model, strings.TrimSpace(string(kernel)))
}
