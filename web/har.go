package web

import (
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"shadowdiff/diff"
	"shadowdiff/multicast"
	"shadowdiff/store"
)

// HAR 1.2, as browsers read it: one entry for each answer of each sample. What is not of that format has a name that
// begins with _.
//
// Source: http://www.softwareishard.com/blog/har-12-spec/.
type (
	harFile struct {
		Log harLog `json:"log"`
	}
	harLog struct {
		Version string     `json:"version"`
		Creator harCreator `json:"creator"`
		Entries []harEntry `json:"entries"`
		Comment string     `json:"comment,omitempty"`
	}
	harCreator struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	}
	harEntry struct {
		Started  time.Time   `json:"startedDateTime"`
		Time     float64     `json:"time"` // ms
		Request  harRequest  `json:"request"`
		Response harResponse `json:"response"`
		Cache    struct{}    `json:"cache"`
		Timings  harTimings  `json:"timings"`

		Sample  int64             `json:"_sample"`
		Role    string            `json:"_role"`
		Route   string            `json:"_route"`
		Result  diff.Result       `json:"_result"`
		Outcome multicast.Outcome `json:"_outcome"`
		Shadow  string            `json:"_shadow_id"`
		Differs []diff.Difference `json:"_differences,omitempty"` // from the primary
	}
	harTimings struct {
		Send    float64 `json:"send"`
		Wait    float64 `json:"wait"`
		Receive float64 `json:"receive"`
	}
	harRequest struct {
		Method      string      `json:"method"`
		URL         string      `json:"url"`
		HTTPVersion string      `json:"httpVersion"`
		Cookies     []harCookie `json:"cookies"`
		Headers     []harPair   `json:"headers"`
		Query       []harPair   `json:"queryString"`
		PostData    *harPost    `json:"postData,omitempty"`
		HeadersSize int64       `json:"headersSize"`
		BodySize    int64       `json:"bodySize"`
	}
	harResponse struct {
		Status      int         `json:"status"` // 0: no answer
		StatusText  string      `json:"statusText"`
		HTTPVersion string      `json:"httpVersion"`
		Cookies     []harCookie `json:"cookies"`
		Headers     []harPair   `json:"headers"`
		Content     harContent  `json:"content"`
		RedirectURL string      `json:"redirectURL"`
		HeadersSize int64       `json:"headersSize"`
		BodySize    int64       `json:"bodySize"` // as sent
		Error       string      `json:"_error,omitempty"`
	}
	harContent struct {
		Size     int64  `json:"size"`
		MimeType string `json:"mimeType"`
		Text     string `json:"text,omitempty"`
		Encoding string `json:"encoding,omitempty"` // base64
		Comment  string `json:"comment,omitempty"`
	}
	harPost struct {
		MimeType string    `json:"mimeType"`
		Params   []harPair `json:"params"`
		Text     string    `json:"text"`
		Encoding string    `json:"_encoding,omitempty"` // base64, for which the format has no place
		Comment  string    `json:"comment,omitempty"`
	}
	harPair struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	harCookie struct {
		Name     string `json:"name"`
		Value    string `json:"value"`
		Path     string `json:"path,omitempty"`
		Domain   string `json:"domain,omitempty"`
		HTTPOnly bool   `json:"httpOnly,omitempty"`
		Secure   bool   `json:"secure,omitempty"`
	}
)

// harBytes is from how many bytes of bodies a file of several samples ends: the next one begins with the sample that
// follows.
const harBytes = 16 << 20

// sampleHAR answers GET /api/v1/samples/{id}/har.
func (s *Server) sampleHAR(w http.ResponseWriter, r *http.Request) error {
	if _, err := readQuery(r); err != nil {
		return err
	}
	sample, err := s.findSample(r)
	if err != nil {
		return err
	}
	download(w, sampleName(r, ".har"))
	return writeJSON(w, s.harOf([]*store.Sample{sample}))
}

// writeHAR answers GET /api/v1/samples?format=har: as many of the listed samples as fit one file. The cursor of the next
// one stands in the header Link.
func (s *Server) writeHAR(w http.ResponseWriter, r *http.Request, q query, listed []*store.Sample, next string) error {
	var whole []*store.Sample
	size := 0
	for i, head := range listed {
		sample, err := s.deps.DB.Sample(r.Context(), head.ID)
		if err != nil {
			if errors.Is(err, store.ErrNotFound) { // removed while the file was made
				continue
			}
			return err
		}
		whole = append(whole, sample)
		size += len(sample.Request.Body)
		for role := range sample.Responses {
			size += len(sample.Responses[role].Body)
		}
		if size >= harBytes && i < len(listed)-1 {
			next = head.Cursor()
			break
		}
	}
	if next != "" {
		linkNext(w, s.prefix, r, *q.cursorFor(next))
	}
	download(w, "shadowdiff-samples.har")
	return writeJSON(w, s.harOf(whole))
}

// linkNext tells the address of the next page of an answer that has no place for it.
//
// Source: RFC 8288.
func linkNext(w http.ResponseWriter, prefix string, r *http.Request, cursor string) {
	q := r.URL.Query()
	q.Set("cursor", cursor)
	w.Header().Set("Link", fmt.Sprintf("<%s?%s>; rel=\"next\"", prefix+r.URL.EscapedPath(), q.Encode()))
}

