package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/signal"
	"syscall"
	"time"
)

const healthHelp = `
Usage: shadowdiff health [-url URL] [-alive] [-timeout TIME]

Asks a running shadowdiff whether clients may be sent to it (GET /readyz), or with -alive whether the process serves at all
(GET /healthz). It is the health check of a container that holds nothing but this binary. No token is needed.

Exit code: 0 when it is so, 1 when it says that it is not, 2 when it cannot be asked.

  shadowdiff health
  shadowdiff health -alive -url http://127.0.0.1:8881`

// exitUnready is health's code for a process that answers, and takes no clients.
const exitUnready = 1

// runHealth asks a running service how it is.
func runHealth(args []string, std stdio) int {
	fs := newFlagSet("health", healthHelp)
	address := fs.String("url", "http://127.0.0.1:8881", "the dashboard's `URL`")
	ca := fs.String("ca", "", "trust the certificates in this PEM `FILE`, too")
	alive := fs.Bool("alive", false, "ask whether the process serves at all")
	timeout := fs.Duration("timeout", 3*time.Second, "give up after this `TIME`")
	if code, done := parse(fs, args, std); done {
		return code
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	path := "/readyz"
	if *alive {
		path = "/healthz"
	}
	status, good, err := "", false, fmt.Errorf("-timeout: must be above 0, is %s", *timeout)
	if *timeout > 0 {
		status, good, err = askHealth(ctx, *address, *ca, path, *timeout)
	}
	switch {
	case err != nil:
		fmt.Fprintf(std.err, "shadowdiff health: %s\n", err)
		return exitTrouble
	case !good:
		fmt.Fprintln(std.out, status)
		return exitUnready
	}
	fmt.Fprintln(std.out, status)
	return exitOK
}

// askHealth answers with the status that the service gives itself, and whether that is a good one.
func askHealth(ctx context.Context, address, ca, path string, timeout time.Duration) (status string, good bool, err error) {
	base, err := dashboardURL(address)
	if err != nil {
		return "", false, fmt.Errorf("-url: %w", err)
	}
	client, err := newAPIClient("", ca, func(string) (string, bool) { return "", false })
	if err != nil {
		return "", false, err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+path, nil)
	if err != nil {
		return "", false, fmt.Errorf("%s: %w", base, err)
	}
	resp, err := client.send(base, "health", req)
	if err != nil {
		return "", false, err
	}
	defer resp.Body.Close()
	var said struct {
		Status string `json:"status"`
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, 64<<10)).Decode(&said); err != nil || said.Status == "" {
		return "", false, fmt.Errorf("%s answered %s, and not as shadowdiff does; is it the dashboard's address?", base+path, resp.Status)
	}
	return said.Status, resp.StatusCode == http.StatusOK, nil
}
