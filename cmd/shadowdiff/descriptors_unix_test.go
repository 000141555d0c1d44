//go:build unix

package main

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Few file descriptors, shadows that take connections and never answer, and a crowd: no client goes without.
func TestShadowsLeaveDescriptorsToClients(t *testing.T) {
	t.Parallel()
	const clients, each = 40, 20
	primary := newPeer(t, "primary", nil)
	hanging := "http://" + silent(t)
	s := serveLimited(t, "160", "-primary", primary.URL, "-secondary", hanging, "-candidate", hanging)
	failures := make(chan string, clients*each)
	var crowd sync.WaitGroup
	for range clients {
		crowd.Go(func() {
			own := &http.Client{Transport: &http.Transport{}, Timeout: time.Minute}
			defer own.CloseIdleConnections()
			for range each {
				res, err := own.Get(s.clients + "/a")
				if err != nil {
					failures <- err.Error()
					continue
				}
				if body, err := io.ReadAll(res.Body); err != nil || res.StatusCode != http.StatusOK || string(body) != "primary" {
					failures <- res.Status
				}
				_ = res.Body.Close()
			}
		})
	}
	crowd.Wait()
	close(failures)
	for failure := range failures {
		t.Error(failure)
	}
	if !strings.Contains(s.written(), `"limit":160,"configured":[64,64],"concurrency":[20,20]`) {
		t.Error("the log does not say that the limit is too low")
	}
}

// Idle clients take all descriptors that they can get: who is there already is answered, the pages answer, and so no supervisor
// takes the process for dead; who could not be taken is when others leave.
func TestIdleClientsLeaveDescriptorsToOthers(t *testing.T) {
	t.Parallel()
	primary := newPeer(t, "primary", nil)
	s := serveLimited(t, "128", "-primary", primary.URL)
	var crowd []net.Conn
	for range 200 {
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.clients, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		_ = conn.SetDeadline(time.Now().Add(90 * time.Second))
		crowd = append(crowd, conn)
	}
	s.await("the end of the descriptors", func(line string) bool {
		return strings.Contains(line, "clients wait to be taken") || strings.Contains(line, "too many open files")
	})
	ask := func(conn net.Conn) {
		t.Helper()
		_, _ = io.WriteString(conn, "GET /a HTTP/1.1\r\nHost: a\r\n\r\n")
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil || res.StatusCode != http.StatusOK {
			t.Errorf("a client got %v, %v", res, err)
		}
	}
	ask(crowd[0])
	res, err := (&http.Client{Timeout: 30 * time.Second}).Get(s.dashboard + "/healthz")
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("the health is %v, %v", res, err)
	}
	_ = res.Body.Close()
	last := len(crowd) - 1
	for _, conn := range crowd[:last] {
		_ = conn.Close()
	}
	ask(crowd[last])
	s.signal(syscall.SIGTERM)
	if code := s.wait(); code != exitOK {
		t.Errorf("it ended with %d", code)
	}
}

// serveLimited is serve with so many file descriptors.
func serveLimited(t *testing.T, files string, args ...string) *served {
	t.Helper()
	cmd := shadowdiff(t, append([]string{"serve", "-listen", "127.0.0.1:0", "-admin", "127.0.0.1:0"}, args...)...)
	limited := exec.Command("/bin/sh", append([]string{"-c", "ulimit -n " + files + ` && exec "$0" "$@"`, cmd.Path}, cmd.Args[1:]...)...)
	limited.Dir, limited.Env = cmd.Dir, cmd.Env
	return awaitServing(start(t, limited, (*exec.Cmd).StderrPipe))
}

// silent takes connections and says nothing.
func silent(t *testing.T) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			defer conn.Close()
		}
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		<-done
	})
	return listener.Addr().String()
}
