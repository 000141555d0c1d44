package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"shadowdiff/diff"
	"shadowdiff/multicast"
	"shadowdiff/normalize"
	"shadowdiff/store"
)

const (
	maxAsking   = 2        // samples that are asked again at one time
	askBody     = 64 << 10 // bytes of what a caller says of it
	addedMost   = 100      // headers that a caller adds
	addedLength = 32 << 10 // bytes of the longest value of one
)

// askAnswer is POST /api/v1/samples/{id}/ask: as GET /api/v1/samples/{id}, of what was answered now.
type askAnswer struct {
	sampleAnswer                  // id and page are those of the sample
	Unknown      multicast.Reason `json:"unknown"`  // why nothing could be compared; empty when it could
	Redacted     []string         `json:"redacted"` // places of the request that were asked as redacted
}

// postAsk answers POST /api/v1/samples/{id}/ask. Nothing is counted and nothing kept.
func (s *Server) postAsk(w http.ResponseWriter, r *http.Request) error {
	sample, keys, err := s.readAsk(w, r, `{"headers": {"Authorization": "Bearer ..."}}`, "headers")
	if err != nil {
		return err
	}
	q, seen, err := s.askAgain(w, r, sample, keys["headers"])
	if err != nil {
		return err
	}
	a := askAnswer{sampleAnswer: s.sampleAnswer(seen.sample), Unknown: seen.comparison.Unknown, Redacted: redactedPlaces(&q.request)}
	a.ID, a.Page = sample.ID, s.prefix+samplePath(sample.ID)
	return writeJSON(w, a)
}

// askAgain asks the three what a client asked, with the caller's headers.
func (s *Server) askAgain(w http.ResponseWriter, r *http.Request, sample *store.Sample, headers json.RawMessage) (*question, *sight, error) {
	q, err := s.questionOf(sample, headers)
	if err != nil {
		return nil, nil, err
	}
	if !enter(&s.asking, maxAsking) {
		w.Header().Set("Retry-After", "1")
		return nil, nil, refuse(http.StatusTooManyRequests, "%d samples are being asked again; try again when one of them is done", maxAsking)
	}
	defer s.asking.Add(-1)
	sent := unhurried(w)
	s.deps.Log.Info("sample asked again", "sample", sample.ID, "route", sample.Route)
	seen, err := q.ask(r.Context(), &q.request, true)
	if err != nil {
		return nil, nil, asNotAsked(err)
	}
	sent()
	return q, seen, nil
}

// readAsk reads which sample is meant, and the body, which may be left out.
func (s *Server) readAsk(w http.ResponseWriter, r *http.Request, example string, known ...string) (*store.Sample, map[string]json.RawMessage, error) {
	if _, err := readQuery(r); err != nil {
		return nil, nil, err
	}
	body, err := readBody(w, r, askBody)
	if err != nil {
		return nil, nil, err
	}
	keys := map[string]json.RawMessage{}
	if len(bytes.TrimSpace(body)) > 0 {
		if keys, err = parseObject(body, example, known...); err != nil {
			return nil, nil, err
		}
	}
	sample, err := s.findSample(r)
	return sample, keys, err
}

// enter takes one of so many places.
func enter(places *atomic.Int32, most int32) bool {
	if places.Add(1) > most {
		places.Add(-1)
		return false
	}
	return true
}

// unhurried lets a handler take the time that its upstreams take; what it returns is called before the answer is sent.
func unhurried(w http.ResponseWriter) (sent func()) {
	out := http.NewResponseController(w)
	_ = out.SetReadDeadline(time.Time{}) // or the server would take the caller for gone
	_ = out.SetWriteDeadline(time.Time{})
	return func() { _ = out.SetWriteDeadline(time.Now().Add(chunkTime)) }
}

// asNotAsked makes a problem of what kept everybody from being asked.
func asNotAsked(err error) error {
	if no, is := errors.AsType[*multicast.NotAsked](err); is {
		return refuse(http.StatusConflict, "nobody was asked: %s", no.Detail)
	}
	return err
}

// question is what is asked again on the word of one caller.
type question struct {
	server   *Server
	of       *store.Sample
	request  multicast.Request // with what the caller adds
	added    []string          // names of the headers that the caller has set
	comparer *diff.Comparer    // whose comparisons count nowhere
}

