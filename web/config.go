package web

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"

	"shadowdiff/multicast"
)

// Config is the `web:` part of the configuration.
type Config struct {
	Listen   string `yaml:"listen"`    // address of the admin listener
	BaseURL  string `yaml:"base_url"`  // where people reach it behind a reverse proxy, path included; empty: directly
	Token    string `yaml:"token"`     // bearer token or basic password; required when Listen is not loopback
	ReadOnly bool   `yaml:"read_only"` // refuse every write
}

// DefaultConfig listens on loopback only, without a token.
func DefaultConfig() Config { return Config{Listen: "127.0.0.1:8881"} }

// Validate returns every fault of the configuration; each message begins with its key.
func (c Config) Validate() []error {
	var faults []error
	if err := multicast.CheckListen(c.Listen); err != nil {
		faults = append(faults, fmt.Errorf("web.listen: %w", err))
	} else if host, _, _ := net.SplitHostPort(c.Listen); c.Token == "" && !loopback(host) {
		faults = append(faults, fmt.Errorf(
			"web.token: required because %s is reachable from other machines; set a token, or listen on 127.0.0.1", c.Listen))
	}
	if strings.ContainsFunc(c.Token, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		faults = append(faults, errors.New("web.token: holds white space or control characters, which no header can carry"))
	}
	if err := validBaseURL(c.BaseURL); err != nil {
		faults = append(faults, err)
	}
	return faults
}

// Reached returns a fault when the address that was taken for Listen is open to other machines and there is no token.
// Validate sees the name alone, and what a name such as admin.localhost stands for is the resolver's word.
func (c Config) Reached(at net.Addr) error {
	if tcp, ok := at.(*net.TCPAddr); c.Token != "" || ok && tcp.IP.IsLoopback() {
		return nil
	}
	return fmt.Errorf("web.token: required because %s is %s here, which is reachable from other machines; set a token, or listen on 127.0.0.1", c.Listen, at)
}

func validBaseURL(base string) error {
	if base == "" {
		return nil
	}
	u, err := url.Parse(base)
	switch {
	case err != nil:
		return fmt.Errorf("web.base_url: %w", err)
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return fmt.Errorf("web.base_url: %q is not an http or https address such as https://ops.example.com/shadowdiff", base)
	case u.RawQuery != "" || u.Fragment != "" || u.User != nil:
		return fmt.Errorf("web.base_url: %q may hold scheme, host, port and path only", base)
	}
	return nil
}

// prefix is the path under which the pages stand, without a slash at its end: "" or "/shadowdiff".
func (c Config) prefix() string {
	u, err := url.Parse(c.BaseURL)
	if err != nil {
		return ""
	}
	return strings.TrimRight(u.EscapedPath(), "/")
}

// loopback says whether a host names this machine alone. An empty host is every address of it.
func loopback(host string) bool {
	if strings.EqualFold(host, "localhost") || strings.HasSuffix(strings.ToLower(host), ".localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}
