package traffic

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
	"unicode/utf8"
)

// recordingEnd is how the names of recordings end.
const recordingEnd = ".ndjson.zst"

// line is a record as it stands in a recording. docs/replay.md describes it.
type line struct {
	ID       string        `json:"id,omitempty"`
	Time     time.Time     `json:"time,omitzero"`
	Request  lineRequest   `json:"request"`
	Response *lineResponse `json:"response,omitempty"`
}

type lineRequest struct {
	Method   string      `json:"method"`
	Target   string      `json:"target"`
	Host     string      `json:"host,omitempty"`
	Headers  http.Header `json:"headers,omitempty"`
	Trailers http.Header `json:"trailers,omitempty"`
	lineBody
}

type lineResponse struct {
	Status   int         `json:"status"`
	Headers  http.Header `json:"headers,omitempty"`
	Trailers http.Header `json:"trailers,omitempty"`
	lineBody
	Size   int64   `json:"size"`
	SHA256 string  `json:"sha256,omitempty"`
	Took   float64 `json:"seconds"`
}

// lineBody is a body: as text where it is UTF-8, else in base64.
type lineBody struct {
	Text   string `json:"body,omitempty"`
	Base64 string `json:"body_base64,omitempty"`
	Cut    bool   `json:"body_cut,omitempty"`
}

// first is the first line of a recording.
type first struct {
	Recording int      `json:"recording"` // the version of the format
	Redact    []string `json:"redact"`
}

const recordingVersion = 1

func packBody(body []byte, cut bool) lineBody {
	if utf8.Valid(body) {
		return lineBody{Text: string(body), Cut: cut}
	}
	return lineBody{Base64: base64.StdEncoding.EncodeToString(body), Cut: cut}
}

func (b *lineBody) unpack() ([]byte, error) {
	if b.Base64 == "" {
		return []byte(b.Text), nil
	}
	body, err := base64.StdEncoding.DecodeString(b.Base64)
	if err != nil {
		return nil, errors.New("body_base64 is no base64")
	}
	return body, nil
}

// appendRecord writes a record as one line.
func appendRecord(to *bytes.Buffer, r *Record) error {
	l := line{ID: r.ID, Time: r.Time, Request: lineRequest{
		Method: r.Request.Method, Target: r.Request.Target, Host: r.Request.Host, Headers: r.Request.Header,
		Trailers: r.Request.Trailer, lineBody: packBody(r.Request.Body, r.Request.Cut),
	}}
	if a := r.Answer; a != nil {
		l.Response = &lineResponse{
			Status: a.Status, Headers: a.Header, Trailers: a.Trailer, lineBody: packBody(a.Body, a.Cut), Size: a.Size,
			SHA256: hex.EncodeToString(a.Hash), Took: a.Took.Seconds(),
		}
	}
	return appendJSON(to, l)
}

// appendJSON writes one line.
func appendJSON(to *bytes.Buffer, v any) error {
	enc := json.NewEncoder(to)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// recording reads recordings.
type recording struct {
	lines lines
	about *About
}

func newRecording(text *bufio.Reader, about *About) *recording {
	return &recording{lines: lines{r: text}, about: about}
}

func (r *recording) next() (*Record, error) {
	for {
		text, err := r.lines.next()
		switch {
		case errors.Is(err, errLongLine):
			return nil, &Bad{Line: r.lines.number, Why: err.Error()}
		case err != nil:
			return nil, err
		case len(bytes.TrimSpace(text)) == 0:
			continue
		}
		if r.begin(text) {
			continue
		}
		rec, err := parseRecord(text)
		if err != nil {
			return nil, &Bad{Line: r.lines.number, Why: err.Error()}
		}
		rec.Line = r.lines.number
		return rec, nil
	}
}

// begin takes the first line of a recording, of which several may stand one behind the other in a file.
func (r *recording) begin(text []byte) bool {
	if !isFirst(text) {
		return false
	}
	var f first
	if json.Unmarshal(text, &f) != nil || f.Recording == 0 {
		return false
	}
	r.about.Redact = append(r.about.Redact, f.Redact...)
	return true
}

func parseRecord(text []byte) (*Record, error) {
	var l line
	if err := json.Unmarshal(text, &l); err != nil {
		return nil, fmt.Errorf("no recorded exchange: %s", plainJSON(err))
	}
	body, err := l.Request.unpack()
	if err != nil {
		return nil, err
	}
	r := &Record{ID: l.ID, Time: l.Time, Request: Request{
		Method: l.Request.Method, Target: l.Request.Target, Host: l.Request.Host, Header: canonical(l.Request.Headers),
		Trailer: canonical(l.Request.Trailers), Body: body, Cut: l.Request.Cut,
	}}
	r.Request.tidy()
	if err := r.Request.check(); err != nil {
		return nil, err
	}
	if l.Response != nil {
		if r.Answer, err = l.Response.answer(); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func (l *lineResponse) answer() (*Response, error) {
	body, err := l.unpack()
	if err != nil {
		return nil, err
	}
	hash, err := hex.DecodeString(l.SHA256)
	if err != nil || len(hash) != 0 && len(hash) != 32 {
		return nil, errors.New("sha256 must be 64 hex digits")
	}
	if l.Status < 100 || l.Status > 999 || l.Size < 0 || l.Took < 0 || l.Took > 1e9 {
		return nil, errors.New("the response must have a status from 100 to 999, and a size and seconds of 0 or more")
	}
	a := &Response{
		Status: l.Status, Header: canonical(l.Headers), Trailer: canonical(l.Trailers), Body: body, Size: l.Size, Cut: l.Cut,
		Took: time.Duration(l.Took * float64(time.Second)),
	}
	if len(hash) > 0 {
		a.Hash = hash
	}
	return a, nil
}

// canonical spells names as net/http does.
func canonical(h http.Header) http.Header {
	out := make(http.Header, len(h))
	for name, values := range h {
		name = http.CanonicalHeaderKey(name)
		out[name] = append(out[name], values...)
	}
	return out
}

// plainJSON is what is wrong, without Go's types.
func plainJSON(err error) string {
	if e, is := errors.AsType[*json.UnmarshalTypeError](err); is {
		return fmt.Sprintf("%s has a JSON %s, which it cannot be", e.Field, e.Value)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return "the JSON ends before its time"
	}
	return err.Error()
}
