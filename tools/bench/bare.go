package main

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
)

// runBare serves a bare, tuned httputil.ReverseProxy until its standard input ends: what everything is measured against.
// Its first line is its address.
func runBare(primary string) error {
	target, err := url.Parse(primary)
	if err != nil {
		return err
	}
	proxy := &httputil.ReverseProxy{
		Transport: &http.Transport{
			MaxIdleConnsPerHost: 1024, // the default of 2 would dial for nearly every request
			DisableCompression:  true,
		},
		BufferPool: &buffers{},
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.SetXForwarded()
			r.Out.Host = r.In.Host
		},
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(listener.Addr())
	go endWithInput()
	return (&http.Server{Handler: proxy}).Serve(listener)
}

// buffers keep what the proxy copies bodies with.
type buffers struct{ pool sync.Pool }

func (b *buffers) Get() []byte {
	if p, ok := b.pool.Get().(*[]byte); ok {
		return *p
	}
	return make([]byte, 32<<10)
}

func (b *buffers) Put(buffer []byte) { b.pool.Put(&buffer) }
