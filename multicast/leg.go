package multicast

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"runtime/debug"
	"time"
)

// ask asks the shadows, all at the same moment and in random order; each leg has a goroutine of its own.
func (f *flight) ask(roles []Role) {
	f.record()
	first := rand.IntN(len(roles))
	for i := range roles {
		role := roles[(first+i)%len(roles)]
		go f.leg(role)
	}
}

// record writes down what is asked. The primary has been sent the same header, and nobody changes it.
func (f *flight) record() {
	f.ex.Request.Header = f.header
	if f.header.Get("User-Agent") == "" { // an empty one only tells net/http to send none
		f.ex.Request.Header = f.header.Clone()
		f.ex.Request.Header.Del("User-Agent")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ex.Request.Body = f.request.body
}

// leg asks one shadow and brings home what it answers.
func (f *flight) leg(role Role) {
	p := f.proxy
	defer p.dispatcher.legs.Done()
	legs := &p.counters.legs[role]
	legs.sent.Add(1)
	legs.inFlight.Add(1)
	res := &f.ex.Responses[role] // nobody else looks at it before the leg has landed
	if err := contained(func() error { f.askOne(role, res); return nil }); err != nil {
		p.log.Error("shadow leg panicked", slog.String("exchange", f.ex.ID), slog.String("role", role.String()), slog.Any("err", err))
		*res = Response{Outcome: OutcomeCancelled, Detail: "panic", Duration: res.Duration}
		f.fail(ReasonPanic)
	}
	f.rooms[role] = res.Body
	legs.outcome.add(res.Outcome)
	legs.inFlight.Add(-1)
	p.dispatcher.release(f, role, res.Outcome, res.Duration)
	f.landed(role)
}

// askOne fills in the answer of one shadow.
func (f *flight) askOne(role Role, res *Response) {
	start := time.Now()
	f.setup.shadows[role].do(f, start.Add(f.route.timeout[role]), res)
	res.Duration = time.Since(start)
	if observe := f.proxy.deps.ObserveShadow; observe != nil {
		observe(role, res.Outcome, res.Duration)
	}
}

// errPanic is the error that contained makes of a panic.
var errPanic = errors.New("panic")

// contained keeps a panic on the shadow side from ending the process.
func contained(do func() error) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("%w: %v\n%s", errPanic, cause, debug.Stack())
		}
	}()
	return do()
}

// do sends the request, once, and reads the answer as far as the limits let it.
func (s *shadow) do(f *flight, deadline time.Time, res *Response) {
	progress := &f.came[s.role]
	progress.deadline = deadline
	answer, err := s.way.ask(f, deadline, progress)
	if err != nil {
		s.failed(f, res, progress, err)
		return
	}
	defer answer.Body.Close()
	res.Status, res.Header = answer.StatusCode, answer.Header
	removeHopByHop(res.Header)
	if answer.StatusCode == http.StatusSwitchingProtocols {
		s.failed(f, res, progress, errSwitched)
		return
	}
	s.read(f, res, progress, answer)
}

// maxOversize is how many times max_response_body a shadow's body may be before it is cut off.
const maxOversize = 64

// read takes the body to its end, so that the connection can be used again.
func (s *shadow) read(f *flight, res *Response, progress *progress, answer *http.Response) {
	body := capture{account: &f.account, limit: f.route.maxResponseBody, digest: true}
	body.lost = !f.account.take(headerSize(res.Header))
	body.expect(answer.ContentLength, answerRoom)
	buf := s.buffers.Get()
	defer s.buffers.Put(buf)
	defer body.into(res)
	for {
		n, err := answer.Body.Read(buf)
		body.write(buf[:n])
		switch {
		case body.lost:
			s.failed(f, res, progress, errMemory)
			return
		case err == io.EOF:
			res.Outcome, res.Trailer = OutcomeOK, answer.Trailer
			return
		case body.over && f.outgrown(body.size):
			res.Outcome, res.Detail = OutcomeOversize, "body cut off"
			return
		case err != nil:
			s.failed(f, res, progress, err)
			return
		}
	}
}

// outgrown reports whether a shadow's body, over the cap already, is to be cut off: at 64 times the cap, or where it is
// longer than the primary's by more than a cap: then it differs, and nothing that follows could say more.
func (f *flight) outgrown(size int64) bool {
	limit := f.route.maxResponseBody
	primary, known := f.expected()
	return size > maxOversize*limit || known && size-limit > primary
}
