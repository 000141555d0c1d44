package web

import (
	"context"
	"encoding/hex"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/go-chi/chi/v5"

	"shadowdiff/diff"
	"shadowdiff/multicast"
	"shadowdiff/store"
)

// sampleItem is one stored exchange in GET /api/v1/samples; all values are redacted.
type sampleItem struct {
	ID        int64              `json:"id"`
	Page      string             `json:"page"`
	Exchange  string             `json:"exchange"` // X-Shadow-Id
	Time      time.Time          `json:"time"`
	Route     string             `json:"route"`
	Result    diff.Result        `json:"result"`
	Fields    []string           `json:"fields"` // that differ on either side
	Method    string             `json:"method"`
	Target    string             `json:"target"`
	Responses map[string]legItem `json:"responses"` // by role
}

// legItem is one role's answer in a list.
type legItem struct {
	Outcome  multicast.Outcome `json:"outcome"`
	Status   int               `json:"status"`
	Size     int64             `json:"size"`     // bytes of the body as sent
	Duration float64           `json:"duration"` // seconds
}

// sampleAnswer is GET /api/v1/samples/{id}.
type sampleAnswer struct {
	sampleItem
	Request    requestAnswer             `json:"request"`
	Responses  map[string]responseAnswer `json:"responses"`
	Candidate  []diff.Difference         `json:"candidate"` // primary against candidate
	Control    []diff.Difference         `json:"control"`   // primary against secondary
	Redactions int                       `json:"redactions"`
}

type requestAnswer struct {
	Method  string      `json:"method"`
	Target  string      `json:"target"`
	Host    string      `json:"host"`
	Header  http.Header `json:"header"`
	Trailer http.Header `json:"trailer,omitempty"`
	diff.CaseBody
}

type responseAnswer struct {
	legItem
	Detail  string      `json:"detail,omitempty"`
	Header  http.Header `json:"header"`
	Trailer http.Header `json:"trailer,omitempty"`
	diff.CaseBody
	BodyCut bool   `json:"body_cut"`       // the body here is shorter than the one sent
	Hash    string `json:"hash,omitempty"` // SHA-256 of the whole body, when it was over the cap
}

// sampleParameters are the filters that a list of samples takes.
var sampleParameters = [...]string{"field", "at_field", "test", "value", "role", "attribute", "is", "route", "result", "since", "until", "run", "limit", "cursor"}

// listSamples answers GET /api/v1/samples, newest first.
func (s *Server) listSamples(w http.ResponseWriter, r *http.Request) error {
	q, err := readQuery(r, append(sampleParameters[:], "format")...)
	if err != nil {
		return err
	}
	format, err := q.choice("format", "json", "har")
	if err != nil {
		return err
	}
	filter, err := s.sampleFilter(r, q)
	if err != nil {
		return err
	}
	snap, err := s.snapshotOf(r, q)
	if err != nil {
		return err
	}
	if err = s.choose(r.Context(), snap, &filter); err != nil {
		return err
	}
	samples, next, err := s.samplesOf(r.Context(), q, filter)
	if err != nil {
		return err
	}
	if format == "har" {
		return s.writeHAR(w, r, q, samples, next)
	}
	answer := list[sampleItem]{Items: make([]sampleItem, 0, len(samples))}
	for _, sample := range samples {
		answer.Items = append(answer.Items, s.sampleItem(sample))
	}
	if next != "" {
		answer.Next = q.cursorFor(next)
	}
	return writeJSON(w, answer)
}

// sampleFilter is which of the kept samples are wanted.
type sampleFilter struct {
	store.Filter
	atField diff.Result  // what the two did at the field; empty: either differs
	test    diff.Test    // by which that is told: a kind of difference, or a graver one
	value   string       // that stood there where it differed, as JSON; empty: any
	side    int          // whose value that is; anySide: of any of them
	having  *diff.Having // what the request is to have of an attribute; nil: anything
	chosen  *diff.Chosen // the same, looked up
}

// anySide stands where a value may be of any of the three.
const anySide = -1

func (s *Server) sampleFilter(r *http.Request, q query) (f sampleFilter, err error) {
	f.Route, f.Field = q.text("route"), q.text("field")
	word, err := q.choice("result", string(diff.Agree), string(diff.CandidateOnly), string(diff.ControlOnly), string(diff.Both))
	f.Result = diff.Result(word)
	if err == nil {
		err = f.readAtField(q)
	}
	if err == nil {
		err = f.readAttribute(q)
	}
	if err == nil {
		f.Cursor, err = q.place()
	}
	if err == nil {
		f.Run, err = s.runMeant(r, q)
	}
	if err == nil {
		f.Limit, err = q.number("limit", 50, 500)
	}
	if err == nil {
		f.Since, f.Until, err = q.span()
	}
	return f, err
}

