package diff

import (
	"fmt"
	"time"

	"shadowdiff/multicast"
)

// Config is the `verdict:` part of the configuration.
type Config struct {
	Alpha       float64         `yaml:"alpha"`        // chance that a run ever confirms noise; default 0.05
	Budget      multicast.Share `yaml:"budget"`       // excess disagreement that is acceptable; default 0.1 %
	Strict      bool            `yaml:"strict"`       // any confirmed difference is "different", however rare
	MinCompared int64           `yaml:"min_compared"` // requests before "equivalent"; default 1,000
	MinDuration time.Duration   `yaml:"min_duration"` // from first to last request before "equivalent"; default 0

	// MaxLatencyRatio is how many times as long as the secondary's the candidate's 99th percentile may be for
	// "equivalent". The default 0 judges no latency.
	MaxLatencyRatio float64 `yaml:"max_latency_ratio"`

	// Attempt counts the runs under one name, up to this one. From the second on, the k-th is judged at Alpha/(k(k+1)):
	// to restart until it passes is no way. 0 is the first.
	Attempt int `yaml:"-"`
	// Name is what the run is called, for the reasons of a verdict.
	Name string `yaml:"-"`
}

// DefaultConfig returns the configuration that stands when the file says nothing.
func DefaultConfig() Config {
	return Config{Alpha: 0.05, Budget: multicast.Whole / 1000, MinCompared: 1000}
}

// Validate returns every fault, each beginning with its key.
func (c Config) Validate() []error {
	var faults []error
	fault := func(key, format string, args ...any) {
		faults = append(faults, fmt.Errorf("verdict."+key+": "+format, args...))
	}
	if !(c.Alpha >= 1e-9 && c.Alpha <= 0.5) {
		fault("alpha", "%v is not between 0.000000001 and 0.5", c.Alpha)
	}
	switch {
	case c.Budget == 0:
		fault("budget", "must be above 0%%: no number of requests proves that nothing ever differs (\"strict: true\" makes any confirmed difference count)")
	case c.Budget >= multicast.Whole:
		fault("budget", "must be below 100%%")
	}
	if c.MinCompared < 0 {
		fault("min_compared", "%d is below 0", c.MinCompared)
	}
	if c.MinDuration < 0 {
		fault("min_duration", "%v is below 0", c.MinDuration)
	}
	if !(c.MaxLatencyRatio == 0 || c.MaxLatencyRatio >= 0.1 && c.MaxLatencyRatio <= 1000) {
		fault("max_latency_ratio", "%v is not between 0.1 and 1000 (or 0: latency is not judged)", c.MaxLatencyRatio)
	}
	return faults
}

// spending is the α that this attempt may spend.
func (c Config) spending() float64 {
	if k := float64(c.Attempt); k >= 2 {
		return c.Alpha / (k * (k + 1))
	}
	return c.Alpha
}

// budget is the acceptable excess as a part of one.
func (c Config) budget() float64 { return float64(c.Budget) / float64(multicast.Whole) }
