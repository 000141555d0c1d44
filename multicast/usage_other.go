//go:build !linux

package multicast

func residentMemory() int64 { return runtimeMemory() }
