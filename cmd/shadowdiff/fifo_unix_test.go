//go:build unix

package main

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func newFIFO(t *testing.T, file string) {
	t.Helper()
	if err := syscall.Mkfifo(file, 0o600); err != nil {
		t.Fatal(err)
	}
}

// A file that has become a pipe is refused: to read it could take for ever.
func TestAPipeIsNotReadAgain(t *testing.T) {
	t.Parallel()
	p := newPeer(t, "primary", nil)
	l := serveFile(t, addresses(p, p, p))
	if err := os.Remove(l.file); err != nil {
		t.Fatal(err)
	}
	newFIFO(t, l.file)
	status, answer := l.ask(http.MethodPost, "/api/v1/reload", "")
	if status != http.StatusUnprocessableEntity || !strings.Contains(answer, "is not a regular file") {
		t.Errorf("%d %s", status, answer)
	}
	l.stop()
	if strings.Contains(l.log.String(), "abandoned") {
		t.Error("a reload was under way")
	}
}

// A reload that never ends does not keep the process from ending, nor others from being told.
func TestAReloadThatNeverEnds(t *testing.T) {
	t.Parallel()
	p := newPeer(t, "primary", nil)
	l := serveFile(t, addresses(p, p, p)+"server: {drain: 50ms}\n")
	l.svc.reloading <- struct{}{}
	l.svc.Hangup()
	l.stop()
	if !strings.Contains(l.log.String(), "a reload was abandoned") {
		t.Error("the log does not say so")
	}
}

// At the start the configuration may come through a pipe. A SIGHUP before it is there ends nothing, and is heeded.
func TestHangupDuringTheStart(t *testing.T) {
	t.Parallel()
	p := newPeer(t, "primary", nil)
	file := filepath.Join(t.TempDir(), "pipe")
	newFIFO(t, file)
	early := start(t, shadowdiff(t, "serve", "-listen", "127.0.0.1:0", "-admin", "127.0.0.1:0", "-config", file), (*exec.Cmd).StderrPipe)
	var pipe *os.File
	(&served{process: early}).eventually("a start that reads", func() bool {
		var err error
		pipe, err = os.OpenFile(file, os.O_WRONLY|syscall.O_NONBLOCK, 0)
		return err == nil
	})
	early.signal(syscall.SIGHUP)
	if _, err := pipe.WriteString(addresses(p, p, p)); err != nil {
		t.Fatal(err)
	}
	if err := pipe.Close(); err != nil {
		t.Fatal(err)
	}
	s := awaitServing(early)
	s.eventually("an answer to the signal", func() bool { return strings.Contains(s.written(), "is not a regular file") })
	s.signal(syscall.SIGTERM)
	if code := s.wait(); code != exitOK {
		t.Errorf("exit code %d", code)
	}
}
