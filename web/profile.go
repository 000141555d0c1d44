package web

import (
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"shadowdiff/diff"
	"shadowdiff/multicast"
	"shadowdiff/store"
)

// profileBins is how many bins the numbers of the three roles are drawn in at most, each of them with the same ones.
const profileBins = 24

// profileAnswer is GET /api/v1/profile: what stood in one field where it differed.
type profileAnswer struct {
	Run           runLabel                      `json:"run"`
	Route         string                        `json:"route"`
	Field         string                        `json:"field"`
	Exchanges     int64                         `json:"exchanges"` // in which it differed and was profiled
	CandidateOnly int64                         `json:"candidate_only"`
	ControlOnly   int64                         `json:"control_only"`
	Both          int64                         `json:"both"`
	Places        int64                         `json:"places"` // of these exchanges, four of one at most
	MorePlaces    int64                         `json:"more_places"`
	Withheld      int64                         `json:"withheld"` // exchanges of which no value is kept, since one is redacted
	Late          bool                          `json:"late"`     // it had differed before it was profiled
	First         *time.Time                    `json:"first"`
	Last          *time.Time                    `json:"last"`
	Roles         map[string]roleProfile        `json:"roles"`
	Bins          map[string][]profileBinCounts `json:"bins"` // of "numbers" and of "lengths"
}

// runLabel names a run as the verdict's answer does.
type runLabel struct {
	ID      int64     `json:"id"`
	Name    string    `json:"name"`
	Started time.Time `json:"started"`
}

func labelOf(r store.Run) runLabel { return runLabel{r.ID, r.Name, r.Started} }

type roleProfile struct {
	Values  []profileValue   `json:"values"`
	Exact   bool             `json:"exact"`  // all values there were are listed, each with its count
	Unseen  int64            `json:"unseen"` // how often a value that is not listed was seen at most
	Shapes  map[string]int64 `json:"shapes"`
	Numbers *distribution    `json:"numbers"`
	Lengths *distribution    `json:"lengths"`
}

type profileValue struct {
	Value   json.RawMessage `json:"value"` // null, with no shape "null", where only the shape and the length are kept
	Shape   string          `json:"shape"`
	Length  *int64          `json:"length"`
	Cut     bool            `json:"cut"`
	AtLeast int64           `json:"at_least"`
	AtMost  int64           `json:"at_most"`
}

type distribution struct {
	Count int64   `json:"count"`
	Least float64 `json:"least"`
	P5    float64 `json:"p5"`
	P25   float64 `json:"p25"`
	P50   float64 `json:"p50"`
	P75   float64 `json:"p75"`
	P95   float64 `json:"p95"`
	Most  float64 `json:"most"`
	Error float64 `json:"relative_error"` // of all but the least and the most
}

// profileBinCounts is one bin of all three: what is over From and at most To, or for numbers below zero at least From and
// under To.
type profileBinCounts struct {
	From      float64 `json:"from"`
	To        float64 `json:"to"`
	Primary   int64   `json:"primary"`
	Secondary int64   `json:"secondary"`
	Candidate int64   `json:"candidate"`
}

// askedField reads which field of which route of which run is asked for.
func (s *Server) askedField(r *http.Request, must bool) (snap *store.Snapshot, route, field string, err error) {
	q, err := readQuery(r, "route", "field", "run")
	if err != nil {
		return nil, "", "", err
	}
	route, field = q.text("route"), q.text("field")
	if route == "" || must && field == "" {
		needs := "route"
		if must {
			needs = "route and field"
		}
		return nil, "", "", refuse(http.StatusBadRequest, "say of what: %s needs %s", r.URL.Path, needs)
	}
	s.deps.DB.Steady(r.Context())
	if snap, err = s.snapshotOf(r, q); err != nil {
		return nil, "", "", err
	}
	return snap, s.current(snap, route), field, nil
}

