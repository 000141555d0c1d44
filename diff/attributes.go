package diff

import (
	"iter"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"shadowdiff/multicast"
	"shadowdiff/normalize"
)

const (
	attributeFields = 32    // of a route, in which the candidate differs
	allAttributed   = 2_000 // of a run: 28 MB if each were as large as it may be
	attributeBytes  = 16 << 20
	lookThrough     = 32 // requests of a route whose headers are all looked through; then one in so many
	lookEvery       = 64
	mostParameters  = 64  // of one request
	agentText       = 512 // bytes of a User-Agent that are looked at
)

// RouteAttributes counts the requests of one route by their attributes, and how many of each differ in which field. It
// takes 25 KB at most without the texts of its values, and 14 KB for each of its fields. It merges.
type RouteAttributes struct {
	Route    string
	Compared int64 // requests that were looked at

	list     []Attribute // those of the fixed kinds first, each in the place of its number
	fields   []*attributeField
	refused  bool // some field found no place here: one that begins now may have differed before
	unknown  bool // likewise some parameter
	settled  bool // none of the fields may have to give way
	agent    string
	client   string
	lookedAt int64 // Compared when headers were last looked through
	dirty    bool
}

// attributeField are the requests in which the candidate differs in one field, by attributes.
type attributeField struct {
	field string
	alone [][marks]int64 // the candidate more gravely than the secondary; by attribute
	both  [][marks]int64 // both, or the secondary more gravely
	base  [][marks]int64 // requests that came before the field was followed, and may have differed in it; nil: none has
}

// Attributes are those of one run: of the routes that the tally has, 32 with 16 values each, and of 2,000 fields at most,
// 32 a route. Their values take 16 MB at most. When a route has no more room for fields, one in which the candidate
// differs more gravely than the secondary takes the place of one in which it never did. They are not safe for concurrent
// use.
type Attributes struct {
	redactor *normalize.Redactor
	routes   map[string]*RouteAttributes
	fields   int
	bytes    int // of values and names
	out      outbox[*RouteAttributes, string]
}

// NewAttributes returns Attributes without any; what the redactor takes out is not kept.
func NewAttributes(r *normalize.Redactor) *Attributes {
	return &Attributes{redactor: r, routes: map[string]*RouteAttributes{}}
}

// Add counts a comparison's request, under the name that its route is counted under. Where nothing differs and nothing is
// new it allocates nothing.
func (t *Attributes) Add(route string, c *Comparison) {
	if c.Unknown != "" || c.Exchange == nil {
		return
	}
	r := t.routes[route]
	if r == nil {
		if len(t.routes) >= 2*maxRoutes {
			return
		}
		r = t.begin(strings.Clone(route))
	}
	t.out.touch(r)
	var at [attributesKept]uint8
	var values [attributesKept]string // of those attributes whose values may come to be told apart
	t.look(r, c.Exchange, &at, &values)
	if c.Raw {
		t.tell(r, c, &at, &values)
	}
	r.Compared++
	for i := range r.list {
		a := &r.list[i]
		if at[i] == markOther && a.telling() {
			if crowd := t.crowdOf(a); crowd != nil {
				crowd.add(keptText(values[i]), 1)
			}
		}
		a.counts[at[i]]++
		if at[i] == markOther && a.crowd == nil && a.crowded() {
			t.crowd(r, i)
		}
	}
	if !c.Raw {
		return
	}
	for i := range c.Fields {
		if f := &c.Fields[i]; f.Candidate > 0 || drifting(f) {
			t.differ(r, f, &at)
		}
	}
}

// begin makes the attributes of a route. What is redacted is not among them, or has no values.
func (t *Attributes) begin(route string) *RouteAttributes {
	r := &RouteAttributes{Route: route, list: fixedAttributes()}
	for kind, name := range map[AttributeKind]string{AttributeHost: "host", AttributeType: "content-type", AttributeClient: "user-agent"} {
		r.list[kind].Many = t.covered(normalize.HeaderField(name))
	}
	r.list = slices.DeleteFunc(r.list, func(a Attribute) bool {
		return a.Kind == AttributeHeader && t.covered(normalize.HeaderField(a.Name))
	})
	r.list = append(r.list, t.pathAttributesOf(route)...)
	t.bytes += r.bytes()
	t.routes[route] = r
	return r
}

// crowd gives up telling an attribute's values apart.
func (t *Attributes) crowd(r *RouteAttributes, i int) {
	t.bytes -= r.list[i].bytes()
	r.crowd(i)
}

