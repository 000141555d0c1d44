package multicast

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// BenchmarkProxy measures requests a second through 8 keep-alive clients on loopback: a bare httputil.ReverseProxy with
// the same transport, and this proxy with shadowing off, at 1 % and at 100 % with two healthy shadows, and at 100 % with
// two that take 200 ms and two that hang. All are measured in one run, since only their ratio means anything on another
// machine; "ratio" is against the bare one, and "compared/op" the share of exchanges that were delivered.
//
//	go test -run '^$' -bench BenchmarkProxy -benchtime 20000x ./multicast
func BenchmarkProxy(b *testing.B) {
	upstream := newBenchUpstream(b, 0)
	var bareRate float64
	b.Run("bare", func(b *testing.B) {
		target, _ := url.Parse(upstream)
		t, _ := parseTarget(upstream)
		transport, err := primaryTransport(DefaultConfig().Upstream, t, new(descriptors), func() {})
		if err != nil {
			b.Fatal(err)
		}
		defer transport.CloseIdleConnections()
		bare := &httputil.ReverseProxy{Transport: transport, BufferPool: newBuffers(), Rewrite: func(pr *httputil.ProxyRequest) {
			pr.SetURL(target)
			pr.SetXForwarded()
			pr.Out.Host = pr.In.Host
		}}
		bareRate = benchClients(b, &http.Server{Handler: bare})
	})
	slow, hanging := newBenchUpstream(b, 200*time.Millisecond), newBenchUpstream(b, time.Hour)
	for _, c := range []struct {
		name   string
		share  Share
		shadow string
	}{{"off", 0, upstream}, {"1%", 1000, upstream}, {"100%", Whole, upstream}, {"slow", Whole, slow}, {"hanging", Whole, hanging}} {
		b.Run(c.name, func(b *testing.B) {
			cfg := DefaultConfig()
			cfg.Primary, cfg.Secondary, cfg.Candidate, cfg.Sample = upstream, c.shadow, c.shadow, c.share
			cfg.Server.Drain = time.Second
			var delivered atomic.Int64
			p, err := New(cfg, Deps{
				Log:     slog.New(slog.DiscardHandler),
				Deliver: func() Deliver { return func(*Exchange) { delivered.Add(1) } },
			})
			if err != nil {
				b.Fatal(err)
			}
			on := c.share > 0
			p.SetShadowing(&on, nil)
			ctx, cancel := context.WithCancel(context.Background())
			var run sync.WaitGroup
			run.Go(func() { _ = p.Run(ctx) })
			rate := benchClients(b, p.Server())
			cancel()
			run.Wait()
			b.ReportMetric(rate/bareRate, "ratio")
			b.ReportMetric(float64(delivered.Load())/float64(b.N), "compared/op")
		})
	}
}

func newBenchUpstream(b *testing.B, wait time.Duration) string {
	body := strings.Repeat("x", 2000)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if wait > 0 {
			select {
			case <-time.After(wait):
			case <-r.Context().Done():
			}
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, body)
	})}
	go func() { _ = server.Serve(listener) }()
	b.Cleanup(func() { _ = server.Close() })
	return "http://" + listener.Addr().String()
}

// benchClients sends b.N requests over 8 connections, and returns how many went through in a second.
func benchClients(b *testing.B, server *http.Server) float64 {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	go func() { _ = server.Serve(listener) }()
	defer server.Close()
	var left atomic.Int64
	left.Store(int64(b.N))
	b.ReportAllocs()
	b.ResetTimer()
	start := time.Now()
	var clients sync.WaitGroup
	for range 8 {
		clients.Go(func() {
			conn, err := net.Dial("tcp", listener.Addr().String())
			if err != nil {
				b.Error(err)
				return
			}
			defer conn.Close()
			r := bufio.NewReader(conn)
			for left.Add(-1) >= 0 {
				_, _ = io.WriteString(conn, "GET /products/17?a=b HTTP/1.1\r\nHost: shop.example\r\nUser-Agent: bench\r\nAccept: */*\r\n\r\n")
				res, err := http.ReadResponse(r, nil)
				if err != nil || res.StatusCode != 200 {
					b.Errorf("%v, %v", res, err)
					return
				}
				_, _ = io.Copy(io.Discard, res.Body)
			}
		})
	}
	clients.Wait()
	b.StopTimer()
	return float64(b.N) / time.Since(start).Seconds()
}