// questionOf is the request of a sample with the caller's headers in it. It refuses what cannot be the same request.
func (s *Server) questionOf(sample *store.Sample, headers json.RawMessage) (*question, error) {
	switch {
	case s.deps.Comparer == nil:
		return nil, refuse(http.StatusConflict, "this process cannot ask again")
	case sample.RequestCut:
		return nil, refuse(http.StatusConflict, "sample %d holds only the first %d bytes of the request's body, so it cannot be asked again",
			sample.ID, len(sample.Request.Body))
	case sample.Redactions > 0 && bytes.HasPrefix(sample.Request.Body, []byte("[redacted: ")):
		return nil, refuse(http.StatusConflict,
			"the request's body of sample %d could not be read and was withheld as a whole (store.redact), so it cannot be asked again", sample.ID)
	}
	q := &question{server: s, of: sample, request: sample.Request}
	q.request.Header = sample.Request.Header.Clone()
	if q.request.Header == nil {
		q.request.Header = http.Header{}
	}
	var err error
	if q.added, err = addHeaders(q.request.Header, headers); err != nil {
		return nil, err
	}
	q.comparer, err = s.deps.Comparer()
	return q, err
}

// addHeaders puts the caller's headers in the place of those of the same name; null takes one away.
func addHeaders(to http.Header, text json.RawMessage) (added []string, err error) {
	if text == nil {
		return nil, nil
	}
	var given map[string]*string
	if json.Unmarshal(text, &given) != nil || given == nil {
		return nil, refuse(http.StatusBadRequest, `headers: give names with one text each, as {"Authorization": "Bearer ..."}; null leaves one out`)
	}
	if len(given) > addedMost {
		return nil, refuse(http.StatusBadRequest, "headers: %d are too many; %d may be given", len(given), addedMost)
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		key := http.CanonicalHeaderKey(name)
		if err := mayAdd(key, given[name]); err != nil {
			return nil, err
		}
		for was := range to {
			if strings.EqualFold(was, key) {
				delete(to, was)
			}
		}
		if value := given[name]; value != nil {
			to[key] = []string{*value}
			added = append(added, key)
		}
	}
	return added, nil
}

func mayAdd(key string, value *string) error {
	switch key {
	case "Connection", "Content-Length", "Expect", "Host", "Keep-Alive", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
		"X-Shadow-Request", "X-Shadow-Id":
		return refuse(http.StatusBadRequest, "headers: %s cannot be changed: it belongs to how the request is sent", key)
	}
	const word = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ" // RFC 9110, section 5.6.2
	if key == "" || strings.Trim(key, word) != "" {
		return refuse(http.StatusBadRequest, "headers: %q is no name of a header", key)
	}
	if value == nil {
		return nil
	}
	bad := func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }
	if strings.ContainsFunc(*value, bad) || len(*value) > addedLength {
		return refuse(http.StatusBadRequest, "headers: the value of %s holds control characters, or is longer than %d bytes", key, addedLength)
	}
	return nil
}

// sight is what came of asking once.
type sight struct {
	comparison *diff.Comparison // without its exchange
	sample     *store.Sample    // what was answered, redacted; nil unless it was wanted
}

// ask asks once, under the rules in force.
func (q *question) ask(ctx context.Context, req *multicast.Request, show bool) (*sight, error) {
	var seen sight
	var fault error
	err := q.server.deps.Proxy.Ask(ctx, req, func(ex *multicast.Exchange) {
		c := q.comparer.Compare(ex)
		if !c.Given {
			c.Route = q.of.Route // the name that was learnt
		}
		if show {
			seen.sample, fault = q.server.deps.DB.Redact(c)
		}
		c.Exchange = nil
		seen.comparison = c
	})
	if err = errors.Join(err, fault); err != nil {
		return nil, err
	}
	if show {
		q.hide(seen.sample.Request.Header)
	}
	return &seen, nil
}

// hide takes out what the caller has added: nobody but the caller knows whether it is secret.
func (q *question) hide(h http.Header) {
	for _, name := range q.added {
		if h[name] != nil {
			h[name] = []string{normalize.Redacted}
		}
	}
}

// redactedPlaces are the parts of a request in which something stands that was taken out when it was kept.
func redactedPlaces(req *multicast.Request) []string {
	places := []string{}
	for root, header := range map[string]http.Header{"header": req.Header, "trailer": req.Trailer} {
		for name, values := range header {
			if slices.ContainsFunc(values, holdsRedacted) {
				places = append(places, root+"."+strings.ToLower(name))
			}
		}
	}
	_, query, _ := strings.Cut(req.Target, "?")
	for pair := range strings.SplitSeq(query, "&") {
		if name, value, _ := strings.Cut(pair, "="); holdsRedacted(value) {
			places = append(places, "query."+plainName(name))
		}
	}
	if holdsRedacted(string(req.Body)) {
		places = append(places, "body")
	}
	slices.Sort(places)
	return slices.Compact(places)
}

func holdsRedacted(text string) bool {
	return strings.Contains(text, normalize.Redacted) || strings.Contains(text, url.QueryEscape(normalize.Redacted))
}

// plainName is the name of a parameter as people read it.
func plainName(name string) string {
	if plain, err := url.QueryUnescape(name); err == nil {
		name = plain
	}
	if quoted := strconv.Quote(name); quoted != `"`+name+`"` {
		return fmt.Sprintf("[%s]", quoted)
	}
	return name
}
