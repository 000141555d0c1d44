package multicast

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// authority issues certificates.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	file string // its own certificate
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t}
	a.cert = &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign,
	}
	pair, file, _ := a.issue(a.cert)
	a.key, a.file = pair.PrivateKey.(*ecdsa.PrivateKey), file
	a.cert, _ = x509.ParseCertificate(pair.Certificate[0])
	return a
}

// issue signs a certificate, with its own new key where it is the authority's.
func (a *authority) issue(template *x509.Certificate) (pair tls.Certificate, certFile, keyFile string) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	signer := a.key
	if signer == nil {
		signer = key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, signer)
	if err != nil {
		a.t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key},
		textFile(a.t, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		textFile(a.t, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}))
}

// server shows a certificate for this name or address and, if clients is set, wants one that it has signed.
func (a *authority) server(name string, until time.Time, clients *authority) string {
	a.t.Helper()
	template := &x509.Certificate{SerialNumber: big.NewInt(2), NotBefore: time.Unix(0, 0), NotAfter: until}
	if ip := net.ParseIP(name); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{name}
	}
	pair, _, _ := a.issue(template)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Server-Name", r.TLS.ServerName)
		answer(200, "hello")(w, r)
	}))
	server.EnableHTTP2 = true
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	if clients != nil {
		server.TLS.ClientAuth, server.TLS.ClientCAs = tls.RequireAndVerifyClientCert, x509.NewCertPool()
		server.TLS.ClientCAs.AddCert(clients.cert)
	}
	server.StartTLS()
	a.t.Cleanup(server.Close)
	return server.URL
}

// Certificates are checked, towards the primary and the shadows alike; one that is not good is a failure of that role and
// of nobody else.
func TestCertificatesOfUpstreams(t *testing.T) {
	ours, theirs := newAuthority(t), newAuthority(t)
	_, clientCert, clientKey := ours.issue(&x509.Certificate{SerialNumber: big.NewInt(3), NotAfter: time.Now().Add(time.Hour)})
	later, past := time.Now().Add(time.Hour), time.Now().Add(-time.Hour)
	good := ours.server("127.0.0.1", later, nil)
	const refused = "by the server, after the client's part of the handshake"
	for name, c := range map[string]struct {
		address string
		tls     TLSConfig
		detail  string // of a dial that fails
		asked   string // the name in the handshake
	}{
		"good":                     {good, TLSConfig{CA: ours.file}, "", ""},
		"of nobody we know":        {good, TLSConfig{}, "certificate of an unknown authority", ""},
		"of another authority":     {theirs.server("127.0.0.1", later, nil), TLSConfig{CA: ours.file}, "certificate of an unknown authority", ""},
		"for another name":         {ours.server("shop.example", later, nil), TLSConfig{CA: ours.file}, "certificate for another name", ""},
		"for the name we ask for":  {ours.server("shop.example", later, nil), TLSConfig{CA: ours.file, ServerName: "shop.example"}, "", "shop.example"},
		"too old":                  {ours.server("127.0.0.1", past, nil), TLSConfig{CA: ours.file}, "certificate not valid", ""},
		"not verified":             {theirs.server("shop.example", past, nil), TLSConfig{InsecureSkipVerify: true}, "", ""},
		"with a client's":          {ours.server("127.0.0.1", later, ours), TLSConfig{CA: ours.file, Cert: clientCert, Key: clientKey}, "", ""},
		"without a client's":       {ours.server("127.0.0.1", later, ours), TLSConfig{CA: ours.file}, refused, ""},
		"with the wrong client's":  {ours.server("127.0.0.1", later, theirs), TLSConfig{CA: ours.file, Cert: clientCert, Key: clientKey}, refused, ""},
		"the candidate has no TLS": {"https" + newHandlerServer(t, nil)[len("http"):], TLSConfig{CA: ours.file}, "not TLS", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newRawStage(t, good, good, c.address, func(cfg *Config) {
				cfg.Upstream.TLS.CA, cfg.Shadow.Secondary.TLS.CA, cfg.Shadow.Candidate.TLS = ours.file, ours.file, c.tls
			})
			for range 2 {
				if res, body := s.get("/a"); res.StatusCode != 200 || body != "hello" {
					t.Fatalf("the client got %d %q", res.StatusCode, body)
				}
				ex := s.exchange()
				res := ex.Response(Candidate)
				switch {
				case ex.Unknown != "" || ex.Response(Secondary).Outcome != OutcomeOK:
					t.Errorf("the exchange is %q, the secondary %s", ex.Unknown, ex.Response(Secondary).Outcome)
				case c.detail == "" && (res.Outcome != OutcomeOK || string(res.Body) != "hello" || res.Header.Get("X-Server-Name") != c.asked):
					t.Errorf("the candidate has %s %q, asked for %q", res.Outcome, res.Detail, res.Header.Get("X-Server-Name"))
				case c.detail == refused && res.Outcome == OutcomeReset: // the server closes behind what it says, which may overtake it
				case c.detail == refused && res.Outcome == OutcomeDial:
				case c.detail != "" && (res.Outcome != OutcomeDial || res.Detail != c.detail):
					t.Errorf("the candidate has %s %q", res.Outcome, res.Detail)
				}
			}
			s = newRawStage(t, c.address, "", "", func(cfg *Config) { cfg.Upstream.TLS = c.tls })
			if res, _ := s.get("/a"); (res.StatusCode == 200) != (c.detail == "") || res.StatusCode != 200 && res.StatusCode != 502 {
				t.Errorf("as the primary: the client got %d", res.StatusCode)
			}
		})
	}
}