// readAtField reads what is asked of the field itself.
func (f *sampleFilter) readAtField(q query) error {
	word, err := q.choice("at_field", string(diff.CandidateOnly), string(diff.ControlOnly), string(diff.Both), string(diff.Agree),
		string(candidateDiffers), string(controlDiffers), string(candidateGraver), string(candidateAgrees))
	if err != nil {
		return err
	}
	f.atField = diff.Result(word)
	test, err := q.test()
	switch {
	case err != nil:
		return err
	case word != "" && f.Field == "":
		return refuse(http.StatusBadRequest, "at_field=%s is of a field: give field, too", word)
	case test == nil:
		return nil
	case f.Field == "":
		return refuse(http.StatusBadRequest, "test=%s is of a field: give field, too", test)
	case *test > diff.TestPresence:
		return refuse(http.StatusBadRequest, "test=%s leans over many requests, and no sample tells of it alone: give value, format, type or presence", test)
	}
	f.test = *test
	return nil
}

// readValue reads which value is to have stood at the field.
func (f *sampleFilter) readValue(q query) error {
	f.value, f.side = q.text("value"), anySide
	role, err := q.choice("role", multicast.Primary.String(), multicast.Secondary.String(), multicast.Candidate.String())
	if err != nil {
		return err
	}
	for side := range storedRole {
		if storedRole[side].String() == role {
			f.side = side
		}
	}
	switch {
	case f.value == "" && role != "":
		return refuse(http.StatusBadRequest, "role=%s is of a value: give value, too", role)
	case f.value != "" && f.Field == "":
		return refuse(http.StatusBadRequest, "value=%.100s is of a field: give field, too", f.value)
	case f.value != "" && f.beyondField():
		return refuse(http.StatusBadRequest, "value is told of where something differs at the field: at_field=%s has none of it", f.atField)
	}
	return nil
}

// What one of the two did at a field, whatever the other did; or what the candidate did as requests are counted by their
// attributes.
const (
	candidateDiffers diff.Result = "candidate"
	controlDiffers   diff.Result = "control"
	candidateGraver  diff.Result = "candidate_graver" // it differs more gravely than the control, if that differs
	candidateAgrees  diff.Result = "candidate_agrees"
)

// admits tells whether a sample that differs at the field does so as it is asked.
func (f *sampleFilter) admits(sample *store.Sample) bool {
	if !f.looks() {
		return true
	}
	if f.value != "" && !f.stoodIn(sample) || f.chosen != nil && !f.chosen.Meets(askedOf(sample)) {
		return false
	}
	least := diff.Level(f.test) + 1
	byCandidate, byControl := levelAt(sample.Candidate, f.Field), levelAt(sample.Control, f.Field)
	onCandidate, onControl := byCandidate >= least, byControl >= least
	switch f.atField {
	case diff.CandidateOnly:
		return onCandidate && !onControl
	case diff.ControlOnly:
		return onControl && !onCandidate
	case diff.Both:
		return onCandidate && onControl
	case diff.Agree:
		return !onCandidate && !onControl
	case candidateDiffers:
		return onCandidate
	case controlDiffers:
		return onControl
	case candidateGraver:
		return onCandidate && byCandidate > byControl || f.Field == diff.FieldSize && sizesDiffer(sample)
	case candidateAgrees:
		return !onCandidate && !(f.Field == diff.FieldSize && sizesDiffer(sample))
	default:
		return f.test == diff.TestValue || onCandidate || onControl
	}
}

// looks tells that samples have to be read to know whether they are wanted.
func (f *sampleFilter) looks() bool {
	return f.atField != "" || f.test > diff.TestValue || f.value != "" || f.having != nil
}

// beyondField tells that requests are wanted in which the field need not differ.
func (f *sampleFilter) beyondField() bool {
	return f.atField == diff.Agree || f.atField == candidateAgrees
}

// stoodIn tells whether the value stood in a sample at a place of the field that differs.
func (f *sampleFilter) stoodIn(sample *store.Sample) bool {
	if f.Field == diff.FieldSize {
		for side, role := range storedRole {
			if n := sample.Decoded[role]; n >= 0 && (f.side == anySide || f.side == side) && f.value == strconv.FormatInt(n, 10) {
				return true
			}
		}
		return false
	}
	return slices.ContainsFunc(placesViewOf(sample), func(p placeView) bool {
		if p.Field != f.Field {
			return false
		}
		for side := range p.Values {
			if (f.side == anySide || f.side == side) && !p.Absent[side] && p.Values[side] == f.value {
				return true
			}
		}
		return false
	})
}

// sizesDiffer tells whether the candidate's body had another size than the control's, as far as it is known.
func sizesDiffer(sample *store.Sample) bool {
	c, s := sample.Decoded[multicast.Candidate], sample.Decoded[multicast.Secondary]
	return min(c, s, sample.Decoded[multicast.Primary]) >= 0 && c != s
}

