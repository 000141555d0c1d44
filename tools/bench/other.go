//go:build !linux

package main

import "errors"

var errLinux = errors.New("it runs on Linux only")

func (l *load) run() (*tally, error) { return nil, errLinux }

func runUpstream(upstreamConfig) error { return errLinux }

func newWitness() (*witness, error) { return nil, errLinux }

// witness is nobody's here.
type witness struct{}

func (*witness) take() []hole { return nil }

func (*witness) stop() {}

func standBack(int) error { return errLinux }

func unwatched(int) {}
