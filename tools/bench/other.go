//go:build !linux

package main

import "errors"

var errLinux = errors.New("it runs on Linux only")

func (l *load) run() (*tally, error) { return nil, errLinux }

func runUpstream(upstreamConfig) error { return errLinux }
