package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"shadowdiff/multicast"
)

// newCertificate writes a certificate for this name, signed by itself, and its key.
func newCertificate(t *testing.T, name string) (cert, key string) {
	t.Helper()
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	writeCertificate(t, name, cert, key)
	return cert, key
}

func writeCertificate(t *testing.T, name, cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []struct {
		name, kind string
		bytes      []byte
	}{{cert, "CERTIFICATE", der}, {key, "PRIVATE KEY", secret}} {
		text := pem.EncodeToMemory(&pem.Block{Type: file.kind, Bytes: file.bytes})
		if err := os.WriteFile(file.name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// trusting is how a client speaks that trusts one certificate.
func trusting(t *testing.T, cert string, protocols ...string) *tls.Config {
	t.Helper()
	text, err := os.ReadFile(cert)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		t.Fatalf("no certificate in %s", cert)
	}
	return &tls.Config{RootCAs: roots, ServerName: "shop.example", NextProtos: protocols}
}

// TestClientsOverTLS: HTTP/1.1 and HTTP/2 as the client wishes, and no old version of TLS.
func TestClientsOverTLS(t *testing.T) {
	t.Parallel()
	primary, secondary, candidate := newPeer(t, "primary", nil), newPeer(t, "secondary", nil), newPeer(t, "candidate", nil)
	cert, key := newCertificate(t, "shop.example")
	l := serveFile(t, addresses(primary, secondary, candidate)+fmt.Sprintf("tls: {cert: %s, key: %s}\n", cert, key))
	if !strings.HasPrefix(l.svc.ProxyURL(), "https://") || !strings.Contains(l.log.String(), "clients="+l.svc.ProxyURL()) {
		t.Errorf("the log does not tell %s", l.svc.ProxyURL())
	}
	for _, protocols := range [][]string{nil, {"http/1.1"}} {
		if got := l.connectTLS(trusting(t, cert, protocols...)).get("/one"); got != "200 primary" {
			t.Errorf("over HTTP/1.1, %v: %q", protocols, got)
		}
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: trusting(t, cert), ForceAttemptHTTP2: true}}
	defer client.CloseIdleConnections()
	for range 3 {
		res, err := client.Get(l.svc.ProxyURL() + "/two")
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || res.Proto != "HTTP/2.0" || string(body) != "primary" {
			t.Errorf("over HTTP/2: %s %q, %v", res.Proto, body, err)
		}
	}
	counts := l.settled()
	if counts.Compared != 5 {
		t.Errorf("%+v", counts)
	}
	for _, p := range []*peer{primary, secondary, candidate} {
		if got := p.seen().Header.Get("X-Forwarded-Proto"); got != "https" {
			t.Errorf("the %s was told %q", p.name, got)
		}
	}
	old := trusting(t, cert)
	old.MaxVersion = tls.VersionTLS11
	conn, err := tls.Dial("tcp", l.svc.traffic.Addr().String(), old)
	if err == nil {
		conn.Close()
		t.Error("TLS 1.1 was spoken")
	}
}

// TestARenewedCertificateNeedsNoRestart: open connections go on, new ones see the new certificate, and files that do not
// belong together change nothing.
func TestARenewedCertificateNeedsNoRestart(t *testing.T) {
	t.Parallel()
	p := newPeer(t, "primary", nil)
	cert, key := newCertificate(t, "shop.example")
	text := addresses(p, p, p) + fmt.Sprintf("tls: {cert: %s, key: %s}\n", cert, key)
	l := serveFile(t, text)
	old := trusting(t, cert)
	open := l.connectTLS(old)
	open.get("/a")
	if done := l.reload(text); len(done.Changed) != 0 {
		t.Errorf("changed: %v", done.Changed)
	}
	l.connectTLS(old).get("/a")

	otherCert, otherKey := newCertificate(t, "shop.example")
	l.refused(strings.Replace(text, key, otherKey, 1))
	if faults := l.refused(strings.Replace(text, key, otherKey, 1)); len(faults) != 1 || !glob("4:*: tls.key: *private key does not match public key").MatchString(faults[0]) {
		t.Errorf("faults: %q", faults)
	}
	l.connectTLS(old).get("/a")

	writeCertificate(t, "shop.example", cert, key) // renewed in place
	renewed := trusting(t, cert)
	l.reload(text)
	l.connectTLS(renewed).get("/b")
	l.reload(strings.NewReplacer(cert, otherCert, key, otherKey).Replace(text)) // other files
	l.connectTLS(trusting(t, otherCert)).get("/c")
	if got := open.get("/d"); got != "200 primary" {
		t.Errorf("the first connection got %q", got)
	}
	conn, err := tls.Dial("tcp", l.svc.traffic.Addr().String(), old)
	if err == nil {
		conn.Close()
		t.Error("the old certificate is still shown")
	}
}

// TestUpstreamFilesAreReadAgain: the authority of the upstreams' certificates is another after the reload.
func TestUpstreamFilesAreReadAgain(t *testing.T) {
	t.Parallel()
	cert, key := newCertificate(t, "shop.example")
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	upstream := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "secure") }))
	upstream.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	upstream.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	upstream.StartTLS()
	t.Cleanup(upstream.Close)
	authority, _ := newCertificate(t, "shop.example") // not the one that has signed it
	l := serveFile(t, fmt.Sprintf("primary: %[1]s\nsecondary: %[1]s\ncandidate: %[1]s\nupstream: {tls: %[2]s}\n"+
		"shadow: {secondary: {tls: %[2]s}, candidate: {tls: %[2]s}}\n",
		upstream.URL, "{ca: "+authority+", server_name: shop.example}"))
	c := l.connect()
	if got := c.get("/a"); got != "502 bad gateway\n" {
		t.Errorf("from a primary that nobody vouches for: %q", got)
	}
	right, err := os.ReadFile(cert)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(authority, right, 0o600); err != nil {
		t.Fatal(err)
	}
	if done := l.svc.reload(t.Context(), "test"); !done.Good || len(done.Changed) != 0 {
		t.Errorf("%+v", done)
	}
	if got := c.get("/a"); got != "200 secure" {
		t.Errorf("after the reload: %q", got)
	}
	counts := l.settled()
	for _, role := range []string{"secondary", "candidate"} {
		if counts.Shadow[role].Outcome[multicast.OutcomeOK] != 1 {
			t.Errorf("%s: %+v", role, counts.Shadow[role])
		}
	}
}