func (r *RouteAttributes) crowd(i int) {
	a := &r.list[i]
	a.Many, a.Values, a.lengths, a.last, a.crowd, a.early = true, nil, nil, 0, nil, nil
	gather(&a.counts)
	for _, f := range r.fields {
		for _, rows := range [...][][marks]int64{f.alone, f.both, f.base} {
			if i < len(rows) {
				gather(&rows[i])
			}
		}
	}
}

// look finds the place of each of the request's attributes.
func (t *Attributes) look(r *RouteAttributes, ex *multicast.Exchange, at *[attributesKept]uint8, values *[attributesKept]string) {
	seen := Asked{Request: &ex.Request, Size: int64(len(ex.Request.Body)), Primary: primaryOf(ex)}
	for i := range r.list {
		a := &r.list[i]
		var value string
		var has bool
		switch a.Kind {
		case AttributeQuery: // below: each parameter finds its place
			continue
		case AttributeClient:
			if value, has = header(ex.Request.Header, "User-Agent"); has {
				value = r.clientOf(value)
			}
		default:
			value, has = a.of(&seen)
		}
		if has {
			at[i] = a.mark(value, t.admit)
		}
		if a.Kind == AttributePath {
			values[i] = value
		}
	}
	t.query(r, ex.Request.Target, at, values)
	if r.Compared < lookThrough || r.Compared-r.lookedAt >= lookEvery {
		r.lookedAt = r.Compared
		t.headers(r, ex.Request.Header, at)
	}
}

// clientOf is the kind of program, most often that of the request before.
func (r *RouteAttributes) clientOf(agent string) string {
	if agent != r.agent {
		r.agent = strings.Clone(agent[:min(len(agent), agentText)])
		r.client = strings.Clone(clientKind(r.agent))
	}
	return r.client
}

// query finds the places of the parameters; of several with one name the first counts.
func (t *Attributes) query(r *RouteAttributes, target string, at *[attributesKept]uint8, values *[attributesKept]string) {
	for name, value := range parameters(target) {
		i := r.parameter(name)
		if i < 0 {
			if i = t.learn(r, name); i < 0 {
				continue
			}
		}
		if at[i] == markAbsent {
			value = plainText(value, url.QueryUnescape)
			at[i], values[i] = r.list[i].mark(value, t.admit), value
		}
	}
}

// parameters are those of a request as they were sent, name and value, as far as they are looked at.
func parameters(target string) iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		_, query, _ := strings.Cut(target, "?")
		for n := 0; query != "" && n < mostParameters; n++ {
			var pair string
			pair, query, _ = strings.Cut(query, "&")
			if name, value, _ := strings.Cut(pair, "="); !yield(name, value) {
				return
			}
		}
	}
}

// parameter is the place of a parameter, or -1.
func (r *RouteAttributes) parameter(name string) int {
	for i := int(AttributeHeader); i < len(r.list); i++ {
		if a := &r.list[i]; a.raw == name && a.Kind == AttributeQuery {
			return i
		}
	}
	return -1
}

// learn gives a parameter a place, -1 where there is none. All requests before were without it, as far as is known.
func (t *Attributes) learn(r *RouteAttributes, name string) int {
	plain, err := url.QueryUnescape(name)
	if err != nil || plain == "" || len(plain) > attributeText || t.covered(normalize.Field("query").Key(plain)) {
		return -1
	}
	n := 0
	for i := range r.list {
		if r.list[i].Kind == AttributeQuery {
			n++
		}
	}
	if n >= queryAttributes || len(r.list) >= attributesKept {
		return t.replace(r, name, plain)
	}
	i := t.extend(r, AttributeQuery, name, plain)
	if a := &r.list[i]; r.unknown {
		a.From = r.Compared
	} else {
		r.backdate(i)
	}
	return i
}

// covered tells whether a place is redacted.
func (t *Attributes) covered(field normalize.Field) bool {
	return t.redactor == nil || t.redactor.Covers(string(field))
}

// backdate has all requests before count as without an attribute.
func (r *RouteAttributes) backdate(i int) {
	r.list[i].counts[markAbsent] = r.Compared
	r.total(i, markAbsent)
}

// total has all requests that differ count under one mark of an attribute.
func (r *RouteAttributes) total(i int, mark uint8) {
	whole := func(rows [][marks]int64) {
		if i < len(rows) && i > 0 {
			for _, n := range rows[0] { // the method: every request has one
				rows[i][mark] += n
			}
		}
	}
	for _, f := range r.fields {
		whole(f.alone)
		whole(f.both)
		whole(f.base)
	}
}

// extend adds an attribute.
func (t *Attributes) extend(r *RouteAttributes, kind AttributeKind, raw, name string) int {
	t.bytes += len(raw) + len(name)
	r.list = append(r.list, Attribute{
		Kind: kind, raw: strings.Clone(raw), Name: strings.Clone(name), Many: secretName(name) || t.bytes > attributeBytes,
	})
	for _, f := range r.fields {
		f.grow(len(r.list))
	}
	return len(r.list) - 1
}

