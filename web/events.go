package web

import (
	"fmt"
	"net/http"
	"time"
)

const (
	heartbeat  = 15 * time.Second // a comment that keeps idle streams alive
	writeGrace = 10 * time.Second // a reader slower than this for one event is given up
	maxStreams = 512              // open at once
)

// events answers GET /api/v1/events: one event named snapshot for each flush that changed something, the present one
// first, so that a reader who comes back is up to date. It ends with the client, or when the server shuts down.
func (s *Server) events(w http.ResponseWriter, r *http.Request) error {
	if _, err := readQuery(r); err != nil {
		return err
	}
	if s.streams.Add(1) > maxStreams {
		s.streams.Add(-1)
		w.Header().Set("Retry-After", "30")
		return refuse(http.StatusServiceUnavailable, "%d event streams are open already; close some dashboards", maxStreams)
	}
	defer s.streams.Add(-1)
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // nginx would hold events back
	out := stream{w: w, control: http.NewResponseController(w)}
	if r.Method == http.MethodHead {
		return nil
	}
	out.send("retry: 1000\n\n")
	versions := s.deps.DB.Watch(r.Context())
	tick := time.NewTicker(heartbeat)
	defer tick.Stop()
	for out.err == nil {
		select {
		case <-r.Context().Done():
			return nil
		case <-s.closing:
			return nil
		case version, open := <-versions:
			if !open {
				return nil
			}
			out.snapshot(version)
		case <-tick.C:
			out.send(": still here\n\n")
		}
	}
	return nil // the reader went away
}

// stream writes events, each under a deadline of its own.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	err     error
}

func (s *stream) snapshot(version uint64) {
	s.send(fmt.Sprintf("event: snapshot\nid: %d\ndata: {\"version\":%d}\n\n", version, version))
}

func (s *stream) send(text string) {
	if s.err != nil {
		return
	}
	_ = s.control.SetWriteDeadline(time.Now().Add(writeGrace)) // not every ResponseWriter has one
	if _, s.err = s.w.Write([]byte(text)); s.err == nil {
		s.err = s.control.Flush()
	}
}