// profile answers GET /api/v1/profile.
func (s *Server) profile(w http.ResponseWriter, r *http.Request) error {
	snap, route, field, err := s.askedField(r, true)
	if err != nil {
		return err
	}
	p, err := s.deps.DB.Profile(r.Context(), snap.Run.ID, route, field)
	if errors.Is(err, store.ErrNotFound) {
		return refuse(http.StatusNotFound, "no values are kept of %q in %q: it did not differ in this run, or more fields differ than have a profile", field, route)
	}
	if err != nil {
		return err
	}
	return writeJSON(w, profileOf(snap.Run, p))
}

func profileOf(run store.Run, p *diff.FieldProfile) profileAnswer {
	a := profileAnswer{
		Run: labelOf(run), Route: p.Route, Field: p.Field, Exchanges: p.Exchanges, CandidateOnly: p.CandidateOnly,
		ControlOnly: p.ControlOnly, Both: p.Both, Places: p.Places, MorePlaces: p.MorePlaces, Withheld: p.Withheld, Late: p.Late,
		Roles: map[string]roleProfile{}, Bins: map[string][]profileBinCounts{},
	}
	if p.Exchanges > 0 {
		a.First, a.Last = &p.First, &p.Last
	}
	for role := range p.Roles {
		if len(p.Roles[role].Shapes) > 0 {
			a.Roles[multicast.Role(role).String()] = roleProfileOf(&p.Roles[role])
		}
	}
	a.Bins["numbers"] = binsOf(&p.Roles[0].Numbers, &p.Roles[1].Numbers, &p.Roles[2].Numbers)
	a.Bins["lengths"] = binsOf(&p.Roles[0].Lengths, &p.Roles[1].Lengths, &p.Roles[2].Lengths)
	return a
}

func roleProfileOf(p *diff.RoleProfile) roleProfile {
	out := roleProfile{
		Values: []profileValue{}, Exact: p.Values.Exact(), Unseen: p.Values.Unseen(), Shapes: map[string]int64{},
		Numbers: distributionOf(&p.Numbers), Lengths: distributionOf(&p.Lengths),
	}
	for _, v := range p.Values.List() {
		one := profileValue{Shape: v.Shape, Cut: v.Cut, AtLeast: v.Count - v.Over, AtMost: v.Count}
		if v.Text != "" {
			one.Value = json.RawMessage(v.Text)
		}
		if v.Length >= 0 {
			one.Length = &v.Length
		}
		out.Values = append(out.Values, one)
	}
	for _, s := range p.Shapes {
		out.Shapes[s.Shape] = s.Count
	}
	return out
}

// distributionOf is nil where there is nothing to tell.
func distributionOf(n *diff.Numbers) *distribution {
	if n.Count() == 0 {
		return nil
	}
	at := func(q float64) float64 {
		x, _ := n.Quantile(q)
		return x
	}
	return &distribution{
		Count: n.Count(), Least: n.Least(), P5: at(0.05), P25: at(0.25), P50: at(0.5), P75: at(0.75), P95: at(0.95), Most: n.Most(),
		Error: n.Error(),
	}
}

// binsOf lays the three beside each other, from the least numbers to the greatest.
func binsOf(primary, secondary, candidate *diff.Numbers) []profileBinCounts {
	all, merged := diff.AlignNumbers(profileBins, primary, secondary, candidate), []profileBinCounts{}
	var lists [3][]diff.NumberBin
	for i := range lists {
		lists[i] = all[i].Bins()
	}
	for {
		next := -1
		for i, list := range lists {
			if len(list) > 0 && (next < 0 || list[0].Before(lists[next][0])) {
				next = i
			}
		}
		if next < 0 {
			return merged
		}
		bin := lists[next][0]
		one := profileBinCounts{From: bin.From, To: bin.To}
		for i, into := range [3]*int64{&one.Primary, &one.Secondary, &one.Candidate} {
			if len(lists[i]) > 0 && !bin.Before(lists[i][0]) {
				*into, lists[i] = lists[i][0].Count, lists[i][1:]
			}
		}
		merged = append(merged, one)
	}
}

// attributesAnswer is GET /api/v1/attributes: a route's requests by their attributes, and which of these separate those in
// which a field differs.
type attributesAnswer struct {
	Run        runLabel        `json:"run"`
	Route      string          `json:"route"`
	Field      string          `json:"field,omitempty"`
	Compared   int64           `json:"compared"` // requests that were looked at
	Separation *separation     `json:"separation"`
	Attributes []attributeItem `json:"attributes"`
}

