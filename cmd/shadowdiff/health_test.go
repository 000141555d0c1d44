package main

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// healthOf runs the command.
func healthOf(args ...string) (code int, out, errs string) {
	var stdout, stderr bytes.Buffer
	code = run(append([]string{"health"}, args...), stdio{in: strings.NewReader(""), out: &stdout, err: &stderr})
	return code, strings.TrimSpace(stdout.String()), strings.TrimSpace(stderr.String())
}

// A container asks its own process, and needs no token for it.
func TestHealthOfARunningService(t *testing.T) {
	l := serveFile(t, "primary: http://127.0.0.1:1\nweb: {token: a-long-token-of-this-test}\n")
	for _, flags := range [][]string{nil, {"-alive"}} {
		code, out, errs := healthOf(append([]string{"-url", l.svc.AdminURL()}, flags...)...)
		if code != exitOK || out != "ok" || errs != "" {
			t.Errorf("%v: %d, %q, %q", flags, code, out, errs)
		}
	}
}

// Not ready, not there and not shadowdiff are told apart.
func TestHealthThatIsNone(t *testing.T) {
	draining := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprint(w, `{"status":"draining"}`)
	}))
	defer draining.Close()
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	for _, tt := range []struct {
		args      []string
		code      int
		out, errs string
	}{
		{[]string{"-url", draining.URL}, exitUnready, "draining", ""},
		{[]string{"-url", other.URL}, exitTrouble, "", "not as shadowdiff does; is it the dashboard's address?"},
		{[]string{"-url", "http://" + silent.Addr().String(), "-timeout", "50ms"}, exitTrouble, "", "deadline exceeded"},
		{[]string{"-timeout", "0s"}, exitTrouble, "", "-timeout: must be above 0, is 0s"},
		{[]string{"-url", "127.0.0.1"}, exitTrouble, "", "-url: "},
		{[]string{"now"}, exitTrouble, "", `unexpected argument "now"`},
	} {
		code, out, errs := healthOf(tt.args...)
		if code != tt.code || out != tt.out || !strings.Contains(errs, tt.errs) || (errs == "") != (tt.errs == "") {
			t.Errorf("%v: %d, %q, %q", tt.args, code, out, errs)
		}
	}
}
