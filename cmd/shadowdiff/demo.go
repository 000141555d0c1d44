package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"shadowdiff/diff"
	"shadowdiff/fixtures"
	"shadowdiff/multicast"
)

const demoHelp = `
Usage: shadowdiff demo [-for TIME] [-json] [-clean]

Runs the whole product in one process: a toy shop three times over (primary, secondary, candidate), 8 clients
that ask it about 1,000 times a second through the proxy, and the dashboard. All three shops are noisy: their
answers differ each time in a time stamp, an id, a random boolean. The candidate also has known faults.
Within seconds the faults are found, and the noise is not taken for one.

Nothing is kept: the counts live in a folder that is removed at the end.

Examples:

  shadowdiff demo                    until Ctrl-C, then the verdict
  shadowdiff demo -for 30s -json     the verdict after 30 s, as GET /api/v1/equivalence gives it
  shadowdiff demo -clean             a candidate without faults

Exit code: 0 when it ran to its end, whatever the verdict; 2 on trouble.`

const (
	demoAlpha   = 0.01 // chance that noise is ever marked in one run
	demoClients = 8
	demoRate    = 1000 // requests a second, of all clients together
)

// demo is one run of the demonstration.
type demo struct {
	length time.Duration // 0: until interrupted
	json   bool
	clean  bool
	std    stdio
	faults []fixtures.Fault // the candidate's

	svc     *service
	crowd   fixtures.Traffic
	started time.Time
}

func runDemo(args []string, std stdio) int {
	d := demo{std: std}
	fs := newFlagSet("demo", demoHelp)
	fs.DurationVar(&d.length, "for", 0, "end after this `time`, such as 30s, with the verdict (default: at Ctrl-C)")
	fs.BoolVar(&d.json, "json", false, "print the verdict as JSON on standard output, and nothing else there")
	fs.BoolVar(&d.clean, "clean", false, "give the candidate no faults")
	if code, done := parse(fs, args, std); done {
		return code
	}
	if d.length < 0 {
		fmt.Fprintf(std.err, "shadowdiff demo: -for: must be 0 (until Ctrl-C) or more, is %s\n", d.length)
		return exitTrouble
	}
	if !d.clean {
		d.faults = fixtures.Faults()
	}
	read, unread := signal.NotifyContext(context.Background(), syscall.SIGPIPE) // as when piped to head: nobody waits for a verdict
	defer unread()
	ctx, stop := signal.NotifyContext(read, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	context.AfterFunc(ctx, stop) // a second Ctrl-C does not wait for the verdict
	if err := d.run(ctx); err != nil {
		fmt.Fprintf(std.err, "shadowdiff demo: %v\n", err)
		return exitTrouble
	}
	return exitOK
}

// run opens everything, sends traffic until ctx or the time ends, and prints the verdict.
func (d *demo) run(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "shadowdiff-demo-")
	if err != nil {
		return fmt.Errorf("making a folder for the counts: %w", err)
	}
	defer os.RemoveAll(dir)
	shops, err := openShops(d.faults)
	if err != nil {
		return err
	}
	defer shops.close()
	log := slog.New(slog.NewTextHandler(d.std.err, &slog.HandlerOptions{Level: slog.LevelWarn}))
	defer catchStray(log)()
	if d.svc, err = newService(demoConfig(dir, shops), source{}, log); err != nil {
		return err
	}
	return d.serve(ctx)
}

// serve runs the service around the traffic: it is up before the first request and until the verdict has been read.
func (d *demo) serve(ctx context.Context) error {
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	asking, end := context.WithCancelCause(ctx)
	defer end(nil)
	var background sync.WaitGroup
	var failed error
	background.Go(func() {
		failed = d.svc.Run(serving)
		end(errors.New("the service ended before its time"))
	})
	answer, err := d.ask(asking)
	stop()
	background.Wait()
	if err := errors.Join(failed, err); err != nil {
		return err
	}
	return d.printVerdict(answer)
}

// ask sends traffic, shows how it goes, and reads the verdict when all that was asked has been counted.
func (d *demo) ask(ctx context.Context) (answer []byte, err error) {
	d.welcome()
	d.started = time.Now()
	asking := ctx
	if d.length > 0 {
		var cancel context.CancelFunc
		asking, cancel = context.WithTimeout(ctx, d.length)
		defer cancel()
	}
	d.crowd = fixtures.Traffic{URL: d.svc.ProxyURL(), Clients: demoClients, Rate: demoRate, Seed: 1, Server: shopName(multicast.Primary)}
	shown := newScreen(d.std.err).show(d.status)
	err = d.crowd.Run(asking)
	shown()
	if err != nil {
		return nil, err
	}
	// Interrupted or out of time, what follows is to be done all the same.
	rest, cancel := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
	defer cancel()
	if err := d.settle(rest); err != nil {
		return nil, err
	}
	return d.fetch(rest)
}

// settle waits until every exchange has been delivered, and has it written.
func (d *demo) settle(ctx context.Context) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		c := d.svc.proxy.Counts()
		done := c.Compared
		for _, n := range c.Unknown {
			done += n
		}
		if c.Open == 0 && c.Queue == 0 && done == c.Exchanged {
			return d.svc.db.Flush(ctx)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%d of %d exchanges were never delivered", c.Exchanged-done, c.Exchanged)
		}
	}
}

// fetch reads the verdict from the API, as anybody would.
func (d *demo) fetch(ctx context.Context) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.svc.AdminURL()+"/api/v1/equivalence?limit=1000", nil)
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	res, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return nil, fmt.Errorf("reading the verdict: %w", err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %.200s", res.Status, body)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the verdict: %w", err)
	}
	return body, nil
}

// printVerdict prints the API's answer as it is, or as a person wants to read it. Clients that were not served as they
// should be are trouble, whatever the verdict.
func (d *demo) printVerdict(answer []byte) error {
	if d.json {
		fmt.Fprintf(d.std.out, "%s\n", bytes.TrimSpace(answer))
	} else {
		var v diff.Verdict
		if err := json.Unmarshal(answer, &v); err != nil {
			return fmt.Errorf("reading the verdict: %w", err)
		}
		demoVerdict{&v, d.faults, d.crowd.Counts()}.print(d.std.out)
	}
	if c := d.crowd.Counts(); !c.Good() {
		return fmt.Errorf("clients were not all served from the primary: %v %s", c, c.LastErr)
	}
	return nil
}

// demoConfig is the default configuration with everything in one process and in dir.
func demoConfig(dir string, shops *shops) config {
	cfg := defaultConfig()
	cfg.Listen = "127.0.0.1:0"
	cfg.Web.Listen = freeAddress(cfg.Web.Listen)
	cfg.Primary, cfg.Secondary, cfg.Candidate = shops.url(multicast.Primary), shops.url(multicast.Secondary), shops.url(multicast.Candidate)
	cfg.Verdict.Alpha = demoAlpha
	cfg.Store.Path = filepath.Join(dir, "shadowdiff.db")
	return cfg
}

// freeAddress answers with the preferred address when nobody listens there, else with any port of the same host.
func freeAddress(preferred string) string {
	ln, err := net.Listen("tcp", preferred)
	if err != nil {
		host, _, _ := net.SplitHostPort(preferred)
		return net.JoinHostPort(host, "0")
	}
	ln.Close()
	return preferred
}
