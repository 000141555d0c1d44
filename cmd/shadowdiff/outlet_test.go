package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// unread is a service in front of a primary that is down, so that each client's answer is told in the log, with the reader of
// the log as far as the first lines.
func unread(t *testing.T) (cmd *exec.Cmd, log io.ReadCloser, clients, dashboard string) {
	t.Helper()
	cmd = shadowdiff(t, "serve", "-listen", "127.0.0.1:0", "-admin", "127.0.0.1:0", "-primary", "http://127.0.0.1:1")
	log, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(3*time.Minute, func() { _ = cmd.Process.Kill() })
	t.Cleanup(func() {
		late.Stop()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for lines := bufio.NewScanner(log); lines.Scan(); {
		var entry struct{ Msg, Clients, Dashboard string }
		if json.Unmarshal(lines.Bytes(), &entry) == nil && entry.Msg == "serving" {
			return cmd, log, entry.Clients, entry.Dashboard
		}
	}
	t.Fatal("it does not serve")
	return nil, nil, "", ""
}

// ended asks a process to end, and wants it to in good order.
func ended(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	_ = cmd.Process.Signal(syscall.SIGTERM)
	if state, err := cmd.Process.Wait(); err != nil || state.ExitCode() != exitOK {
		t.Errorf("it ended with %v, %v", state, err)
	}
}

// wantStatus asks once; an answer that is held up fails.
func wantStatus(t *testing.T, method, address, body string, want int) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	res, err := (&http.Client{Timeout: 90 * time.Second}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != want {
		t.Errorf("%s %s: %s", method, address, res.Status)
	}
}

// Whoever reads the log is gone: clients are served on.
func TestALogWhoseReaderIsGone(t *testing.T) {
	t.Parallel()
	cmd, log, clients, _ := unread(t)
	_ = log.Close()
	for range 3 {
		wantStatus(t, http.MethodGet, clients, "", http.StatusBadGateway)
	}
	ended(t, cmd)
}

// Whoever reads the log is stuck: nothing waits for it, neither clients nor the switch nor the end. What there was no room for
// is told when it goes on.
func TestALogThatNobodyReads(t *testing.T) {
	t.Parallel()
	cmd, log, clients, dashboard := unread(t)
	for i := range 2500 { // lines, of which a pipe and what waits for it hold fewer
		wantStatus(t, http.MethodPut, dashboard+"/api/v1/shadowing", fmt.Sprintf(`{"enabled": %t}`, i%2 == 0), http.StatusOK)
	}
	wantStatus(t, http.MethodGet, clients, "", http.StatusBadGateway)
	rest := bufio.NewScanner(log)
	for rest.Scan() {
		if strings.Contains(rest.Text(), "lines of the log were left out") {
			break
		}
	}
	var entry struct {
		LeftOut int `json:"left_out"`
	}
	if err := json.Unmarshal(rest.Bytes(), &entry); err != nil || entry.LeftOut == 0 {
		t.Errorf("the log says %s, %v", rest.Bytes(), err)
	}
	_ = log.Close()
	ended(t, cmd)
}

// It ends, too, where nobody has read what waits.
func TestALogThatNobodyReadsHoldsUpNoEnd(t *testing.T) {
	t.Parallel()
	nobody, taken := io.Pipe()
	defer nobody.Close()
	log, out := openLog(taken)
	for i := range 2 * outletLines {
		log.Info(fmt.Sprint(i))
	}
	out.close()
}
