package normalize

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
	Compare []string `yaml:"compare"` // compared although they are on the list
}

// RuleConfig is one rule: one verb with a field, and optionally where it holds.
type RuleConfig struct {
	Drop string `yaml:"drop,omitempty"` // field that is not compared
	Sort string `yaml:"sort,omitempty"` // array whose order does not matter

	Route string `yaml:"route,omitempty"` // "[METHOD] /path"; {x} is one segment, a last /* the rest; empty or *: all
	Role  string `yaml:"role,omitempty"`  // "candidate": only that role's answers

	Other map[string]any `yaml:",inline"` // any other key; Validate says what is wrong with it
}

// DefaultConfig compares everything but the headers of DefaultIgnored.
func DefaultConfig() Config { return Config{} }

// Validate returns all faults of the configuration at once; each message begins with the key it is about.
func (c Config) Validate() []error { panic("normalize: being built") }
