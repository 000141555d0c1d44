//go:build unix

package main

import (
	"io"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// Few file descriptors, shadows that take connections and never answer, and a crowd: no client goes without.
func TestShadowsLeaveDescriptorsToClients(t *testing.T) {
	t.Parallel()
	const clients, each = 40, 20
	primary := newPeer(t, "primary", nil)
	hanging := "http://" + silent(t)
	cmd := shadowdiff(t, "serve", "-listen", "127.0.0.1:0", "-admin", "127.0.0.1:0",
		"-primary", primary.URL, "-secondary", hanging, "-candidate", hanging)
	limited := exec.Command("/bin/sh", append([]string{"-c", `ulimit -n 160 && exec "$0" "$@"`, cmd.Path}, cmd.Args[1:]...)...)
	limited.Dir, limited.Env = cmd.Dir, cmd.Env
	s := awaitServing(start(t, limited, (*exec.Cmd).StderrPipe))
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
