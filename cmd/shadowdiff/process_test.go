package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"shadowdiff/multicast"
)

// process is a program that a test has started, with what it has written to one of its outputs.
type process struct {
	t     *testing.T
	cmd   *exec.Cmd
	lines chan string // closed when the program has ended its output
	ended sync.Once
	err   error // of Wait

	mu  sync.Mutex // guards log
	log bytes.Buffer
}

// start runs cmd and reads the output that its pipe method opens. The program is killed with the test, at the latest.
func start(t *testing.T, cmd *exec.Cmd, pipe func(*exec.Cmd) (io.ReadCloser, error)) *process {
	t.Helper()
	out, err := pipe(cmd)
	if err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, cmd: cmd, lines: make(chan string, 10_000)}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.lines)
		for scanner := bufio.NewScanner(out); scanner.Scan(); {
			p.mu.Lock()
			fmt.Fprintln(&p.log, scanner.Text())
			p.mu.Unlock()
			p.lines <- scanner.Text()
		}
	}()
	t.Cleanup(func() {
		p.signal(os.Kill)
		p.wait()
		if t.Failed() {
			t.Logf("%s wrote:\n%s", filepath.Base(cmd.Path), p.written())
		}
	})
	return p
}

func (p *process) signal(s os.Signal) {
	p.cmd.Process.Signal(s) // one that has ended needs none
}

// wait returns the exit code; -1 when a signal ended the program.
func (p *process) wait() int {
	p.ended.Do(func() {
		for range p.lines {
		}
		p.err = p.cmd.Wait()
	})
	return p.cmd.ProcessState.ExitCode()
}

func (p *process) written() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

// await reads lines until one satisfies the test.
func (p *process) await(what string, found func(line string) bool) {
	p.t.Helper()
	timeout := time.After(90 * time.Second)
	for {
		select {
		case line, ok := <-p.lines:
			if !ok {
				p.t.Fatalf("the program ended before %s:\n%s", what, p.written())
			}
			if found(line) {
				return
			}
		case <-timeout:
			p.t.Fatalf("no %s within 90 s:\n%s", what, p.written())
		}
	}
}

// shop is one instance of the toy shop as a process.
type shop struct {
	*process
	url string
}

// startShops builds the toy shop and starts its three instances.
func startShops(t *testing.T) (primary, secondary, candidate shop) {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "upstream")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "shadowdiff/fixtures/upstream")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	one := func(role string) shop {
		cmd := exec.Command(binary, "-listen", "127.0.0.1:0", "-role", role)
		s := shop{process: start(t, cmd, (*exec.Cmd).StdoutPipe)}
		s.await("its address", func(line string) bool {
			s.url, _, _ = strings.Cut(line, " ")
			return strings.HasPrefix(line, "http://")
		})
		return s
	}
	return one("primary"), one("secondary"), one("candidate")
}

// served is `shadowdiff serve` as a process of this test binary, race detector included, on free ports.
type served struct {
	*process
	clients, dashboard string // addresses
}

func serveProcess(t *testing.T, args ...string) *served {
	t.Helper()
	args = append([]string{"serve", "-listen", "127.0.0.1:0", "-admin", "127.0.0.1:0"}, args...)
	return awaitServing(start(t, shadowdiff(t, args...), (*exec.Cmd).StderrPipe))
}

// awaitServing waits until the command serves.
func awaitServing(p *process) *served {
	p.t.Helper()
	s := &served{process: p}
	s.await("ready", func(line string) bool {
		var entry struct{ Msg, Clients, Dashboard string }
		json.Unmarshal([]byte(line), &entry) // lines that are no entry are not the one awaited
		s.clients, s.dashboard = entry.Clients, entry.Dashboard
		return entry.Msg == "serving"
	})
	s.eventually("readiness", func() bool {
		res, err := http.Get(s.dashboard + "/readyz")
		if err != nil {
			return false
		}
		defer res.Body.Close()
		return res.StatusCode == http.StatusOK
	})
	return s
}

// eventually asks until the answer is yes.
func (s *served) eventually(what string, ask func() bool) {
	s.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for timeout := time.After(90 * time.Second); !ask(); {
		select {
		case <-tick.C:
		case <-timeout:
			s.t.Fatalf("no %s within 90 s", what)
		}
	}
}

// get reads JSON from the API.
func (s *served) get(path string, into any) {
	s.t.Helper()
	res, err := http.Get(s.dashboard + path)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	if err := json.NewDecoder(res.Body).Decode(into); err != nil || res.StatusCode != http.StatusOK {
		s.t.Fatalf("GET %s: %s, %v", path, res.Status, err)
	}
}

func (s *served) counters() (c multicast.Counts) {
	s.t.Helper()
	s.get("/api/v1/counters", &c)
	return c
}

// settled waits until every request has found its place, and returns the counters.
func (s *served) settled() (c multicast.Counts) {
	s.t.Helper()
	s.eventually("end of all exchanges", func() bool {
		c = s.counters()
		return c.Open == 0 && c.Queue == 0 && c.Exchanged == c.Compared+sum(c.Unknown)
	})
	return c
}

// sum adds up counts by reason or outcome.
func sum[K comparable](counts map[K]int64) (n int64) {
	for _, c := range counts {
		n += c
	}
	return n
}

// shown is what the dashboard's API says of the run.
func (s *served) shown() (e equivalence) {
	s.t.Helper()
	s.get("/api/v1/equivalence?limit=500", &e)
	return e
}

type equivalence struct {
	Run         struct{ ID int64 }
	Compared    int64
	Verdict     string
	Differences []struct {
		Field     string
		Confirmed bool
	}
}

// confirmed reports whether a difference in this field is, on any route or on all of them together.
func (e equivalence) confirmed(field string) bool {
	for _, d := range e.Differences {
		if d.Field == field && d.Confirmed {
			return true
		}
	}
	return false
}
