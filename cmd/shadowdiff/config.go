package main

import (
	"shadowdiff/diff"
	"shadowdiff/multicast"
	"shadowdiff/store"
)

// config is the whole configuration file. Every package owns its part: its keys, its defaults and its Validate.
type config struct {
	Mode             string `yaml:"mode"` // "front": clients come to us
	multicast.Config `yaml:",inline"`
	Verdict          diff.Config  `yaml:"verdict"`
	Store            store.Config `yaml:"store"`
}
