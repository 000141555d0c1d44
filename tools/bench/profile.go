package main

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// profiling is a file that is added to the product's command for a profile, and to nothing that is shipped.
//
//go:embed profile.go.in
var profiling []byte

// buildProfiled builds the product with that file, by an overlay, and returns the binary's path.
func buildProfiled(ctx context.Context, source, dir string) (string, error) {
	source, err := filepath.Abs(source)
	if err != nil {
		return "", err
	}
	added, overlay, binary := filepath.Join(dir, "profile.go"), filepath.Join(dir, "overlay.json"), filepath.Join(dir, "shadowdiff")
	if err := os.WriteFile(added, profiling, 0o600); err != nil {
		return "", err
	}
	replace, err := json.Marshal(map[string]map[string]string{
		"Replace": {filepath.Join(source, "cmd", "shadowdiff", "zz_profile.go"): added},
	})
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(overlay, replace, 0o600); err != nil {
		return "", err
	}
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-overlay", overlay, "-o", binary, "./cmd/shadowdiff")
	build.Dir, build.Env = source, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building for a profile: %w: %s", err, out)
	}
	return binary, nil
}

// profile begins or ends a profile.
func (s *system) profile(on bool) {
	if s.service == nil {
		return
	}
	sig := syscall.SIGUSR2
	if on {
		sig = syscall.SIGUSR1
	}
	_ = s.child.Signal(sig)
}

// keepProfile waits until a trial's profile is written, and keeps it, where profiles are asked for.
func (b *bench) keepProfile(ctx context.Context, t trial, s *system) error {
	if b.cfg.profile == "" || t.proxy != ours {
		return nil
	}
	name := filepath.Join(b.cfg.profile, profileName(t))
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	written := filepath.Join(s.dir, "shadowdiff.db.pprof.done")
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for {
		profile, err := os.ReadFile(written)
		if err == nil {
			return os.WriteFile(name, profile, 0o644)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for a profile: %w", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// profileName is a row's file; of several turns the last stays.
func profileName(t trial) string {
	name := t.String()
	if t.pace.fixed {
		name += ", fixed rate"
	}
	return strings.Join(strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune(" ,%", r) }), "-") + ".pprof"
}

// part is something that time goes to. A sample belongs to the first part of which a function is on its stack: the primary's
// is net/http's client, the server's what net/http does for a client before and after the proxy.
type part struct {
	name      string
	functions []string // as parts of their names
}

// parts are what the time is told by, from the most special to the most general.
func parts() []part {
	return []part{
		{"GC", []string{"runtime.gcBgMarkWorker", "runtime.gcAssistAlloc", "runtime.bgsweep", "runtime.bgscavenge", "runtime.gcStart"}},
		{"store", []string{"shadowdiff/store.(*DB).Run", "modernc.org/sqlite", "database/sql"}},
		{"recording", []string{"shadowdiff/store."}},
		{"normalising", []string{"shadowdiff/normalize."}},
		{"comparing", []string{"shadowdiff/diff.", "multicast.(*comparers)"}},
		{"shadows", []string{"multicast.(*flight).ask", "multicast.(*flight).leg", "multicast.(*shadow)", "multicast.(*plain)", "multicast.(*conn)"}},
		{"pages", []string{"shadowdiff/web."}},
		{"primary", []string{"net/http.(*persistConn)", "net/http.(*Transport)"}},
		{"proxy", []string{"multicast."}},
		{"server", []string{"net/http."}},
		{"scheduling", []string{"runtime."}},
	}
}

// partOf tells where a stack belongs.
func partOf(stack []string) string {
	for _, p := range parts() {
		for _, function := range stack {
			if slices.ContainsFunc(p.functions, func(s string) bool { return strings.Contains(function, s) }) {
				return p.name
			}
		}
	}
	return "rest"
}

// sumTraces adds up the text of `go tool pprof -traces -unit=us` by part, in microseconds, and beside it what of each is
// in system calls.
func sumTraces(r io.Reader) (all, calls map[string]float64, err error) {
	all, calls = make(map[string]float64), make(map[string]float64)
	var value float64
	var stack []string
	flush := func() {
		if len(stack) > 0 {
			name := partOf(stack)
			all[name] += value
			if strings.Contains(stack[0], "syscall") || strings.Contains(stack[0], "Syscall") {
				calls[name] += value
			}
		}
		stack = nil
	}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	inside := false
	for lines.Scan() {
		line := lines.Text()
		if strings.HasPrefix(line, "-----------+") {
			flush()
			inside = true
			continue
		}
		words := strings.Fields(line)
		if !inside || len(words) == 0 {
			continue
		}
		if number, ok := strings.CutSuffix(words[0], "us"); ok && len(stack) == 0 && len(words) > 1 {
			if value, err = strconv.ParseFloat(number, 64); err != nil {
				return nil, nil, fmt.Errorf("the trace has %q", line)
			}
			words = words[1:]
		}
		stack = append(stack, strings.Join(words, " "))
	}
	flush()
	if len(all) == 0 {
		return nil, nil, errors.Join(errors.New("the profile is empty"), lines.Err())
	}
	return all, calls, lines.Err()
}

// explain prints where the time went in each profile.
func (b *bench) explain(ctx context.Context, w io.Writer) error {
	names := []string{"all"}
	for _, p := range parts() {
		names = append(names, p.name)
	}
	names = append(names, "rest")
	t := table{append([]string{"CPU µs/request (of it system calls)"}, names...)}
	for _, row := range b.results.trials {
		if row.proxy != ours || row.pace.fixed || !b.results.measured(row) {
			continue
		}
		times, err := b.times(ctx, row)
		if err != nil {
			return err
		}
		cells := []string{row.String()}
		for _, name := range names {
			cells = append(cells, times[name])
		}
		t = append(t, cells)
	}
	t.write(w)
	fmt.Fprintf(w, "\nthe last turn's profiles: go tool pprof -top -cum %s\n", filepath.Join(b.cfg.profile, "….pprof"))
	return nil
}

// times tells where the time of one row went.
func (b *bench) times(ctx context.Context, t trial) (map[string]string, error) {
	traces := exec.CommandContext(ctx, "go", "tool", "pprof", "-traces", "-unit=us", filepath.Join(b.cfg.profile, profileName(t)))
	traces.Dir = b.cfg.source
	out, err := traces.Output()
	if err != nil {
		return nil, fmt.Errorf("reading the profile of %s: %w", t, err)
	}
	all, calls, err := sumTraces(bytes.NewReader(out))
	if err != nil {
		return nil, err
	}
	turns := b.results.turns[t]
	requests := float64(max(turns[len(turns)-1].requests, 1))
	times := make(map[string]string)
	var sum, sumCalls float64
	for name, v := range all {
		times[name] = fmt.Sprintf("%.1f (%.1f)", v/requests, calls[name]/requests)
		sum, sumCalls = sum+v, sumCalls+calls[name]
	}
	times["all"] = fmt.Sprintf("%.1f (%.1f)", sum/requests, sumCalls/requests)
	return times, nil
}
