package multicast

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// pemFiles writes a certificate and its key.
func pemFiles(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"shop.example"}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return textFile(t, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		textFile(t, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}))
}

func textFile(t *testing.T, text []byte) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file.pem")
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// What is wrong with the listener's files is told of the one that it is wrong with.
func TestCertificateFaults(t *testing.T) {
	cert, key := pemFiles(t)
	_, otherKey := pemFiles(t)
	junk := textFile(t, []byte("no PEM"))
	broken := textFile(t, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("junk")}))
	for _, c := range []struct{ cert, key, fault string }{
		{"", "", ""},
		{cert, key, ""},
		{cert, "", "tls.key: is required: cert and key go together"},
		{"", key, "tls.cert: is required: cert and key go together"},
		{"missing.pem", key, "tls.cert: missing.pem: no such file or directory"},
		{cert, "missing.pem", "tls.key: missing.pem: no such file or directory"},
		{junk, key, "tls.cert: " + junk + ": no certificate in PEM form"},
		{key, cert, "tls.cert: " + key + ": no certificate in PEM form"},
		{broken, key, "tls.cert: " + broken + ": x509: malformed certificate"},
		{cert, junk, "tls.key: " + junk + " with the certificate in " + cert + ": tls: failed to find any PEM data in key input"},
		{cert, otherKey, "tls.key: " + otherKey + " with the certificate in " + cert + ": tls: private key does not match public key"},
		{t.TempDir(), key, "tls.cert: "},
	} {
		cfg := DefaultConfig()
		cfg.Primary, cfg.TLS = "http://127.0.0.1:9001", ListenerTLS{c.cert, c.key}
		faults := cfg.Validate()
		switch {
		case c.fault == "" && len(faults) > 0:
			t.Errorf("%+v: %v", cfg.TLS, faults)
		case c.fault != "" && (len(faults) != 1 || !strings.HasPrefix(faults[0].Error(), c.fault)):
			t.Errorf("%+v: %v, want %s", cfg.TLS, faults, c.fault)
		}
	}
}
