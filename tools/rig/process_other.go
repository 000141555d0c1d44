//go:build !linux

package rig

import (
	"errors"
	"time"
)

var errLinux = errors.New("processes are measured on Linux only")

// CPU is measured on Linux only.
func CPU(int) (time.Duration, error) { return 0, errLinux }

// CPUResolution is measured on Linux only.
func CPUResolution() (time.Duration, error) { return 0, errLinux }

// RSS is measured on Linux only.
func RSS(int) (int64, error) { return 0, errLinux }

// Descriptors are counted on Linux only.
func Descriptors(int) (int, error) { return 0, errLinux }
