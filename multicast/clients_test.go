package multicast

import (
	"fmt"
	"net/http"
)

// events sends one server-sent event for each id, and ends when there are no more or nobody listens.
func events(ids <-chan string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Cache-Control", "no-store")
		_ = http.NewResponseController(w).Flush()
		for {
			select {
			case id, more := <-ids:
				if !more {
					return
				}
				_, _ = fmt.Fprintf(w, "id: %s\ndata: event %s\n\n", id, id)
				_ = http.NewResponseController(w).Flush()
			case <-r.Context().Done():
				return
			}
		}
	}
}
