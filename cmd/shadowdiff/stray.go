package main

import (
	"bytes"
	"io"
	"log"
	"log/slog"

	"shadowdiff/multicast"
)

// stray is what net/http's client tells the standard logger, there being no other that it asks. It quotes what an upstream
// sent unasked, and that is nobody's to read: all from the first quote on is left out.
type stray struct{ to io.Writer }

func (s stray) Write(line []byte) (int, error) {
	said, _, _ := bytes.Cut(line, []byte(`"`))
	_, err := s.to.Write(bytes.TrimSpace(said))
	return len(line), err
}

// catchStray has it logged with the rest, one line a second at most, until release is called.
func catchStray(to *slog.Logger) (release func()) {
	before, flags := log.Writer(), log.Flags()
	log.SetOutput(stray{multicast.ServerLog(to).Writer()})
	log.SetFlags(0)
	return func() {
		log.SetOutput(before)
		log.SetFlags(flags)
	}
}
