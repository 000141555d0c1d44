package traffic

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"
)

// harEntry is one exchange of an HTTP Archive (HAR 1.2), as far as it is needed to ask it again.
type harEntry struct {
	Started time.Time `json:"startedDateTime"`
	Took    float64   `json:"time"` // ms
	Request struct {
		Method  string      `json:"method"`
		URL     string      `json:"url"`
		Headers []harHeader `json:"headers"`
		Post    *struct {
			Type     string      `json:"mimeType"`
			Text     string      `json:"text"`
			Encoding string      `json:"encoding"`
			Params   []harHeader `json:"params"`
		} `json:"postData"`
		BodySize int64 `json:"bodySize"`
	} `json:"request"`
	Response struct {
		Status   int         `json:"status"`
		Headers  []harHeader `json:"headers"`
		BodySize int64       `json:"bodySize"`
		Content  struct {
			Size     int64  `json:"size"`
			Text     string `json:"text"`
			Encoding string `json:"encoding"`
		} `json:"content"`
	} `json:"response"`
}

type harHeader struct {
	Name     string `json:"name"`
	Value    string `json:"value"`
	FileName string `json:"fileName"`
}

// har reads HTTP Archives entry by entry: only one is held at a time.
type har struct {
	dec   *json.Decoder
	place *newlines
	found bool // the entries
	ended bool
}

func newHAR(text *bufio.Reader) *har {
	if mark, _ := text.Peek(3); string(mark) == "\xef\xbb\xbf" {
		_, _ = text.Discard(3)
	}
	place := &newlines{r: text}
	return &har{dec: json.NewDecoder(place), place: place}
}

func (h *har) next() (*Record, error) {
	if h.ended {
		return nil, io.EOF
	}
	if !h.found {
		if err := h.find(); err != nil {
			return nil, h.end(err)
		}
		h.found = true
	}
	if !h.dec.More() {
		h.ended = true
		if _, err := h.dec.Token(); err != nil {
			return nil, h.end(err)
		}
		return nil, io.EOF
	}
	var entry json.RawMessage
	if err := h.dec.Decode(&entry); err != nil {
		return nil, h.end(err)
	}
	line := h.place.at(h.dec.InputOffset() - int64(len(entry)))
	rec, err := parseEntry(entry)
	if err != nil {
		return nil, &Bad{Line: line, Why: err.Error()}
	}
	rec.Line = line
	return rec, nil
}

// end is what keeps the rest from being read.
func (h *har) end(err error) error {
	h.ended = true
	if _, is := errors.AsType[*json.SyntaxError](err); is || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) || errors.Is(err, errNoHAR) {
		why := err.Error()
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			why = "the JSON ends before its time"
		}
		return &Bad{Line: h.place.at(h.dec.InputOffset()), Why: why + "; the rest of the file is not read"}
	}
	return err
}

var errNoHAR = errors.New("no log with entries, which a HAR has")

// find goes to the first of log.entries.
func (h *har) find() error {
	for _, key := range [...]string{"log", "entries"} {
		if t, err := h.dec.Token(); err != nil || t != json.Delim('{') {
			return cmp.Or(err, errNoHAR)
		}
		for {
			t, err := h.dec.Token()
			if err != nil || t == json.Delim('}') {
				return cmp.Or(err, errNoHAR)
			}
			if t == key {
				break
			}
			var other json.RawMessage
			if err := h.dec.Decode(&other); err != nil {
				return err
			}
		}
	}
	t, err := h.dec.Token()
	if err != nil || t != json.Delim('[') {
		return cmp.Or(err, errNoHAR)
	}
	return nil
}

func parseEntry(text []byte) (*Record, error) {
	var e harEntry
	if err := json.Unmarshal(text, &e); err != nil {
		return nil, fmt.Errorf("no entry of a HAR: %s", plainJSON(err))
	}
	r := &Record{Time: e.Started.UTC(), Request: Request{Method: strings.ToUpper(e.Request.Method)}}
	if err := r.Request.setURL(e.Request.URL); err != nil {
		return nil, err
	}
	host := r.Request.Host
	r.Request.Header = harHeaders(e.Request.Headers)
	r.Request.tidy()
	r.Request.Host = host
	if err := e.body(&r.Request); err != nil {
		return nil, err
	}
	if err := r.Request.check(); err != nil {
		return nil, err
	}
	var err error
	r.Answer, err = e.answer(r.Request.Method)
	return r, err
}

