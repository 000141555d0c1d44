package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"golang.org/x/net/netutil"

	"shadowdiff/multicast"
)

// part is something that runs until its context ends: Run(ctx) of a package, or a server.
type part struct {
	name   string
	cancel context.CancelFunc
	done   chan struct{} // closed when it has ended
	err    error         // why, once done is closed; nil when it was asked to
}

// parts are the service's parts. They are stopped one by one, so each has a context of its own.
type parts struct {
	log *slog.Logger
	mu  sync.Mutex // guards all
	all []*part
}

// start runs a part in a goroutine that stop waits for. The part keeps the values of ctx and not its end. A part that
// fails, by an error or by a panic, is logged and takes no other part with it.
func (ps *parts) start(ctx context.Context, name string, run func(context.Context) error) *part {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	p := &part{name: name, cancel: cancel, done: make(chan struct{})}
	ps.mu.Lock()
	ps.all = append(ps.all, p)
	ps.mu.Unlock()
	go func() {
		defer close(p.done)
		err := contained(ctx, run)
		if err != nil && !(ctx.Err() != nil && errors.Is(err, context.Canceled)) {
			p.err = fmt.Errorf("%s: %w", name, err)
			ps.log.Error("a part has failed", "part", name, "err", err)
		}
	}()
	return p
}

// contained runs a part and makes a panic of it an error.
func contained(ctx context.Context, run func(context.Context) error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	return run(ctx)
}

// stop ends one part, waits for it and returns why it had failed, if it had. One that was never started has ended.
func (ps *parts) stop(name string) error {
	if p := ps.named(name); p != nil {
		p.cancel()
		<-p.done
		return p.err
	}
	return nil
}

// tell asks one part to end, and does not wait for it.
func (ps *parts) tell(name string) {
	if p := ps.named(name); p != nil {
		p.cancel()
	}
}

func (ps *parts) named(name string) *part {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	for _, p := range ps.all {
		if p.name == name {
			return p
		}
	}
	return nil
}

// failed names the parts that have ended though nobody asked them to.
func (ps *parts) failed() (names []string) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	for _, p := range ps.all {
		select {
		case <-p.done:
			if p.err != nil {
				names = append(names, p.name)
			}
		default:
		}
	}
	return names
}

// serveClients and servePages are the two servers as parts.

func (s *service) serveClients(ctx context.Context) error {
	server, cfg := s.proxy.Server(), s.cfg.Load()
	if cfg.Mode == modeSink {
		server.Handler = s.proxy.Sink()
	}
	return serveHTTP(ctx, server, s.proxy.Listener(s.traffic), cfg.Server.Drain, s.log)
}

func (s *service) servePages(ctx context.Context) error {
	return serveHTTP(ctx, s.web.HTTP(), netutil.LimitListener(s.admin, readersMost(multicast.OpenFiles())), time.Second, s.log)
}

// readersMost is how many connections the pages have at once, of so many file descriptors; those beyond wait. Clients and
// the primary need the descriptors, and who opens connections to the pages without end is not to take them.
func readersMost(files int64) int {
	const most, least = 1024, 16
	if files == 0 {
		return most
	}
	return int(min(max(files/8, least), most))
}

// serveHTTP serves on l until ctx ends, then lets the requests under way finish for as long as drain.
func serveHTTP(ctx context.Context, srv *http.Server, l net.Listener, drain time.Duration, log *slog.Logger) error {
	failed := make(chan error, 1)
	go func() {
		if srv.TLSConfig != nil {
			failed <- srv.ServeTLS(l, "", "")
		} else {
			failed <- srv.Serve(l)
		}
	}()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
	defer cancel()
	if err := srv.Shutdown(grace); err != nil {
		log.Warn("requests were cut off: not finished within the time to drain", "address", l.Addr().String(), "duration", drain)
		if err := srv.Close(); err != nil {
			return err
		}
	}
	if err := <-failed; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
