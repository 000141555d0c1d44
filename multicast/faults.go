package multicast

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// faults gathers messages that begin with their key.
type faults []error

func (f *faults) add(key, format string, args ...any) {
	*f = append(*f, fmt.Errorf(key+": "+format, args...))
}

func (f *faults) positive(key string, d time.Duration) {
	if d <= 0 {
		f.add(key, "must be above 0, is %s", d)
	}
}

func (f *faults) notNegative(key string, d time.Duration) {
	if d < 0 {
		f.add(key, "must be 0 or more, is %s", d)
	}
}

// concurrency checks how many requests may be in flight; what is far beyond any machine is a slip.
func (f *faults) concurrency(key string, n int) {
	if n < 1 || n > 65_536 {
		f.add(key, "must be from 1 to 65536, is %d", n)
	}
}

func (f *faults) methods(key string, methods []string) {
	for i, m := range methods {
		if !token(m) || m != strings.ToUpper(m) {
			f.add(fmt.Sprintf("%s[%d]", key, i), "must be a method in capitals such as GET, is %q", m)
		} else if m == "CONNECT" {
			f.add(fmt.Sprintf("%s[%d]", key, i), "CONNECT cannot be shadowed")
		}
	}
}

func (f *faults) host(key, host string) {
	if host == "" || strings.ContainsAny(host, " \t\r\n/\\@") {
		f.add(key, "must be keep, target or a host, is %q", host)
	}
}

// headers checks what is set and removed on the copies. What frames a message, marks it or has a key of its own is not
// free.
func (f *faults) headers(key string, set map[string]string, remove []string) {
	reserved := []string{
		"connection", "content-length", "transfer-encoding", "trailer", "te", "upgrade", "host", "expect",
		"x-shadow-request", "x-shadow-id",
	}
	for _, name := range slices.Sorted(maps.Keys(set)) {
		switch value := set[name]; {
		case !token(name):
			f.add(key+".set_headers", "must have names of headers, has %q", name)
		case strings.EqualFold(name, "host"):
			f.add(key+".set_headers."+name, "is set with %s.host", key)
		case slices.Contains(reserved, strings.ToLower(name)):
			f.add(key+".set_headers."+name, "cannot be set: the proxy needs it")
		case strings.ContainsAny(value, "\r\n\x00"):
			f.add(key+".set_headers."+name, "must be one line")
		}
	}
	for i, name := range remove {
		if !token(name) || slices.Contains(reserved, strings.ToLower(name)) {
			f.add(fmt.Sprintf("%s.remove_headers[%d]", key, i), "must be the name of a header that is free to remove, is %q", name)
		}
	}
}

func (f *faults) tls(key string, c TLSConfig) {
	switch {
	case c.Cert == "" && c.Key != "":
		f.add(key+".cert", "is required: cert and key go together")
		return
	case c.Cert != "" && c.Key == "":
		f.add(key+".key", "is required: cert and key go together")
		return
	}
	if _, err := c.load(); err != nil {
		f.add(key, "%v", err)
	}
}

// token reports whether s can be a method or the name of a header (RFC 9110, section 5.6.2).
func token(s string) bool {
	for _, c := range []byte(s) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	return s != ""
}
