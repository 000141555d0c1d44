package normalize

import (
	"fmt"
	"strings"
)

// Config says what is left out of the comparison. Its keys stand at the top level of the configuration file.
type Config struct {
	Headers HeaderConfig `yaml:"headers"`
	Rules   []RuleConfig `yaml:"rules"`

	// MaxDecoded bounds a body after its content codings are undone, in bytes; a body over it is compared as sent.
	// It is 8 times shadow.max_response_body and no key of its own; 0 means 8 MiB.
	MaxDecoded int64 `yaml:"-"`
}

// HeaderConfig changes the list of headers that are not compared, DefaultIgnored.
type HeaderConfig struct {
	Ignore  []string `yaml:"ignore"`  // not compared, beside those of the list
	Compare []string `yaml:"compare"` // compared although they are on the list; Set-Cookie: cookies' values too
}

// RuleConfig is one rule: one verb with a field, and optionally where it holds.
type RuleConfig struct {
	Drop string `yaml:"drop,omitempty"` // field that is not compared, with all below it
	Sort string `yaml:"sort,omitempty"` // array whose order does not matter

	Route string `yaml:"route,omitempty"` // "[METHOD] /path"; {x} is one segment, a last /* the rest; empty or *: all
	Role  string `yaml:"role,omitempty"`  // "candidate": only that role's answers

	Other map[string]any `yaml:",inline"` // any other key; Validate says what is wrong with it
}

// DefaultConfig compares everything but the headers of DefaultIgnored.
func DefaultConfig() Config { return Config{MaxDecoded: defaultMaxDecode} }

// Validate returns all faults of the configuration at once; each message begins with the key it is about.
func (c Config) Validate() []error {
	_, faults := compileRules(c.Rules)
	return append(c.Headers.validate(), faults...)
}

func (c HeaderConfig) validate() []error {
	var faults []error
	ignored := map[string]bool{}
	for i, name := range c.Ignore {
		if !isToken(name) {
			faults = append(faults, fmt.Errorf("headers.ignore[%d]: %q is no header name", i, name))
		}
		ignored[strings.ToLower(name)] = true
	}
	for i, name := range c.Compare {
		switch {
		case !isToken(name):
			faults = append(faults, fmt.Errorf("headers.compare[%d]: %q is no header name", i, name))
		case ignored[strings.ToLower(name)]:
			faults = append(faults, fmt.Errorf("headers.compare[%d]: headers.ignore names %s too: take it off one list", i, name))
		}
	}
	return faults
}

// isToken tells whether s may be a header's name (RFC 9110, section 5.6.2).
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !isDigit(c) && (c|0x20 < 'a' || c|0x20 > 'z') && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	return s != ""
}
