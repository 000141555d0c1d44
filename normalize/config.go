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

// RuleConfig is one rule: one verb with a field, the verb's settings, and optionally where it holds.
type RuleConfig struct {
	Drop     string `yaml:"drop,omitempty"`      // field that is not compared, with all below it
	Sort     string `yaml:"sort,omitempty"`      // array whose order does not matter
	Pair     string `yaml:"pair,omitempty"`      // array whose elements are paired by By
	Round    string `yaml:"round,omitempty"`     // numbers that are rounded to To decimals
	Tolerate string `yaml:"tolerate,omitempty"`  // numbers or times that are equal when they are as close as Within
	Mask     string `yaml:"mask,omitempty"`      // strings in which With stands for what matches Pattern
	MaskKeys string `yaml:"mask_keys,omitempty"` // objects in whose keys it does
	Rename   string `yaml:"rename,omitempty"`    // member, header or cookie whose name is To
	Lower    string `yaml:"lower,omitempty"`     // strings in lower case
	Trim     string `yaml:"trim,omitempty"`      // strings without outer space
	Squeeze  string `yaml:"squeeze,omitempty"`   // strings in which a run of space is one space
	NFC      string `yaml:"nfc,omitempty"`       // strings in Unicode's composed form
	Coerce   string `yaml:"coerce,omitempty"`    // scalars that are taken for the type To
	Absent   string `yaml:"absent,omitempty"`    // members that count as missing When they are so
	Parse    string `yaml:"parse,omitempty"`     // string of which is compared what it contains As json, …
	Present  string `yaml:"present,omitempty"`   // field that must be there and not null, with any value

	By       By        `yaml:"by,omitempty"`       // fields relative to an element: one, or a list
	To       string    `yaml:"to,omitempty"`       // decimals; a name; number, string, bool or time
	Within   string    `yaml:"within,omitempty"`   // 0.01, 1% or 2s, the bound included
	Pattern  string    `yaml:"pattern,omitempty"`  // RE2
	With     *string   `yaml:"with,omitempty"`     // nil is "<id>"
	Numbered bool      `yaml:"numbered,omitempty"` // <id 1>, <id 2>, … by first appearance
	When     JSONValue `yaml:"when,omitempty"`     // null, empty, or a JSON value
	As       string    `yaml:"as,omitempty"`       // json, base64, jwt, query or url

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