type separation struct {
	Result    diff.Result      `json:"result"` // what differs: candidate_only, or both
	Differing int64            `json:"differing"`
	Others    int64            `json:"others"`
	Sentence  string           `json:"sentence"`
	Best      []separatingItem `json:"best"`
}

type separatingItem struct {
	Attribute string   `json:"attribute"`
	Part      string   `json:"part,omitempty"`   // of the route's path, where the attribute is a segment of it
	Value     *string  `json:"value"`            // null unless is says value
	Values    []string `json:"values,omitempty"` // where it says one_of
	Is        string   `json:"is"`               // value, one_of, absent or other
	Differing int64    `json:"differing"`
	Of        int64    `json:"of"`
	Others    int64    `json:"others"`
	AtMost    bool     `json:"at_most,omitempty"` // the others may be fewer: some came before their value was told apart
	OfOthers  int64    `json:"of_others"`
	Excess    float64  `json:"excess"`
	LnP       float64  `json:"ln_p"`
}

type attributeItem struct {
	Attribute string           `json:"attribute"`
	Part      string           `json:"part,omitempty"`
	From      int64            `json:"from"` // requests before it was known, which are not counted here
	Values    []attributeCount `json:"values"`
	Absent    attributeCount   `json:"absent"`
	Other     attributeCount   `json:"other"` // with a value that is not told apart
	Many      bool             `json:"many"`  // none is
}

type attributeCount struct {
	Value     *string `json:"value,omitempty"`
	Cut       bool    `json:"cut,omitempty"`
	Requests  int64   `json:"requests"`
	Differing int64   `json:"candidate_only"` // of these, in the field
	Both      int64   `json:"both"`
}

// attributes answers GET /api/v1/attributes.
func (s *Server) attributes(w http.ResponseWriter, r *http.Request) error {
	snap, route, field, err := s.askedField(r, false)
	if err != nil {
		return err
	}
	counted, err := s.deps.DB.Attributes(r.Context(), snap.Run.ID, route)
	if errors.Is(err, store.ErrNotFound) {
		return refuse(http.StatusNotFound, "no requests of %q were counted in this run", route)
	}
	if err != nil {
		return err
	}
	a := attributesAnswer{Run: labelOf(snap.Run), Route: counted.Route, Field: field, Compared: counted.Compared, Attributes: []attributeItem{}}
	if field != "" {
		a.Separation = separationOf(counted.Separating(field))
	}
	for _, t := range counted.List(field) {
		item := attributeItem{
			Attribute: t.Attribute, Part: t.Part, From: t.From, Many: t.Many, Values: []attributeCount{},
			Absent: attributeCountOf(t.Absent, false), Other: attributeCountOf(t.Other, false),
		}
		for _, v := range t.Values {
			item.Values = append(item.Values, attributeCountOf(v, true))
		}
		a.Attributes = append(a.Attributes, item)
	}
	return writeJSON(w, a)
}

func attributeCountOf(c diff.AttributeCount, valued bool) attributeCount {
	out := attributeCount{Cut: c.Cut, Requests: c.Requests, Differing: c.Differing, Both: c.Both}
	if valued {
		out.Value = &c.Value
	}
	return out
}

func separationOf(s diff.Separation) *separation {
	out := &separation{Result: s.Result, Differing: s.Differing, Others: s.Others, Sentence: s.Sentence, Best: []separatingItem{}}
	for _, b := range s.Best {
		item := separatingItem{
			Attribute: b.Attribute, Part: b.Part, Is: "value", Differing: b.Differing, Of: b.Of, Others: b.Others, AtMost: b.AtMost,
			OfOthers: b.OfOthers, Excess: b.Excess, LnP: b.LnP,
		}
		switch {
		case b.Absent:
			item.Is = "absent"
		case b.Other:
			item.Is = "other"
		case b.Values != nil:
			item.Is, item.Values = "one_of", b.Values
		default:
			item.Value = &b.Value
		}
		out.Best = append(out.Best, item)
	}
	return out
}
