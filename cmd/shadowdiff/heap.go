package main

import "os"

// heapFloor is what the garbage collector is made to believe to be in use, in bytes. With a live heap of some 10 MiB it
// would begin anew after each 10 MiB of requests, several times a second, and each time take processor time from
// requests under way.
const heapFloor = 32 << 20

// floor takes memory that nobody ever writes to: it counts as heap in use, so that a collection begins later, and takes no
// resident memory itself. Where the environment says how to collect, nothing is taken. The caller keeps it alive.
func floor() []byte {
	for _, name := range []string{"GOGC", "GOMEMLIMIT"} {
		if os.Getenv(name) != "" {
			return nil
		}
	}
	return make([]byte, heapFloor)
}
