package multicast

// Config is how the proxy serves, samples and shadows. Its keys stand at the top level of the configuration file.
type Config struct {
	Listen    string `yaml:"listen"`    // client traffic
	Primary   string `yaml:"primary"`   // URL: scheme, host, port and a base path; required
	Secondary string `yaml:"secondary"` // empty: no control
	Candidate string `yaml:"candidate"` // empty: a plain proxy
	Sample    Share  `yaml:"sample"`
}
