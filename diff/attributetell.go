package diff

import "math"

// Of a parameter, or a segment of the path, there may be far more values than are told apart, and those that matter may
// come late. So a value with which the candidate differs takes the place of one that tells less. How often it had come
// before is then known from a small table, never too low.

// crowdTable counts, by their hashes, the values that are not told apart, and how often the candidate stood
// alone with them in which field: a count-min sketch of 4 KB.
type crowdTable [crowdRows * crowdCells]uint16

const (
	crowdRows  = 4
	crowdCells = 512
	crowdBytes = crowdRows * crowdCells * 2
	crowdFull  = 1<<16 - 1
)

// crowdPlaces are where a value is counted. The hash is on the disk, so it is a fixed one (FNV-1a).
func crowdPlaces(value string) (at [crowdRows]int) {
	h := uint64(14695981039346656037)
	for i := range len(value) {
		h = (h ^ uint64(value[i])) * 1099511628211
	}
	h ^= h >> 32
	h *= 0x9e3779b97f4a7c15
	for row := range at {
		at[row] = row*crowdCells + int(h>>(row*16)&(crowdCells-1))
	}
	return at
}

func (c *crowdTable) add(value string, n int64) {
	for _, at := range crowdPlaces(value) {
		c[at] = uint16(min(int64(c[at])+n, crowdFull))
	}
}

// most is how often a value was counted at most.
func (c *crowdTable) most(value string) int64 {
	least := uint16(crowdFull)
	for _, at := range crowdPlaces(value) {
		least = min(least, c[at])
	}
	if least == crowdFull { // it may have been more often
		return math.MaxInt64
	}
	return int64(least)
}

func (c *crowdTable) merge(o *crowdTable) {
	for i, n := range o {
		c[i] = uint16(min(int(c[i])+int(n), crowdFull))
	}
}

// telling tells an attribute of which the values that are told apart change with what they tell.
func (a *Attribute) telling() bool { return a.Kind == AttributePath || a.Kind == AttributeQuery }

// crowdOf is the table of an attribute that has more values than are told apart; nil where there is no room for one, or
// where values are not kept.
func (t *Attributes) crowdOf(a *Attribute) *crowdTable {
	if a.crowd == nil && a.telling() && !a.Many && !a.closed && len(a.Values) == attributeValues &&
		a.counts[markOther] == 0 && t.bytes+crowdBytes <= attributeBytes {
		a.crowd = new(crowdTable)
		t.bytes += crowdBytes
	}
	return a.crowd
}

// tell has those values of a request in which the candidate stands alone be told apart from now on that are not yet, where
// they tell more than others.
func (t *Attributes) tell(r *RouteAttributes, c *Comparison, at *[attributesKept]uint8, values *[attributesKept]string) {
	var told map[string]float64 // looked for only where some value may come in: that is seldom
	var shares []float64
	for i := range r.list {
		a := &r.list[i]
		if at[i] != markOther || a.Many || a.closed || t.crowdOf(a) == nil {
			continue
		}
		if shares == nil {
			if told = r.told(c); len(told) == 0 {
				return
			}
			shares = r.shares()
		}
		before, weight := r.newcomer(a, keptText(values[i]), told)
		m, least := r.leastTelling(i, shares)
		if least > weight {
			continue
		}
		was := t.bytes
		shown, ok := t.admit(a, values[i])
		if !ok {
			continue
		}
		t.bytes = was + len(shown) - len(a.Values[m-1])
		r.replaceValue(i, m, shown, len(values[i]), before)
		at[i] = uint8(m)
	}
}

// told are the fields in which the candidate stands alone, each with the share of the route's requests in which it does: the
// fewer these are, the more a value tells.
func (r *RouteAttributes) told(c *Comparison) map[string]float64 {
	var fields map[string]float64
	for i := range c.Fields {
		fc := &c.Fields[i]
		if fc.Candidate == 0 && !drifting(fc) || !alone(fc) {
			continue
		}
		if fields == nil {
			fields = map[string]float64{}
		}
		if f := r.field(fc.Field); f != nil {
			fields[fc.Field] = r.share(f)
		} else {
			fields[fc.Field] = 0
		}
	}
	return fields
}

// newcomer is how often a value came before that is not told apart, at most, and what it would weigh; see weight. How often
// the candidate stood alone with it is remembered, so that one that was turned away counts for more the next time.
func (r *RouteAttributes) newcomer(a *Attribute, value string, told map[string]float64) (before int64, weight float64) {
	before = min(a.crowd.most(value), a.counts[markOther])
	weight = math.Inf(-1)
	for field, share := range told {
		key := tellingKey(value, field)
		weight = max(weight, float64(1+min(a.crowd.most(key), before))-float64(1+before)*share)
		a.crowd.add(key, 1)
	}
	return before, weight
}

// tellingKey stands for a value with which the candidate differs in a field.
func tellingKey(value, field string) string { return value + "\x00" + field }

// share is how many of the route's requests differ in a field by the candidate's doing.
func (r *RouteAttributes) share(f *attributeField) float64 {
	return float64(f.count(f.alone)) / float64(max(1, r.Compared))
}

func (r *RouteAttributes) shares() []float64 {
	all := make([]float64, len(r.fields))
	for k, f := range r.fields {
		all[k] = r.share(f)
	}
	return all
}

// weight is how many more requests with a value differ than would if it had nothing to do with it, in that field in which
// it is most.
func (r *RouteAttributes) weight(i, m int, shares []float64) (most float64) {
	n := float64(r.list[i].counts[m])
	for k, f := range r.fields {
		if w := float64(f.alone[i][m]) - n*shares[k]; k == 0 || w > most {
			most = w
		}
	}
	return most
}

// leastTelling is the value that tells least, and its weight; of several the one after that which was replaced last.
func (r *RouteAttributes) leastTelling(i int, shares []float64) (found int, least float64) {
	a := &r.list[i]
	for k := range len(a.Values) {
		m := (a.turn+k)%len(a.Values) + 1
		if w := r.weight(i, m, shares); found == 0 || w < least {
			found, least = m, w
		}
	}
	return found, least
}

// replaceValue puts a value in the place of another, whose requests count as of another value from then on. Those that
// came with it before are counted for it, as far as they may have: it is not known which of them differed.
func (r *RouteAttributes) replaceValue(i, m int, value string, length int, before int64) {
	a := &r.list[i]
	a.crowd.add(a.Values[m-1], a.counts[m])
	for _, f := range r.fields {
		a.crowd.add(tellingKey(a.Values[m-1], f.field), f.alone[i][m])
		for _, rows := range [...][][marks]int64{f.alone, f.both, f.base} {
			if i < len(rows) {
				rows[i][markOther] += rows[i][m]
				rows[i][m] = 0
			}
		}
	}
	a.counts[markOther] += a.counts[m] - before
	a.counts[m] = before
	a.Values[m-1], a.lengths[m-1] = value, length
	if a.early == nil {
		a.early = make([]int64, attributeValues)
	}
	a.early[m-1], a.turn = before, m
}

// earlyOf is how many requests of a value count for it that may have had another.
func (a *Attribute) earlyOf(m int) int64 {
	if m < 1 || m > len(a.early) {
		return 0
	}
	return a.early[m-1]
}

// distinct is how many values an attribute may have had at most.
func (a *Attribute) distinct() int64 { return int64(len(a.Values)) + a.counts[markOther] }
