package multicast

import "net/http"

// unsample does to a whole header what a shadow's copy has done to it.
func unsample(h http.Header) {
	if parents := h["Traceparent"]; parents != nil {
		h["Traceparent"] = unsampled(parents)
	}
}