// kept is the filter as the store has it: of those that agree at a field it knows nothing but that they are of the route.
func (f *sampleFilter) kept() store.Filter {
	of := f.Filter
	if f.beyondField() {
		of.Field = ""
	}
	return of
}

// levelAt is the gravest level of the differences of one side at a field.
func levelAt(differences []diff.Difference, field string) (level diff.Level) {
	for i := range differences {
		if d := &differences[i]; d.Field == field {
			level = max(level, d.Kind.Level())
		}
	}
	return level
}

// samplesLooked is how many samples are looked through for one page of those that are told by what they hold.
const samplesLooked = 2_000

// samplesOf lists what a filter admits, newest first, and where the list goes on.
func (s *Server) samplesOf(ctx context.Context, q query, f sampleFilter) (items []*store.Sample, next string, err error) {
	limit, looked := f.Limit, 0
	if f.looks() {
		f.Limit = 500
	}
	for {
		var page []*store.Sample
		page, next, err = s.deps.DB.Samples(ctx, f.kept())
		if errors.Is(err, store.ErrCursor) {
			return nil, "", badCursor(q.text("cursor"))
		}
		if err != nil {
			return nil, "", err
		}
		for _, sample := range page {
			switch {
			case !f.admits(sample):
			case len(items) == limit:
				return items, items[limit-1].Cursor(), nil
			default:
				items = append(items, sample)
			}
		}
		looked += len(page)
		if next == "" || !f.looks() || looked >= samplesLooked {
			return items, next, nil
		}
		f.Cursor = next
	}
}

func (s *Server) sampleItem(sample *store.Sample) sampleItem {
	item := sampleItem{
		ID: sample.ID, Page: s.prefix + samplePath(sample.ID), Exchange: sample.Exchange, Time: sample.Time, Route: sample.Route,
		Result: sample.Result, Fields: sample.Fields, Method: sample.Request.Method, Target: sample.Request.Target,
		Responses: map[string]legItem{},
	}
	if item.Fields == nil {
		item.Fields = []string{}
	}
	for _, role := range roles {
		if resp := &sample.Responses[role]; resp.Outcome != "" {
			item.Responses[role.String()] = legOf(resp)
		}
	}
	return item
}

// roles in the order in which pages show them.
var roles = [...]multicast.Role{multicast.Primary, multicast.Secondary, multicast.Candidate}

func legOf(resp *multicast.Response) legItem {
	return legItem{Outcome: resp.Outcome, Status: resp.Status, Size: resp.Size, Duration: resp.Duration.Seconds()}
}

// getSample answers GET /api/v1/samples/{id}.
func (s *Server) getSample(w http.ResponseWriter, r *http.Request) error {
	if _, err := readQuery(r); err != nil {
		return err
	}
	sample, err := s.findSample(r)
	if err != nil {
		return err
	}
	return writeJSON(w, s.sampleAnswer(sample))
}

func (s *Server) sampleAnswer(sample *store.Sample) sampleAnswer {
	req := sample.Request
	a := sampleAnswer{
		sampleItem: s.sampleItem(sample),
		Request: requestAnswer{
			Method: req.Method, Target: req.Target, Host: req.Host, Header: headerOf(req.Header), Trailer: req.Trailer,
			CaseBody: diff.NewCaseBody(req.Body),
		},
		Responses: map[string]responseAnswer{}, Redactions: sample.Redactions,
		Candidate: append([]diff.Difference{}, sample.Candidate...), Control: append([]diff.Difference{}, sample.Control...),
	}
	for _, role := range roles {
		resp := &sample.Responses[role]
		if resp.Outcome == "" {
			continue
		}
		answer := responseAnswer{
			legItem: legOf(resp), Detail: resp.Detail, Header: headerOf(resp.Header), Trailer: resp.Trailer,
			CaseBody: diff.NewCaseBody(resp.Body), BodyCut: sample.BodyCut[role],
		}
		if resp.Over {
			answer.Hash = hex.EncodeToString(resp.Hash[:])
		}
		a.Responses[role.String()] = answer
	}
	return a
}

func headerOf(h http.Header) http.Header {
	if h == nil {
		return http.Header{}
	}
	return h
}

// findSample reads the sample that a request's path names.
func (s *Server) findSample(r *http.Request) (*store.Sample, error) {
	id, err := strconv.ParseInt(chi.URLParam(r, "id"), 10, 64)
	if err != nil || id < 1 {
		return nil, refuse(http.StatusNotFound, "%q is not a sample's number; /api/v1/samples lists those that are kept", chi.URLParam(r, "id"))
	}
	sample, err := s.deps.DB.Sample(r.Context(), id)
	if errors.Is(err, store.ErrNotFound) {
		return nil, refuse(http.StatusNotFound,
			"sample %d is not kept any more, or never was: others of its fields have taken its place (store.samples_per_field), "+
				"or it was older than store.keep_samples, or the file was over store.max_size", id)
	}
	return sample, err
}
