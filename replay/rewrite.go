package replay

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/net/http/httpguts"

	"shadowdiff/multicast"
	"shadowdiff/normalize"
	"shadowdiff/traffic"
)

// Rewrite is what is changed in the headers of every request, so that expired credentials need not be sent.
type Rewrite struct {
	set  http.Header
	drop []string
}

// Add reads one change: NAME: VALUE sets a header in place of what was recorded, NAME: leaves it out.
func (w *Rewrite) Add(text string) error {
	name, value, found := strings.Cut(text, ":")
	name, value = http.CanonicalHeaderKey(strings.TrimSpace(name)), strings.TrimSpace(value)
	switch {
	case !found || !httpguts.ValidHeaderFieldName(name):
		return fmt.Errorf("must be NAME: VALUE, or NAME: to leave it out") // and is not repeated: it may be a secret
	case !httpguts.ValidHeaderFieldValue(value):
		return fmt.Errorf("%s has a value that no header can have", name)
	case value == "":
		w.drop = append(w.drop, name)
	default:
		if w.set == nil {
			w.set = http.Header{}
		}
		w.set[name] = append(w.set[name], value)
	}
	return nil
}

// redactedEncoded is normalize.Redacted as it stands in a URL.
var redactedEncoded = url.QueryEscape(normalize.Redacted)

// apply changes a request, and leaves out the headers of which the recording has kept no value. It answers with where
// something is missing.
func (w *Rewrite) apply(req *multicast.Request) (redacted []string) {
	for _, name := range w.drop {
		delete(req.Header, name)
	}
	maps.Copy(req.Header, w.set)
	if host := w.set.Get("Host"); host != "" {
		req.Host = host
		delete(req.Header, "Host")
	}
	for name, values := range req.Header {
		for _, value := range values {
			if strings.Contains(value, normalize.Redacted) {
				redacted = append(redacted, name)
				delete(req.Header, name)
				break
			}
		}
	}
	if strings.Contains(req.Target, redactedEncoded) {
		redacted = append(redacted, "query")
	}
	if body := string(req.Body); strings.Contains(body, normalize.Redacted) || strings.Contains(body, redactedEncoded) {
		redacted = append(redacted, "body")
	}
	return redacted
}

// request is a recorded request as it is asked.
func request(r *traffic.Request) *multicast.Request {
	return &multicast.Request{
		Method: r.Method, Target: r.Target, Host: r.Host, Header: r.Header.Clone(), Trailer: r.Trailer.Clone(), Body: r.Body,
	}
}

// response is a recorded answer as an exchange has it.
func response(r *traffic.Response) *multicast.Response {
	out := &multicast.Response{
		Outcome: multicast.OutcomeOK, Status: r.Status, Header: r.Header.Clone(), Trailer: r.Trailer.Clone(), Body: r.Body,
		Size: r.Size, Over: r.Hash != nil, Duration: r.Took,
	}
	copy(out.Hash[:], r.Hash)
	return out
}
