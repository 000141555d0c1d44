package traffic

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
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

// gorWait is how many requests wait for the answer that stands further down.
const gorWait = 1000

// gor reads GoReplay's files: messages as they went over the wire, each with a line of its own before it (kind, id, time
// in ns, and of answers how long they took) and one of monkeys behind.
type gor struct {
	lines   lines
	waiting []*gorPending
	byID    map[string]*gorPending
	bad     []*Bad
	err     error
}

type gorPending struct {
	rec *Record
	id  string
}

func newGor(text *bufio.Reader) *gor {
	return &gor{lines: lines{r: text}, byID: map[string]*gorPending{}}
}

func (g *gor) next() (*Record, error) {
	for {
		if len(g.bad) > 0 {
			bad := g.bad[0]
			g.bad = g.bad[1:]
			return nil, bad
		}
		if len(g.waiting) > 0 && (g.err != nil || len(g.waiting) > gorWait || g.waiting[0].rec.Answer != nil) {
			first := g.waiting[0]
			g.waiting = g.waiting[1:]
			delete(g.byID, first.id)
			return first.rec, nil
		}
		if g.err != nil {
			return nil, g.err
		}
		g.read()
	}
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
				g.spoil(begin, errors.New("it does not end as a message of GoReplay does"))
			}
			return
		}
		if string(text) == gorEnd {
			break
		}
		if long = long || len(message)+len(text) > maxLine; long {
			message = nil
			continue
		}
		message = append(append(message, text...), '\n')
		if g.lines.number > begin && looksGor.Match(text) && looksHead(message) {
			// The end of the message before is missing.
			g.spoil(begin, errors.New("it does not end as a message of GoReplay does"))
			begin, message = g.lines.number, append(bytes.Clone(text), '\n')
		}
	}
	if long {
		g.spoil(begin, errLongLine)
	} else if err := g.message(begin, message); err != nil {
		g.spoil(begin, err)
	}
}

// looksHead tells that a message has not begun as one does.
func looksHead(message []byte) bool {
	line, _, _ := bytes.Cut(message, []byte("\n"))
	return !looksGor.Match(line)
}

func (g *gor) spoil(line int, err error) { g.bad = append(g.bad, &Bad{Line: line, Why: err.Error()}) }

func (g *gor) message(line int, message []byte) error {
	head, payload, _ := bytes.Cut(message, []byte("\n"))
	payload = bytes.TrimSuffix(payload, []byte("\n")) // before the monkeys
	fields := strings.Fields(string(head))
	if !looksGor.Match(head) || len(fields) < 3 {
		return fmt.Errorf("%q begins no message of GoReplay", shorten(string(head)))
	}
	switch fields[0] {
	case gorRequest:
		rec, err := parseGorRequest(fields, payload)
		if err != nil {
			return err
		}
		rec.Line = line
		p := &gorPending{rec: rec, id: fields[1]}
		g.waiting = append(g.waiting, p)
		g.byID[p.id] = p
	case gorResponse:
		if p := g.byID[fields[1]]; p != nil && p.rec.Answer == nil {
			answer, err := parseGorResponse(fields, payload, p.rec.Request.Method)
			if err != nil {
				return err
			}
			p.rec.Answer = answer
		}
	}
	return nil
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
		Method: in.Method, Target: in.RequestURI, Host: in.Host, Header: in.Header, Trailer: in.Trailer, Body: body,
	}}
	if strings.Contains(in.RequestURI, "://") && !strings.HasPrefix(in.RequestURI, "/") {
		if err := r.Request.setURL(in.RequestURI); err != nil {
			return nil, err
		}
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
	for _, name := range hopByHop {
		delete(a.Header, name)
	}
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
