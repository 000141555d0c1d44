package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"shadowdiff/tools/rig"
)

// Modes of an upstream; in each it has a listener for each row.
const (
	same    = "same"    // answers at once, always with the same bytes
	noisy   = "noisy"   // answers at once, with an id and a time of its own each time
	slow    = "slow"    // as same, after a delay
	hanging = "hanging" // takes the request and never answers
	control = "control" // no mode: where the counts are asked for
)

func modes() []string { return []string{same, noisy, slow, hanging} }

// upstreamConfig is what an upstream is started with.
type upstreamConfig struct {
	size  int // bytes of a body
	role  string
	delay time.Duration // of slow ones
	rows  int           // whose connections are counted apart
}

// open counts the connections of one listener.
type open struct{ now, most atomic.Int64 }

func (o *open) add(n int64) {
	if now := o.now.Add(n); now > o.most.Load() {
		o.most.Store(now)
	}
}

// serveControl answers with the most connections that each listener, by mode and row, had at once since it was asked before.
func serveControl(counts map[string][]*open) (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	go func() {
		_ = http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			most := make(map[string][]int64)
			for mode, rows := range counts {
				for _, o := range rows {
					most[mode] = append(most[mode], o.most.Swap(o.now.Load()))
				}
			}
			_ = json.NewEncoder(w).Encode(most)
		}))
	}()
	return listener.Addr().String(), nil
}

// upstream is a child that answers.
type upstream struct {
	*rig.Child
	addrs map[string][]string // by mode and row
}

// startUpstream starts this program as an upstream.
func startUpstream(ctx context.Context, role string, cfg upstreamConfig) (*upstream, error) {
	child, err := rig.Start(role, self(), "-size", fmt.Sprint(cfg.size), "-role", role, "-delay", cfg.delay.String(), "-rows", fmt.Sprint(cfg.rows), "upstream")
	if err != nil {
		return nil, err
	}
	u := &upstream{Child: child}
	line, err := child.Line(ctx, func(string) bool { return true })
	if err == nil {
		err = json.Unmarshal([]byte(line), &u.addrs)
	}
	if err != nil {
		_ = child.Stop(0)
		return nil, fmt.Errorf("starting the %s: %w", role, err)
	}
	return u, nil
}

// url is where a row finds a mode.
func (u *upstream) url(mode string, row int) string { return "http://" + u.addrs[mode][row] }

// most reads the most connections by mode and row, and begins to count anew.
func (u *upstream) most() (map[string][]int64, error) {
	res, err := http.Get(u.url(control, 0))
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	var most map[string][]int64
	return most, json.NewDecoder(res.Body).Decode(&most)
}

// endWithInput ends this process when its standard input ends, which is when its parent has.
func endWithInput() {
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}
