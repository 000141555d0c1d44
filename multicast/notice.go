package multicast

import (
	"errors"
	"maps"
	"net/http"
	"net/textproto"
	"sync"
)

// notice is an informational answer.
type notice struct {
	code   int
	header http.Header
}

// notices are those on their way to a client, where whoever reads them from the primary must not wait for that client:
// over HTTP/2 it reads for all of them.
type notices struct {
	mu      sync.Mutex // guards what follows; never held while anything is written
	waiting []notice
	writing bool // somebody writes what waits
}

const (
	// maxInformational is how many informational answers may come before the answer, from the primary and from a shadow alike.
	// One that works for hours and says so every few seconds stays below; one that says nothing else does not.
	maxInformational = 1000
	// maxNotices is how many of them may wait for a client that does not read. What comes then is left out.
	maxNotices = 16
)

var errInformational = errors.New("too many informational answers")

// add takes one more; it answers true if nobody writes yet.
func (ns *notices) add(n notice) (idle bool) {
	ns.mu.Lock()
	defer ns.mu.Unlock()
	if len(ns.waiting) == maxNotices {
		return false
	}
	ns.waiting = append(ns.waiting, n)
	idle = !ns.writing
	ns.writing = true
	return idle
}

// next takes the first one.
func (ns *notices) next() (n notice, found bool) {
	ns.mu.Lock()
	defer ns.mu.Unlock()
	if len(ns.waiting) == 0 {
		ns.writing = false
		return n, false
	}
	n = ns.waiting[0]
	ns.waiting = ns.waiting[1:]
	return n, true
}

// inform passes an informational answer on to the client.
func (v *visit) inform(code int, header textproto.MIMEHeader) error {
	if err := tolerable(code, int(v.informational.Add(1))); err != nil {
		return err
	}
	v.notify(notice{code, http.Header(header)})
	return nil
}

// tolerable says what is wrong with an informational answer, of which there were so many with it. One that switches protocols
// is none, but net/http takes it for one over HTTP/2, which knows no such thing (RFC 9113, section 8.6).
func tolerable(code, count int) error {
	switch {
	case code == http.StatusSwitchingProtocols:
		return errSwitched
	case count > maxInformational:
		return errInformational
	}
	return nil
}

// notify has the client told: here, where the one who waits for that reads for this visit alone, and else by a goroutine
// that ends with what there is to tell, before the answer begins at the latest.
func (v *visit) notify(n notice) {
	if v.link != nil {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.tell(n)
	} else if v.notices.add(n) {
		go func() {
			for v.tellNext() {
			}
		}()
	}
}

func (v *visit) tellNext() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	n, found := v.notices.next()
	if found {
		v.tell(n)
	}
	return found
}

// settled tells what there is to tell, and no more from then on: the answer begins.
func (v *visit) settled() {
	for v.tellNext() {
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.answering = true
}

// tell writes an informational answer, without the hop-by-hop headers that net/http leaves in it (golang.org/issue/81319).
// HTTP/1.0 knows none. The caller holds mu.
func (v *visit) tell(n notice) {
	switch {
	case v.answering || !v.in.ProtoAtLeast(1, 1):
	case n.code == http.StatusContinue && v.upload != nil && v.upload.expects:
		v.sayContinue()
	default:
		removeHopByHop(n.header)
		h := v.client.Header()
		preset := maps.Clone(h)
		clear(h)
		maps.Copy(h, n.header)
		v.client.WriteHeader(n.code)
		clear(h)
		maps.Copy(h, preset)
	}
}

// sayContinue tells a client that waits for it to send its body, once. It answers false when it is too late, since an
// answer has come. The caller holds mu.
func (v *visit) sayContinue() bool {
	if v.answering && !v.continued {
		return false
	}
	if !v.continued {
		v.continued = true
		v.client.WriteHeader(http.StatusContinue)
	}
	return true
}
