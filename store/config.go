package store

import (
	"fmt"
	"time"

	"shadowdiff/multicast"
	"shadowdiff/normalize"
)

// Config is the `store:` part of the configuration.
type Config struct {
	Path            string         `yaml:"path"`              // the database file; its folder must exist and be writable
	KeepSamples     time.Duration  `yaml:"keep_samples"`      // age at which samples are removed
	SamplesPerField int            `yaml:"samples_per_field"` // per (route, field, level of difference)
	MaxSize         multicast.Size `yaml:"max_size"`          // of the database file; the oldest samples give way
	Redact          []string       `yaml:"redact"`            // places whose values are replaced before they are written
}

// DefaultConfig keeps twenty samples a field for a week under one gibibyte, and redacts what usually holds secrets.
func DefaultConfig() Config {
	return Config{
		Path:            "shadowdiff.db",
		KeepSamples:     7 * 24 * time.Hour,
		SamplesPerField: 20,
		MaxSize:         1 << 30,
		Redact: []string{
			"header.authorization", "header.cookie", "header.set-cookie", "header.proxy-authorization",
			"query.token", "query.api_key", "body.**.password",
		},
	}
}

// Validate returns every fault of the configuration; each message begins with its key.
func (c Config) Validate() []error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if c.Path == "" {
		fault("store.path: must name a file")
	}
	if c.KeepSamples < time.Minute {
		fault("store.keep_samples: %v is less than a minute", c.KeepSamples)
	}
	if c.SamplesPerField < 1 || c.SamplesPerField > 1000 {
		fault("store.samples_per_field: %d is not between 1 and 1000", c.SamplesPerField)
	}
	if c.MaxSize < 4<<20 {
		fault("store.max_size: %d bytes is less than 4 MiB", c.MaxSize)
	}
	for _, err := range redactFaults(c.Redact) {
		fault("store.%w", err)
	}
	return faults
}

// redactFaults are what is wrong with each of the places.
func redactFaults(places []string) []error {
	_, err := normalize.NewRedactor(places)
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	if err != nil {
		return []error{err}
	}
	return nil
}
