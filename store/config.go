package store

import (
	"time"

	"shadowdiff/multicast"
)

// Config is the `store:` part of the configuration.
type Config struct {
	Path            string         `yaml:"path"`              // the database file
	KeepSamples     time.Duration  `yaml:"keep_samples"`      // age at which samples are removed
	SamplesPerField int            `yaml:"samples_per_field"` // per (route, field, kind)
	MaxSize         multicast.Size `yaml:"max_size"`          // of the database file
	Redact          []string       `yaml:"redact"`            // places whose values are replaced before they are written
}
