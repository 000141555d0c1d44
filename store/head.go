package store

import (
	"cmp"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"time"
	"unicode/utf8"

	"shadowdiff/diff"
	"shadowdiff/multicast"
)

// head is a sample without its bodies, as it is written down. It is a format of its own, so that types of other packages
// may change while old files stay readable: names are only ever added.
type head struct {
	Request   headOfRequest     `json:"request"`
	Responses [3]headOfResponse `json:"responses"`
	Fields    []text            `json:"fields,omitempty"`
	Candidate []headDifference  `json:"candidate,omitempty"`
	Control   []headDifference  `json:"control,omitempty"`
}

type headBody struct {
	Length int  `json:"length,omitempty"`
	Cut    bool `json:"cut,omitempty"`
}

type headOfRequest struct {
	Method  text       `json:"method"`
	Target  text       `json:"target"`
	Host    text       `json:"host"`
	Header  headFields `json:"header,omitempty"`
	Trailer headFields `json:"trailer,omitempty"`
	Size    int64      `json:"size,omitempty"` // as sent
	headBody
}

type headOfResponse struct {
	Outcome  string     `json:"outcome,omitempty"`
	Detail   text       `json:"detail,omitempty"`
	Status   int        `json:"status,omitempty"`
	Header   headFields `json:"header,omitempty"`
	Trailer  headFields `json:"trailer,omitempty"`
	Size     int64      `json:"size,omitempty"`    // of the body as sent, whatever is kept of it
	Decoded  *int64     `json:"decoded,omitempty"` // likewise of the decoded body
	Over     bool       `json:"over,omitempty"`
	Hash     string     `json:"hash,omitempty"` // hex, when over
	Duration int64      `json:"duration"`       // ns
	headBody
}

type headDifference struct {
	Field        text  `json:"field"`
	LeftPointer  *text `json:"left_pointer,omitempty"`
	RightPointer *text `json:"right_pointer,omitempty"`
	Kind         text  `json:"kind"`
	Left         text  `json:"left,omitempty"`
	Right        text  `json:"right,omitempty"`
	Note         text  `json:"note,omitempty"`
}

// text is a string that JSON gives back byte for byte, also where it is not UTF-8: then as {"bytes": "base64"}.
type text string

type bytesText struct {
	Bytes []byte `json:"bytes"`
}

func (t text) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(t)) {
		return json.Marshal(string(t))
	}
	return json.Marshal(bytesText{[]byte(t)})
}

func (t *text) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '{' {
		var raw bytesText
		err := json.Unmarshal(b, &raw)
		*t = text(raw.Bytes)
		return err
	}
	return json.Unmarshal(b, (*string)(t))
}

// headFields are header lines: names are tokens, which JSON takes as they are.
type headFields map[string][]text

func headHeader(h http.Header) headFields {
	if h == nil {
		return nil
	}
	fields := make(headFields, len(h))
	for name, values := range h {
		lines := make([]text, len(values))
		for i, v := range values {
			lines[i] = text(v)
		}
		fields[name] = lines
	}
	return fields
}

func (f headFields) header() http.Header {
	if f == nil {
		return nil
	}
	h := make(http.Header, len(f))
	for name, lines := range f {
		values := make([]string, len(lines))
		for i, v := range lines {
			values[i] = string(v)
		}
		h[name] = values
	}
	return h
}

func headRequest(r *multicast.Request) headOfRequest {
	return headOfRequest{
		Method: text(r.Method), Target: text(r.Target), Host: text(r.Host),
		Header: headHeader(r.Header), Trailer: headHeader(r.Trailer),
	}
}

func headResponse(r *multicast.Response) headOfResponse {
	h := headOfResponse{
		Outcome: string(r.Outcome), Detail: text(r.Detail), Status: r.Status, Size: r.Size, Over: r.Over,
		Duration: int64(r.Duration), Header: headHeader(r.Header), Trailer: headHeader(r.Trailer),
	}
	if r.Over {
		h.Hash = hex.EncodeToString(r.Hash[:])
	}
	return h
}

// fill gives the sample everything but its bodies.
func (h *head) fill(s *Sample) {
	s.Request = multicast.Request{
		Method: string(h.Request.Method), Target: string(h.Request.Target), Host: string(h.Request.Host),
		Header: h.Request.Header.header(), Trailer: h.Request.Trailer.header(),
	}
	s.RequestCut, s.RequestSize = h.Request.Cut, cmp.Or(h.Request.Size, int64(h.Request.Length)) // of old ones as kept
	for i := range h.Responses {
		r := &h.Responses[i]
		s.Responses[i] = multicast.Response{
			Outcome: multicast.Outcome(r.Outcome), Detail: string(r.Detail), Status: r.Status, Size: r.Size, Over: r.Over,
			Duration: time.Duration(r.Duration), Header: r.Header.header(), Trailer: r.Trailer.header(),
		}
		if s.Decoded[i] = -1; r.Decoded != nil {
			s.Decoded[i] = *r.Decoded
		}
		hex.Decode(s.Responses[i].Hash[:], []byte(r.Hash))
		s.BodyCut[i] = r.Cut
	}
	for _, f := range h.Fields {
		s.Fields = append(s.Fields, string(f))
	}
	s.Candidate, s.Control = differencesOf(h.Candidate), differencesOf(h.Control)
}

func differencesOf(list []headDifference) []diff.Difference {
	var differences []diff.Difference
	for i := range list {
		d := &list[i]
		differences = append(differences, diff.Difference{
			Field: string(d.Field), LeftPointer: (*string)(d.LeftPointer), RightPointer: (*string)(d.RightPointer),
			Kind: diff.Kind(d.Kind), Left: diff.Excerpt(d.Left), Right: diff.Excerpt(d.Right), Note: string(d.Note),
		})
	}
	return differences
}