// body takes what was sent. Browsers name the fields of a form and not always its text.
func (e *harEntry) body(r *Request) error {
	post := e.Request.Post
	switch {
	case post == nil:
		r.Cut = e.Request.BodySize > 0
		return nil
	case post.Text != "" && post.Encoding == "base64":
		body, err := base64.StdEncoding.DecodeString(post.Text)
		if err != nil {
			return errors.New("the request's body is no base64")
		}
		r.Body = body
	case post.Text != "":
		r.Body = []byte(post.Text)
	case len(post.Params) > 0 && strings.HasPrefix(post.Type, "application/x-www-form-urlencoded"):
		var form []string
		for _, p := range post.Params {
			form = append(form, url.QueryEscape(p.Name)+"="+url.QueryEscape(p.Value))
		}
		r.Body = []byte(strings.Join(form, "&"))
	default:
		r.Cut = len(post.Params) > 0 || e.Request.BodySize > 0
	}
	if post.Type != "" && r.Header.Get("Content-Type") == "" {
		r.Header.Set("Content-Type", post.Type)
	}
	return nil
}

// answer is what came back; nil where nothing did, as of a request that the browser gave up. Its body stands in a HAR
// with the codings undone.
func (e *harEntry) answer(method string) (*Response, error) {
	res := &e.Response
	if res.Status < 100 || res.Status > 999 {
		return nil, nil
	}
	a := &Response{Status: res.Status, Header: harHeaders(res.Headers)}
	dropHopByHop(a.Header)
	delete(a.Header, "Content-Encoding")
	if e.Took > 0 && e.Took < 1e9 {
		a.Took = time.Duration(e.Took * float64(time.Millisecond))
	}
	if res.Content.Encoding == "base64" {
		body, err := base64.StdEncoding.DecodeString(res.Content.Text)
		if err != nil {
			return nil, errors.New("the answer's body is no base64")
		}
		a.Body = body
	} else {
		a.Body = []byte(res.Content.Text)
	}
	a.Cut = len(a.Body) == 0 && (res.Content.Size > 0 || res.BodySize > 0) && method != http.MethodHead
	if a.Size = int64(len(a.Body)); a.Cut {
		a.Size = res.Content.Size
	}
	return a, nil
}

// harHeaders leaves out what HTTP/2 writes among them, as :authority. Several cookies in one line are as many lines, as
// browsers join them.
func harHeaders(list []harHeader) http.Header {
	h := http.Header{}
	for _, one := range list {
		if strings.HasPrefix(one.Name, ":") {
			continue
		}
		for value := range strings.SplitSeq(one.Value, "\n") {
			if utf8.ValidString(value) {
				h.Add(one.Name, value)
			}
		}
	}
	return h
}

// newlines tells lines by offsets, while a decoder reads ahead.
type newlines struct {
	r      io.Reader
	offset int64
	ends   []int64 // offsets of newlines behind the last place that was asked for
	passed int     // newlines before it
}

func (n *newlines) Read(p []byte) (int, error) {
	got, err := n.r.Read(p)
	for rest, at := p[:got], n.offset; ; {
		i := bytes.IndexByte(rest, '\n')
		if i < 0 {
			break
		}
		n.ends = append(n.ends, at+int64(i))
		rest, at = rest[i+1:], at+int64(i)+1
	}
	n.offset += int64(got)
	return got, err
}

// at is the line of an offset, from 1. Offsets must not fall.
func (n *newlines) at(offset int64) int {
	i := 0
	for i < len(n.ends) && n.ends[i] < offset {
		i++
	}
	n.passed += i
	n.ends = append(n.ends[:0], n.ends[i:]...)
	return n.passed + 1
}