// replace gives a parameter the place of one that next to no request has.
func (t *Attributes) replace(r *RouteAttributes, raw, name string) int {
	r.unknown = true
	for i := range r.list {
		a := &r.list[i]
		if a.Kind != AttributeQuery || a.present() > 3 || a.seen() < 200 {
			continue
		}
		t.bytes += len(raw) + len(name) - len(a.raw) - len(a.Name)
		t.bytes -= a.bytes()
		*a = Attribute{
			Kind: AttributeQuery, raw: strings.Clone(raw), Name: strings.Clone(name), From: r.Compared, Many: secretName(name),
		}
		for _, f := range r.fields {
			f.clear(i)
		}
		return i
	}
	return -1
}

// headers gives places to headers that have none yet.
func (t *Attributes) headers(r *RouteAttributes, h map[string][]string, at *[attributesKept]uint8) {
	room := attributesKept - queryAttributes
	for i := range r.list {
		if r.list[i].Kind != AttributeQuery {
			room--
		}
	}
	if room <= 0 || len(r.list) >= attributesKept {
		return
	}
	var fresh []string
	for name := range h {
		if !r.hasHeader(name) && len(name) <= attributeText && learntName(name) {
			fresh = append(fresh, name)
		}
	}
	slices.Sort(fresh)
	for _, name := range fresh {
		if room == 0 || len(r.list) >= attributesKept {
			return
		}
		if t.covered(normalize.HeaderField(name)) {
			continue
		}
		i := t.extend(r, AttributeHeader, name, strings.ToLower(name))
		r.list[i].From = r.Compared
		if line, ok := header(h, name); ok {
			at[i] = r.list[i].mark(line, t.admit)
		}
		room--
	}
}

func (r *RouteAttributes) hasHeader(name string) bool {
	for i := int(AttributeHeader); i < len(r.list); i++ {
		if a := &r.list[i]; a.Kind == AttributeHeader && a.raw == name {
			return true
		}
	}
	return false
}

// admit says how a new value is kept; false where it is not, since redaction would change it, or there is no room.
func (t *Attributes) admit(a *Attribute, value string) (string, bool) {
	if t.redactor == nil && a.Kind >= AttributeHeader || t.bytes > attributeBytes || a.Kind == AttributePath && len(value) > pathText {
		return "", false
	}
	kept := keptText(value)
	if changes(t.redactor, a, kept) {
		a.closed = true // what comes next may hold a secret as well, and less easily told
		return "", false
	}
	t.bytes += len(kept)
	return strings.Clone(kept), true
}

// keptText is as much of a value as is kept.
func keptText(value string) string { return value[:min(len(value), attributeText)] }

// changes tells whether redaction would change a value.
func changes(r *normalize.Redactor, a *Attribute, value string) bool {
	var n int
	switch a.Kind {
	case AttributeHeader:
		_, n = r.Request(&multicast.Request{Header: map[string][]string{a.raw: {value}}})
	case AttributeQuery:
		_, n = r.Request(&multicast.Request{Target: "/?" + a.raw + "=" + url.QueryEscape(value)})
	case AttributePath:
		return value != "" && names(r, strconv.Quote(value))
	}
	return n > 0
}

// differ counts one field in which the candidate differs.
func (t *Attributes) differ(r *RouteAttributes, fc *FieldComparison, at *[attributesKept]uint8) {
	f := t.field(r, fc, at)
	if f == nil {
		return
	}
	rows := f.both
	if alone(fc) {
		rows = f.alone
	}
	for i := range rows {
		rows[i][at[i]]++
	}
}

// drifting tells of a field in which nothing differs but how great something is in sum: a size, the length of an array.
func drifting(f *FieldComparison) bool { return f.Candidate == 0 && f.Control == 0 && f.Drift != 0 }

// alone tells whether what differs is the candidate's, beyond what the secondary does.
func alone(f *FieldComparison) bool { return f.Candidate > f.Control || drifting(f) }

// field finds or begins a field; nil when there is no room.
func (t *Attributes) field(r *RouteAttributes, fc *FieldComparison, at *[attributesKept]uint8) *attributeField {
	if f := r.field(fc.Field); f != nil {
		return f
	}
	if len(r.fields) >= attributeFields || t.fields >= allAttributed {
		r.refused = true
		if !alone(fc) || !t.giveWay(r) {
			return nil
		}
	}
	f := &attributeField{field: strings.Clone(fc.Field)}
	if r.refused {
		f.base = make([][marks]int64, len(r.list))
		for i := range r.list {
			f.base[i] = r.list[i].counts
			f.base[i][at[i]]-- // this request is the first that is followed
		}
	}
	f.grow(len(r.list))
	r.fields = append(r.fields, f)
	t.fields++
	return f
}

