package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"shadowdiff/diff"
	"shadowdiff/multicast"
	"shadowdiff/normalize"
	"shadowdiff/store"
)

// BenchmarkServing measures requests a second through 32 keep-alive clients on loopback: a bare httputil.ReverseProxy, and
// the whole product with every exchange compared and recorded, where the three answers of 2 KB of JSON are the same, and
// where each has an id and a time of its own. "ratio" is against the bare one in the same run, and "compared/op" the share
// that was compared. Clients and upstreams share the machine with it.
//
//	go test -run '^$' -bench BenchmarkServing -benchtime 20000x -benchmem ./cmd/shadowdiff
func BenchmarkServing(b *testing.B) {
	var bare float64
	b.Run("bare", func(b *testing.B) {
		target, _ := url.Parse(benchUpstream(b, false))
		transport := &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true}
		defer transport.CloseIdleConnections()
		bare = benchClients(b, &http.Server{Handler: &httputil.ReverseProxy{Transport: transport, Rewrite: func(pr *httputil.ProxyRequest) {
			pr.SetURL(target)
			pr.SetXForwarded()
		}}})
	})
	for _, noisy := range []bool{false, true} {
		b.Run(map[bool]string{false: "same", true: "noisy"}[noisy], func(b *testing.B) {
			cfg := multicast.DefaultConfig()
			cfg.Primary, cfg.Secondary, cfg.Candidate = benchUpstream(b, noisy), benchUpstream(b, noisy), benchUpstream(b, noisy)
			proxy, stop := benchPipeline(b, cfg)
			rate := benchClients(b, proxy.Server())
			b.ReportMetric(rate/bare, "ratio")
			stop()
			b.ReportMetric(float64(proxy.Counts().Compared)/float64(b.N), "compared/op")
		})
	}
}

// benchPipeline is the product without its pages.
func benchPipeline(b *testing.B, cfg multicast.Config) (proxy *multicast.Proxy, stop func()) {
	normalizer, err := normalize.New(normalize.DefaultConfig())
	if err != nil {
		b.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	stored := store.DefaultConfig()
	stored.Path = filepath.Join(b.TempDir(), "bench.db")
	db, err := store.Open(stored, store.Deps{Log: log, Judge: diff.DefaultConfig()})
	if err != nil {
		b.Fatal(err)
	}
	run, err := db.StartRun("", store.Fingerprint{Candidate: cfg.Candidate, Rules: normalizer.Fingerprint()})
	if err != nil {
		b.Fatal(err)
	}
	comparer := diff.NewComparer(normalizer, new(normalize.Names), diff.DefaultLimits())
	deliver := func(ex *multicast.Exchange) { db.Record(run.ID, comparer.Compare(ex)) }
	proxy, err = multicast.New(cfg, multicast.Deps{Log: log, Deliver: func() multicast.Deliver { return deliver }})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() { _ = proxy.Run(ctx) })
	all.Go(func() { _ = db.Run(ctx) })
	return proxy, func() {
		cancel()
		all.Wait()
		_ = db.Close()
	}
}

// benchUpstream answers whatever it is asked, at the least cost.
func benchUpstream(b *testing.B, noisy bool) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = listener.Close() })
	item := `{"sku":"sku-0001","name":"Oak table","price":13.50,"stock":7,"tags":["oak","new"]}`
	var number atomic.Int64
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				r := bufio.NewReader(conn)
				for {
					for line := ""; line != "\r\n"; {
						if line, err = r.ReadString('\n'); err != nil {
							return
						}
					}
					id, at := int64(1), time.Unix(0, 0).UTC()
					if noisy {
						id, at = number.Add(1), time.Now().UTC()
					}
					body := fmt.Sprintf(`{"id":"%016d","generated_at":"%s","items":[%s]}`, id, at.Format(time.RFC3339Nano), strings.Repeat(item+",", 23)+item)
					_, _ = fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
				}
			}()
		}
	}()
	return "http://" + listener.Addr().String()
}

// benchClients sends b.N requests and returns how many went through in a second.
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
	for range 32 {
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
