package diff

import (
	"maps"
	"slices"
	"strings"

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
