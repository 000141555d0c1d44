// Package multicast speaks to the network. It serves every client from the primary and, for sampled requests, asks the
// candidate and the secondary the same thing; one finished Exchange is handed on.
//
//	client ──► Proxy ──► primary
//	             │ copy: bounded queue, drops and counts
//	             ├──► secondary ┐
//	             └──► candidate ┴──► Exchange ──► Deliver
//
// It promises that a shadow never makes the primary slower or more likely to fail: nothing on the client's path waits
// for a shadow, everything captured is bounded, and whatever is lost is counted. It deliberately knows nothing of what
// the bodies mean.
package multicast