func (s *Server) harOf(samples []*store.Sample) harFile {
	f := harFile{harLog{
		Version: "1.2", Creator: harCreator{"shadowdiff", s.deps.Version}, Entries: []harEntry{},
		Comment: "Bodies are decoded, and secrets redacted, as they were kept. An entry's time is that of the whole answer.",
	}}
	for _, sample := range samples {
		for _, role := range roles {
			if sample.Responses[role].Outcome != "" {
				f.Log.Entries = append(f.Log.Entries, s.harEntry(sample, role))
			}
		}
	}
	return f
}

func (s *Server) harEntry(sample *store.Sample, role multicast.Role) harEntry {
	resp := &sample.Responses[role]
	took := float64(resp.Duration) / float64(time.Millisecond)
	e := harEntry{
		Started: sample.Time, Time: took, Timings: harTimings{Wait: took},
		Request: harRequestOf(sample, s.address(role)), Response: harResponseOf(sample, role),
		Sample: sample.ID, Role: role.String(), Route: sample.Route, Result: sample.Result, Outcome: resp.Outcome, Shadow: sample.Exchange,
	}
	switch role {
	case multicast.Candidate:
		e.Differs = sample.Candidate
	case multicast.Secondary:
		e.Differs = sample.Control
	}
	return e
}

func harRequestOf(sample *store.Sample, base string) harRequest {
	req := &sample.Request
	if base == "" {
		base = "http://" + req.Host
	}
	path, query, _ := strings.Cut(req.Target, "?")
	h := harRequest{
		Method: req.Method, URL: base + uri(path), HTTPVersion: "HTTP/1.1", Cookies: []harCookie{}, Headers: harHeaders(req.Header),
		Query: harQuery(query), HeadersSize: -1, BodySize: int64(len(req.Body)),
	}
	if query != "" {
		h.URL += "?" + uri(query)
	}
	for _, line := range req.Header.Values("Cookie") {
		cookies, _ := http.ParseCookie(line) // what is none, as when it was redacted, stands among the headers
		for _, c := range cookies {
			h.Cookies = append(h.Cookies, harCookie{Name: c.Name, Value: c.Value})
		}
	}
	if len(req.Body) > 0 {
		body := diff.NewCaseBody(req.Body)
		h.PostData = &harPost{MimeType: req.Header.Get("Content-Type"), Params: []harPair{}, Text: body.Body, Encoding: body.Encoding}
		if sample.RequestCut {
			h.PostData.Comment = "cut off when it was kept"
		}
	}
	return h
}

func harResponseOf(sample *store.Sample, role multicast.Role) harResponse {
	resp := &sample.Responses[role]
	body := diff.NewCaseBody(resp.Body)
	h := harResponse{
		Status: resp.Status, StatusText: http.StatusText(resp.Status), HTTPVersion: "HTTP/1.1", Cookies: []harCookie{},
		Headers: harHeaders(resp.Header), RedirectURL: resp.Header.Get("Location"), HeadersSize: -1, BodySize: resp.Size,
		Content: harContent{
			Size: int64(len(resp.Body)), MimeType: resp.Header.Get("Content-Type"), Text: body.Body, Encoding: body.Encoding,
		},
	}
	if resp.Outcome != multicast.OutcomeOK {
		h.Error = strings.TrimSpace(string(resp.Outcome) + ": " + resp.Detail)
	}
	if h.Content.MimeType == "" {
		h.Content.MimeType = "x-unknown"
	}
	switch {
	case resp.Over:
		h.Content.Size = resp.Size
		h.Content.Comment = "longer than shadow.max_response_body, so not kept; SHA-256 " + hex.EncodeToString(resp.Hash[:])
	case sample.BodyCut[role]:
		h.Content.Comment = "cut off when it was kept"
	}
	for _, line := range resp.Header.Values("Set-Cookie") {
		if c, err := http.ParseSetCookie(line); err == nil {
			h.Cookies = append(h.Cookies, harCookie{c.Name, c.Value, c.Path, c.Domain, c.HttpOnly, c.Secure})
		}
	}
	return h
}

func harHeaders(h http.Header) []harPair {
	list := []harPair{}
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for _, value := range h[name] {
			list = append(list, harPair{name, strings.ToValidUTF8(value, "\uFFFD")})
		}
	}
	return list
}

// harQuery splits a query without losing what is not well formed.
func harQuery(query string) []harPair {
	list := []harPair{}
	for part := range strings.SplitSeq(query, "&") {
		if part == "" {
			continue
		}
		name, value, _ := strings.Cut(part, "=")
		list = append(list, harPair{unescaped(name), unescaped(value)})
	}
	return list
}

func unescaped(text string) string {
	plain, err := url.QueryUnescape(text)
	if err != nil || !utf8.ValidString(plain) {
		return text
	}
	return plain
}

// uri is a part of a target in which what no URI may hold is percent-encoded; clients send such things all the same.
func uri(part string) string {
	var out strings.Builder
	for i := range len(part) {
		b := part[i]
		escape := b == '%' && !(i+2 < len(part) && hexDigit(part[i+1]) && hexDigit(part[i+2]))
		if escape || b <= ' ' || b >= 0x7f || strings.IndexByte("\"<>\\^`{|}[]#", b) >= 0 {
			fmt.Fprintf(&out, "%%%02X", b)
		} else {
			out.WriteByte(b)
		}
	}
	return out.String()
}

func hexDigit(b byte) bool { return b >= '0' && b <= '9' || b|0x20 >= 'a' && b|0x20 <= 'f' }
