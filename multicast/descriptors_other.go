//go:build !unix

package multicast

// OpenFiles returns 0: there is no such limit here.
func OpenFiles() int64 { return 0 }

func lowest() int64 { return 0 }
