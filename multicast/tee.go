package multicast

import (
	"io"
	"net/http"
	"strings"
	"time"
)

// sent tells the flight what the primary is about to be asked.
func (f *flight) sent(out *http.Request) {
	f.header = out.Header
	f.started = time.Now()
	f.mu.Lock()
	switch {
	case f.length == 0:
		f.whole = true
	case f.length > f.request.limit:
		f.request.over = true
	default:
		f.request.expect(f.length)
	}
	f.mu.Unlock()
	f.startEarly()
}

// requestRead takes what the primary's transport has read of the request body.
func (f *flight) requestRead(p []byte, err error, trailer http.Header) {
	f.mu.Lock()
	if f.phase != travelling || f.whole {
		f.mu.Unlock()
		return
	}
	f.request.write(p)
	if err == io.EOF || f.request.size == f.length {
		f.whole = true
		f.ex.Request.Trailer = trailer.Clone()
	}
	whole := f.whole
	f.mu.Unlock()
	if whole {
		f.startEarly()
	}
}

// startEarly asks the shadows before the primary has answered, where it is to be so.
func (f *flight) startEarly() {
	if f.setup.cfg.Dispatch != DispatchStart {
		return
	}
	f.mu.Lock()
	ready := f.phase == travelling && f.whole && !f.request.over
	f.mu.Unlock()
	if ready {
		f.offer()
	}
}

// offer hands the flight to the dispatcher, if the budget has held all that is to be asked.
func (f *flight) offer() {
	f.mu.Lock()
	lost := f.request.lost || f.phase == travelling && !f.account.take(headerSize(f.header))
	f.mu.Unlock()
	if lost {
		f.drop(ReasonMemory)
		return
	}
	f.proxy.dispatcher.offer(f)
}

// head takes the head of the primary's answer, on the client's goroutine, and puts itself between the body and the
// client.
func (f *flight) head(res *http.Response) {
	f.mu.Lock()
	primary := &f.ex.Responses[Primary]
	primary.Status, primary.Header = res.StatusCode, res.Header
	reason := f.unfit(res)
	travels := f.phase == travelling
	f.mu.Unlock()
	switch {
	case reason != "":
		f.fail(reason)
	case travels:
		f.offer()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.phase != ended && !f.answered {
		f.answer.expect(res.ContentLength)
		res.Body = &answerTee{ReadCloser: res.Body, flight: f, res: res}
	}
}

// unfit says why an answer with this head cannot be compared, in the order in which reasons are looked for. The caller
// holds mu.
func (f *flight) unfit(res *http.Response) Reason {
	switch {
	case res.StatusCode == http.StatusTooManyRequests || res.StatusCode == http.StatusServiceUnavailable:
		return ReasonPrimaryRefused
	case !f.whole:
		return ReasonRequestIncomplete
	case f.request.over:
		return ReasonBodyTooLarge
	case endless(res.Header.Get("Content-Type")):
		return ReasonStream
	}
	return ""
}

// endless reports whether answers of this type have no end to wait for.
func endless(contentType string) bool {
	media, _, _ := strings.Cut(contentType, ";")
	media = strings.ToLower(strings.TrimSpace(media))
	return media == "text/event-stream" || media == "multipart/x-mixed-replace" ||
		media == "application/grpc" || strings.HasPrefix(media, "application/grpc+")
}

// answerTee is the primary's body on its way to the client.
type answerTee struct {
	io.ReadCloser
	flight *flight
	res    *http.Response
}

func (t *answerTee) Read(p []byte) (int, error) {
	n, err := t.ReadCloser.Read(p)
	t.flight.answerRead(p[:n], err, t.res)
	return n, err
}

// answerRead takes what the client is about to get.
func (f *flight) answerRead(p []byte, err error, res *http.Response) {
	f.mu.Lock()
	if f.phase == ended || f.answered {
		f.mu.Unlock()
		return
	}
	f.answer.write(p)
	lost := f.answer.lost
	whole := err == io.EOF && !lost
	if whole {
		f.ex.Responses[Primary].Trailer = res.Trailer
		f.landAnswer(OutcomeOK, "")
	}
	f.mu.Unlock()
	if lost {
		f.fail(ReasonMemory)
	} else if whole {
		f.settle()
	}
}

// left is told that the client's request is over; gone says that the client was the one to end it, and begun that an
// answer had begun.
func (f *flight) left(gone, begun bool) {
	f.mu.Lock()
	done := f.answered || f.phase == ended
	f.mu.Unlock()
	switch {
	case done:
	case gone:
		f.fail(ReasonClientAborted)
	case begun:
		f.fail(ReasonPrimaryIncomplete)
	default:
		f.fail(ReasonPrimaryFailed)
	}
}