func (r *RouteAttributes) field(name string) *attributeField {
	for _, f := range r.fields {
		if f.field == name {
			return f
		}
	}
	return nil
}

// giveWay removes a field of the route in which the candidate never differed more gravely than the secondary.
func (t *Attributes) giveWay(r *RouteAttributes) bool {
	if r.settled {
		return false
	}
	for i, f := range r.fields {
		if f.count(f.alone) == 0 {
			r.fields = slices.Delete(r.fields, i, i+1)
			t.fields--
			return true
		}
	}
	r.settled = true
	return false
}

// grow makes rows for so many attributes.
func (f *attributeField) grow(n int) {
	for len(f.alone) < n {
		f.alone = append(f.alone, [marks]int64{})
		f.both = append(f.both, [marks]int64{})
	}
	for f.base != nil && len(f.base) < n {
		f.base = append(f.base, [marks]int64{})
	}
}

func (f *attributeField) clear(i int) {
	for _, rows := range [...][][marks]int64{f.alone, f.both, f.base} {
		if i < len(rows) {
			rows[i] = [marks]int64{}
		}
	}
}

// count is how many requests the rows count: each has a method.
func (f *attributeField) count(rows [][marks]int64) int64 {
	if len(rows) == 0 {
		return 0
	}
	return sumOf(&rows[AttributeMethod])
}

func sumOf(row *[marks]int64) (n int64) {
	for _, c := range row {
		n += c
	}
	return n
}

// Clone returns a copy that shares nothing with r.
func (r *RouteAttributes) Clone() *RouteAttributes {
	c := *r
	c.list = slices.Clone(r.list)
	for i := range c.list {
		c.list[i].Values, c.list[i].lengths = slices.Clone(r.list[i].Values), slices.Clone(r.list[i].lengths)
		c.list[i].early = slices.Clone(r.list[i].early)
		if crowd := r.list[i].crowd; crowd != nil {
			same := *crowd
			c.list[i].crowd = &same
		}
	}
	c.fields = make([]*attributeField, len(r.fields))
	for i, f := range r.fields {
		c.fields[i] = &attributeField{f.field, slices.Clone(f.alone), slices.Clone(f.both), slices.Clone(f.base)}
	}
	return &c
}

// Route returns a copy of a route's attributes; nil when there are none.
func (t *Attributes) Route(route string) *RouteAttributes {
	if r := t.routes[route]; r != nil {
		return r.Clone()
	}
	return nil
}

// Routes lists the routes that have attributes.
func (t *Attributes) Routes() []string { return slices.Sorted(maps.Keys(t.routes)) }

// Restore takes in what was counted before; it is not to be used by others afterwards.
func (t *Attributes) Restore(r *RouteAttributes) {
	if t.routes[r.Route] != nil {
		return
	}
	r.dirty = false
	t.routes[r.Route] = r
	t.fields += len(r.fields)
	t.bytes += r.bytes()
	for _, a := range t.pathAttributesOf(r.Route) { // which a former version did not count
		if r.find(&a) < 0 && len(r.list) < attributesKept {
			at := &r.list[t.extend(r, AttributePath, "", a.Name)]
			at.place, at.Many, at.From = a.place, a.Many, r.Compared
		}
	}
}

func (r *RouteAttributes) bytes() (n int) {
	for i := range r.list {
		a := &r.list[i]
		n += len(a.raw) + len(a.Name) + a.bytes()
	}
	return n
}

// bytes is what its values take.
func (a *Attribute) bytes() (n int) {
	for _, v := range a.Values {
		n += len(v)
	}
	if a.crowd != nil {
		n += crowdBytes
	}
	return n
}

// Take returns copies of the routes that changed since they were last taken, as Profiles.Take does.
func (t *Attributes) Take(most int, due func(route string) bool) (changed []*RouteAttributes, gone []string) {
	return t.out.take(most, due)
}

func (r *RouteAttributes) name() string { return r.Route }
func (r *RouteAttributes) mark() *bool  { return &r.dirty }

// Changed has a route taken again, also when it is one that has no attributes any more.
func (t *Attributes) Changed(route string) {
	if r := t.routes[route]; r != nil {
		t.out.touch(r)
	} else {
		t.out.gone = append(t.out.gone, route)
	}
}

// Pending tells whether there is something to take.
func (t *Attributes) Pending() bool { return t.out.pending() }
