package multicast

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
)

// load reads the files; it returns nil where nothing is set, and net/http's own choices hold.
func (c TLSConfig) load() (*tls.Config, error) {
	if c == (TLSConfig{}) {
		return nil, nil
	}
	cfg := &tls.Config{ServerName: c.ServerName, InsecureSkipVerify: c.InsecureSkipVerify}
	if c.CA != "" {
		pem, err := os.ReadFile(c.CA)
		if err != nil {
			return nil, fmt.Errorf("read ca: %w", err)
		}
		cfg.RootCAs = x509.NewCertPool()
		if !cfg.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("read ca: no certificate in %s", c.CA)
		}
	}
	if c.Cert != "" {
		cert, err := tls.LoadX509KeyPair(c.Cert, c.Key)
		if err != nil {
			return nil, fmt.Errorf("read cert and key: %w", err)
		}
		cfg.Certificates = []tls.Certificate{cert}
	}
	return cfg, nil
}
