package traffic

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// gorEnd is the line that ends each message of a GoReplay file.
const gorEnd = "🐵🙈🙉"

// The kinds of messages. Answers to replayed requests are of no use here.
const (
	gorRequest  = "1"
	gorResponse = "2"
)

// GoReplay writes messages down when it has put them together from packets: an answer may stand before its request, and
// requests not in their order. So many requests, or bytes, are held to mend that.
const (
	gorWait  = 1000
	gorBytes = 64 << 20
)

// gor reads GoReplay's files: messages as they went over the wire, each with a line of its own before it (kind, id, time
// in ns, and of answers how long they took) and one of monkeys behind.
type gor struct {
	lines   lines
	waiting []*gorPending // by time
	byID    map[string]*gorPending
	answers map[string]gorMessage // that came before their requests
	held    int                   // bytes
	bad     []*Bad
	err     error
}

// beginsGor is a line that begins a message, and hardly one of a body.
var beginsGor = regexp.MustCompile(`^[123] [0-9a-f]+ \d{16,19}( -?\d+)?\r?\n$`)

var errUnended = errors.New("it does not end as a message of GoReplay does")

// gorMessage is one message, not read yet.
type gorMessage struct {
	line    int
	fields  []string
	payload []byte
}

type gorPending struct {
	rec *Record
	id  string
}

func newGor(text *bufio.Reader) *gor {
	return &gor{lines: lines{r: text, raw: true}, byID: map[string]*gorPending{}, answers: map[string]gorMessage{}}
}

func (g *gor) next() (*Record, error) {
	for {
		if len(g.bad) > 0 {
			bad := g.bad[0]
			g.bad = g.bad[1:]
			return nil, bad
		}
		if len(g.waiting) > 0 && (g.err != nil || len(g.waiting) > gorWait || g.held > gorBytes) {
			return g.first(), nil
		}
		if g.err != nil {
			return nil, g.err
		}
		g.read()
	}
}

// first hands on the request that came first.
func (g *gor) first() *Record {
	p := g.waiting[0]
	g.waiting = g.waiting[1:]
	if g.byID[p.id] == p {
		delete(g.byID, p.id)
	}
	if g.held -= sizeOf(p.rec); len(g.waiting) == 0 {
		g.held = 0
	}
	return p.rec
}

func sizeOf(r *Record) int {
	n := len(r.Request.Body) + 1024
	if r.Answer != nil {
		n += len(r.Answer.Body)
	}
	return n
}

// read takes one message.
func (g *gor) read() {
	var message []byte
	begin, long := g.lines.number+1, false
	for {
		text, err := g.lines.next()
		if errors.Is(err, errLongLine) {
			long = true
			continue
		}
		if err != nil {
			if g.err = err; len(bytes.TrimSpace(message)) > 0 {
				g.spoil(begin, errUnended)
			}
			return
		}
		if string(trimEnd(text)) == gorEnd {
			break
		}
		if g.lines.number > begin && beginsGor.Match(text) { // the end of the message before is missing
			g.spoil(begin, errUnended)
			begin, message, long = g.lines.number, nil, false
		}
		if long = long || len(message)+len(text) > maxLine; long {
			message = nil
			continue
		}
		message = append(message, text...)
	}
	if long {
		g.spoil(begin, errLongLine)
	} else if err := g.message(begin, message); err != nil {
		g.spoil(begin, err)
	}
}

func (g *gor) spoil(line int, err error) { g.bad = append(g.bad, &Bad{Line: line, Why: err.Error()}) }

func (g *gor) message(line int, message []byte) error {
	head, payload, _ := bytes.Cut(message, []byte("\n"))
	payload = bytes.TrimSuffix(payload, []byte("\n")) // before the monkeys
	fields := strings.Fields(string(head))
	if !looksGor.Match(head) || len(fields) < 3 {
		return fmt.Errorf("%q begins no message of GoReplay", shorten(string(head)))
	}
	m := gorMessage{line, fields, payload}
	switch fields[0] {
	case gorRequest:
		return g.request(m)
	case gorResponse:
		if p := g.byID[fields[1]]; p != nil && p.rec.Answer == nil {
			return p.answer(m)
		}
		if len(g.answers) < gorWait {
			g.answers[fields[1]] = m
		}
	}
	return nil
}

func (g *gor) request(m gorMessage) error {
	rec, err := parseGorRequest(m.fields, m.payload)
	if err != nil {
		return err
	}
	rec.Line = m.line
	p := &gorPending{rec: rec, id: m.fields[1]}
	at := len(g.waiting)
	for at > 0 && g.waiting[at-1].rec.Time.After(rec.Time) {
		at--
	}
	g.waiting = slices.Insert(g.waiting, at, p)
	g.byID[p.id] = p
	if answer, early := g.answers[p.id]; early {
		delete(g.answers, p.id)
		err = p.answer(answer)
	}
	g.held += sizeOf(rec)
	return err
}

// answer adds the answer to a request. One that cannot be read leaves the request as it is.
func (p *gorPending) answer(m gorMessage) (err error) {
	p.rec.Answer, err = parseGorResponse(m.fields, m.payload, p.rec.Request.Method)
	return err
}

func parseGorRequest(fields []string, payload []byte) (*Record, error) {
	ns, err := strconv.ParseInt(fields[2], 10, 64)
	if err != nil {
		return nil, fmt.Errorf("%q is no time in nanoseconds", fields[2])
	}
	in, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(payload)))
	if err != nil {
		return nil, fmt.Errorf("no HTTP request: %w", err)
	}
	body, err := readWhole(in.Body)
	if err != nil {
		return nil, fmt.Errorf("the request's body is not whole: %w", err)
	}
	r := &Record{Time: time.Unix(0, ns).UTC(), Request: Request{
		Method: in.Method, Host: in.Host, Header: in.Header, Trailer: in.Trailer, Body: body,
	}}
	if err := r.Request.setTarget(in.RequestURI); err != nil {
		return nil, err
	}
	r.Request.tidy()
	return r, r.Request.check()
}

func parseGorResponse(fields []string, payload []byte, method string) (*Response, error) {
	in, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(payload)), &http.Request{Method: method})
	if err != nil {
		return nil, fmt.Errorf("no HTTP response: %w", err)
	}
	body, err := readWhole(in.Body)
	if err != nil {
		return nil, fmt.Errorf("the response's body is not whole: %w", err)
	}
	a := &Response{Status: in.StatusCode, Header: in.Header, Trailer: in.Trailer, Body: body, Size: int64(len(body))}
	dropHopByHop(a.Header)
	if len(fields) > 3 {
		if ns, err := strconv.ParseInt(fields[3], 10, 64); err == nil && ns > 0 {
			a.Took = time.Duration(ns)
		}
	}
	return a, nil
}

func readWhole(body io.ReadCloser) ([]byte, error) {
	defer body.Close()
	return io.ReadAll(body)
}
