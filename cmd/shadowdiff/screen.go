package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/mattn/go-isatty"
)

// isTerminal tells whether somebody sees what is written to a place, or types what is read from it.
func isTerminal(place any) bool {
	file, is := place.(*os.File)
	return is && isatty.IsTerminal(file.Fd())
}

// rewrite begins the line of a terminal anew.
const rewrite = "\r\x1b[K"

// screen is where a command tells how it goes: on a terminal in one line that is written anew, elsewhere in a line every
// five seconds. Other lines go between.
type screen struct {
	terminal bool

	mu sync.Mutex // held while a line is written
	w  io.Writer
}

func newScreen(w io.Writer) *screen { return &screen{w: w, terminal: isTerminal(w)} }

// line writes a line that stays.
func (s *screen) line(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.terminal {
		text = rewrite + text
	}
	fmt.Fprintln(s.w, text)
}

// now writes what holds at this moment.
func (s *screen) now(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.terminal {
		fmt.Fprint(s.w, rewrite, text)
	} else if text != "" {
		fmt.Fprintln(s.w, text)
	}
}

// show keeps a line up to date until end is called.
func (s *screen) show(line func() string) (end func()) {
	every := 5 * time.Second
	if s.terminal {
		every = 250 * time.Millisecond
	}
	stop := make(chan struct{})
	var showing sync.WaitGroup
	showing.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				s.now(line())
			case <-stop:
				s.now("")
				return
			}
		}
	})
	return func() {
		close(stop)
		showing.Wait()
	}
}
