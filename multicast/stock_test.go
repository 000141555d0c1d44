package multicast

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"unsafe"

	"pgregory.net/rapid"
)

// Room is as large as was asked for, a quarter more at most, and comes back to whoever wants the same again.
func TestStockFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(1, 2*stockMost).Draw(t, "n")
		size := fit(n)
		if size < n || 4*(size-n) > n || fit(size) != size {
			t.Fatalf("%d bytes are given %d", n, size)
		}
		var s stock
		if kept := s.shelf(int(size)) != nil; kept != (size >= stockLeast && size <= stockMost) {
			t.Fatalf("%d bytes are kept: %v", size, kept)
		}
		if more := fit(size + 1); more <= stockMost && s.shelf(int(size)) != nil && s.shelf(int(size)) == s.shelf(int(more)) {
			t.Fatalf("%d and %d are one shelf", size, more)
		}
		if room := s.take(size); len(room) != 0 || int64(cap(room)) != size {
			t.Fatalf("got %d of %d bytes", cap(room), size)
		}
	})
}

func TestStockIsUsedAgain(t *testing.T) {
	var s stock
	again := false
	for range 100 { // the race detector has a pool forget some
		room := append(s.take(1024), "hello"...)
		s.give(room)
		next := s.take(1024)
		if len(next) != 0 || cap(next) != 1024 {
			t.Fatalf("got %d of %d bytes", len(next), cap(next))
		}
		again = again || unsafe.SliceData(next) == unsafe.SliceData(room)
		s.give(make([]byte, 1000)) // which is nothing of its own
		if odd := s.take(1000); cap(odd) != 1000 {
			t.Fatalf("got %d bytes for 1000", cap(odd))
		}
	}
	if !again {
		t.Error("nothing was used again")
	}
}

// What was delivered is overwritten afterwards, where the race detector watches, and only then.
func TestDeliveredBodiesAreUsedAgain(t *testing.T) {
	body := strings.Repeat("0123456789abcdef", 256)
	s := newStage(t, map[Role]http.HandlerFunc{
		Primary: answer(200, body), Secondary: answer(200, body), Candidate: answer(200, body),
	}, nil)
	held := make(chan [3][]byte, 1)
	s.proxy.deps.Deliver = func() Deliver {
		return func(ex *Exchange) {
			var bodies [3][]byte
			for role, res := range ex.Responses {
				if string(res.Body) != body {
					t.Errorf("the %s has %q", Role(role), res.Body)
				}
				bodies[role] = res.Body
			}
			held <- bodies
		}
	}
	s.get("/a")
	bodies := <-held
	s.counts(Counts{Requests: 1, Exchanged: 1, Compared: 1})
	for role, kept := range bodies {
		if spoilt := bytes.Count(kept, []byte{0xDB}); poisoned && spoilt != len(body) || !poisoned && spoilt != 0 {
			t.Errorf("%d bytes of the %s are overwritten", spoilt, Role(role))
		}
	}
}

// Many exchanges at once, each with bodies of its own, in room that goes round: nobody gets another's bytes.
func TestBodiesAreNobodyElses(t *testing.T) {
	echo := func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(strings.Repeat(r.URL.Path, 200)))
	}
	s := newStage(t, map[Role]http.HandlerFunc{Primary: echo, Secondary: echo, Candidate: echo}, nil)
	s.proxy.deps.Deliver = func() Deliver {
		return func(ex *Exchange) {
			for role, res := range ex.Responses {
				if want := strings.Repeat(ex.Request.Target, 200); string(res.Body) != want {
					t.Errorf("%s: the %s has %.40q", ex.Request.Target, Role(role), res.Body)
				}
			}
		}
	}
	const clients, each = 8, 50
	done := make(chan error, clients)
	for i := range clients {
		w := s.dial()
		go func() {
			path := "/" + strings.Repeat(string(rune('a'+i)), 3+i)
			done <- func() error {
				for range each {
					_, _ = w.Write([]byte("GET " + path + " HTTP/1.1\r\nHost: a\r\n\r\n"))
					res, err := http.ReadResponse(w.r, nil)
					if err != nil {
						return err
					}
					if body, err := io.ReadAll(res.Body); err != nil || string(body) != strings.Repeat(path, 200) {
						return fmt.Errorf("%s: got %.40q, %w", path, body, err)
					}
				}
				return nil
			}()
		}()
	}
	for range clients {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	s.counts(Counts{Requests: clients * each, Exchanged: clients * each, Compared: clients * each})
}
