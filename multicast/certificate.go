package multicast

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
)

// ListenerTLS is the certificate that clients are shown. Both files are PEM; without them clients are served without TLS.
type ListenerTLS struct {
	Cert string `yaml:"cert"` // the certificate, and after it those that lead to the root
	Key  string `yaml:"key"`  // its private key
}

// on reports whether clients are served over TLS.
func (c ListenerTLS) on() bool { return c != ListenerTLS{} }

// load reads both files; the key of the configuration at fault is in the error.
func (c ListenerTLS) load() (*tls.Certificate, error) {
	switch {
	case !c.on():
		return nil, nil
	case c.Cert == "":
		return nil, errors.New("tls.cert: is required: cert and key go together")
	case c.Key == "":
		return nil, errors.New("tls.key: is required: cert and key go together")
	}
	certPEM, err := os.ReadFile(c.Cert)
	if err == nil {
		err = checkCertificates(certPEM)
	}
	if err != nil {
		return nil, fmt.Errorf("tls.cert: %s: %w", c.Cert, plainPathError(err))
	}
	keyPEM, err := os.ReadFile(c.Key)
	if err != nil {
		return nil, fmt.Errorf("tls.key: %s: %w", c.Key, plainPathError(err))
	}
	cert, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return nil, fmt.Errorf("tls.key: %s with the certificate in %s: %w", c.Key, c.Cert, err)
	}
	return &cert, nil
}

// checkCertificates tells a certificate that cannot be read from a key that does not belong to it.
func checkCertificates(text []byte) error {
	found := false
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return err
		}
		found = true
	}
	if !found {
		return errors.New("no certificate in PEM form")
	}
	return nil
}

// plainPathError leaves out the file's name, which is told already.
func plainPathError(err error) error {
	if e, ok := errors.AsType[*os.PathError](err); ok {
		return e.Err
	}
	return err
}

// listenerTLS is how clients are spoken to; nil: without TLS. Each handshake is shown the certificate in force, so that a
// renewed one needs no new listener. HTTP/2 is offered by net/http.
func (p *Proxy) listenerTLS() *tls.Config {
	if !p.setup.Load().cfg.TLS.on() {
		return nil
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			return p.setup.Load().certificate, nil
		},
	}
}
