package store

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"shadowdiff/diff"
)

// A shelf decides which exchanges are kept. Each (route, field, level) has a reservoir with places for the first ones,
// the most telling ones and the latest ones; an exchange is stored once and stands in the reservoirs of all its fields.
// An exchange that wants no place, as nearly all do, costs a look-up a field and no copy.
//
// A place among the most telling goes to whoever scores more than the least in it: the candidate alone differs, and in
// few fields. A place among the latest changes hands every latestEvery at most, so that a field that always differs does
// not have every exchange copied.
type shelf struct {
	differing slots // how many places a field's reservoir has
	agreeing  slots // of a route's exchanges in which nothing differed
	routes    map[string]*routeShelf
	count     int             // reservoirs
	byID      map[int64]*kept // those on the disk
	freed     []freedPlace    // places given up by exchanges that are on the disk, or on the way
	doomed    []*kept         // exchanges without a place that are on the disk, or on the way
	wants     []want          // of the exchange being offered
}

const (
	latestEvery   = 10 * time.Second
	agreeingKept  = 3
	maxReservoirs = 20_000 // of a run; fields that come later are counted but not sampled
	telling       = 10     // sample ids shown for a field
)

// What a sample tells, before its number of fields is taken off; a step is more than any such number.
const (
	scoreBoth    = 1000
	scoreLeaning = 2000
	scoreMore    = 3000
	scoreAlone   = 4000
)

// slot is why an exchange has its place. The numbers are on the disk.
type slot uint8

const (
	slotNone slot = iota
	slotFirst
	slotTelling
	slotLatest
)

// slots are how many places there are of each slot.
type slots [slotLatest + 1]int

// share divides n places: a fifth for the first, then half and half; the first place of all is for the most telling.
func share(n int) slots {
	first := n / 5
	tell := (n - first + 1) / 2
	return slots{slotFirst: first, slotTelling: tell, slotLatest: n - first - tell}
}

// place names a reservoir within a route. The empty field is that of exchanges in which nothing differed.
type place struct {
	field string
	level diff.Level
}

// routeShelf is what is kept of one route.
type routeShelf struct {
	reservoirs map[place]*reservoir
	changed    bool // since the ids were last published
}

// reservoir are the exchanges kept for one place.
type reservoir struct {
	at      place
	entries []entry // in the order in which they came
	taken   slots
	least   int32     // score of the least telling one
	due     time.Time // when the next may take a place among the latest
}

// entry is one exchange's place.
type entry struct {
	*kept
	slot  slot
	score int32
}

// tells is the score without the number of fields.
func (e entry) tells() int32 { return (e.score + scoreBoth - 1) / scoreBoth }

// kept is one exchange that has a place somewhere.
type kept struct {
	id     int64 // 0 until it is on the disk
	route  string
	at     int64 // when it was asked, in microseconds
	places []keptPlace
	flying bool // a transaction with it is under way

	copied *copied // until it is packed
	packed *packed // until it is on the disk
	held   int64   // bytes taken from the budget
}

// keptPlace is a place of an exchange, seen from the exchange.
type keptPlace struct {
	place
	slot  slot
	score int32
}

// freedPlace is a place that an exchange no longer has, while it has others; or has for another reason, its slot.
type freedPlace struct {
	*kept
	place
	slot slot
}

// want is a place that the offered exchange would take.
type want struct {
	*reservoir
	slot  slot
	score int32
}

func newShelf(perField int) shelf {
	s := shelf{routes: map[string]*routeShelf{}, byID: map[int64]*kept{}}
	s.resize(perField)
	return s
}

// resize sets how many places a field has. What is on the shelf stays; where it is too much, each that comes takes the
// place of one.
func (s *shelf) resize(perField int) {
	s.differing, s.agreeing = share(perField), share(min(agreeingKept, perField))
}

// wanted finds the places that an exchange would take, into s.wants.
func (s *shelf) wanted(route string, c *diff.Comparison) bool {
	s.wants = s.wants[:0]
	if c.Unknown != "" || c.Exchange == nil {
		return false
	}
	r := s.route(route)
	if c.Result == diff.Agree {
		s.want(r, place{}, s.agreeing, 0, c.Time)
	}
	for i := range c.Fields {
		f := &c.Fields[i]
		if level := max(f.Candidate, f.Control); level > 0 || f.Drift != 0 { // a body's size has no level
			s.want(r, place{f.Field, level}, s.differing, score(f, level, len(c.Fields)), c.Time)
		}
	}
	return len(s.wants) > 0
}

// score says how much an exchange tells about the candidate's doing in a field: that it stands alone, that it differs at
// more places than a control that differs as well, that it leans to one side of it, that both differ, and least that the
// control stands alone.
func score(f *diff.FieldComparison, level diff.Level, fields int) int32 {
	score := int32(-min(fields, 999))
	switch {
	case f.Control < level:
		score += scoreAlone
	case f.Candidate >= level && f.CandidatePlaces > f.ControlPlaces:
		score += scoreMore
	case f.Candidate >= level && f.Drift != 0:
		score += scoreLeaning
	case f.Candidate >= level:
		score += scoreBoth
	}
	return score
}

func (s *shelf) want(route *routeShelf, at place, size slots, score int32, now time.Time) {
	r := s.reservoir(route, at)
	if r == nil {
		return
	}
	if slot := r.wants(size, score, now); slot != slotNone {
		s.wants = append(s.wants, want{r, slot, score})
	}
}

func (s *shelf) route(name string) *routeShelf {
	r := s.routes[name]
	if r == nil {
		r = &routeShelf{reservoirs: map[place]*reservoir{}}
		s.routes[name] = r
	}
	return r
}

// reservoir answers nil when there are as many as there may be.
func (s *shelf) reservoir(route *routeShelf, at place) *reservoir {
	r := route.reservoirs[at]
	if r == nil && s.count < maxReservoirs {
		s.count++
		at.field = strings.Clone(at.field) // it may be a part of the whole response
		r = &reservoir{at: at}
		route.reservoirs[at] = r
	}
	return r
}

func (r *reservoir) wants(size slots, score int32, now time.Time) slot {
	switch {
	case r.taken[slotFirst] < size[slotFirst]:
		return slotFirst
	case r.taken[slotTelling] < size[slotTelling], score > r.least && size[slotTelling] > 0:
		return slotTelling
	case size[slotLatest] > 0 && !now.Before(r.due):
		return slotLatest
	default:
		return slotNone
	}
}

// put gives an exchange the places found by wanted.
func (s *shelf) put(k *kept, now time.Time) {
	s.routes[k.route].changed = true
	for _, w := range s.wants {
		size := s.differing
		if w.at.field == "" {
			size = s.agreeing
		}
		if w.taken[w.slot] >= size[w.slot] {
			s.displace(w.reservoir, w.slot)
		}
		k.places = append(k.places, keptPlace{w.at, w.slot, w.score})
		w.add(entry{k, w.slot, w.score})
		if w.slot == slotLatest {
			w.due = now.Add(latestEvery)
		}
	}
}

func (r *reservoir) add(e entry) {
	r.entries = append(r.entries, e)
	r.taken[e.slot]++
	r.findLeast()
}

func (r *reservoir) findLeast() {
	r.least = 1<<31 - 1
	for _, e := range r.entries {
		if e.slot == slotTelling {
			r.least = min(r.least, e.score)
		}
	}
}

// displace frees one place: the least telling one's, or else the oldest one's.
func (s *shelf) displace(r *reservoir, slot slot) {
	for i, e := range r.entries {
		if e.slot == slot && (slot != slotTelling || e.score == r.least) {
			r.remove(i)
			s.leave(e.kept, r.at)
			return
		}
	}
}

func (r *reservoir) remove(i int) {
	r.taken[r.entries[i].slot]--
	r.entries = slices.Delete(r.entries, i, i+1)
	r.findLeast()
}

// leave takes one place from an exchange; without any it is to be removed.
func (s *shelf) leave(k *kept, at place) {
	k.places = slices.DeleteFunc(k.places, func(p keptPlace) bool { return p.place == at })
	stored := k.id != 0 || k.flying
	switch {
	case stored && len(k.places) == 0:
		s.doomed = append(s.doomed, k)
	case stored:
		s.freed = append(s.freed, freedPlace{k, at, slotNone})
	}
}

// forget takes all places from an exchange that is gone, or that cannot be stored.
func (s *shelf) forget(k *kept) {
	route := s.routes[k.route]
	for _, p := range k.places {
		if r := route.reservoirs[p.place]; r != nil {
			if i := slices.IndexFunc(r.entries, func(e entry) bool { return e.kept == k }); i >= 0 {
				r.remove(i)
			}
		}
	}
	k.places = nil
	s.touch(k)
	delete(s.byID, k.id)
}

// touch notes that what is kept of an exchange's route has changed. There is no such route any more when the exchange had
// no place left when it was merged.
func (s *shelf) touch(k *kept) {
	if r := s.routes[k.route]; r != nil {
		r.changed = true
	}
}

// ids answers, for each field of a route, which samples to look at first. One that is offered first is there to stay:
// among equals, those that came first are before the most telling, and both before the latest, which soon give way.
func (r *routeShelf) ids() map[string][]int64 {
	type placed struct {
		entry
		at place
	}
	byField := map[string][]placed{}
	for at, r := range r.reservoirs {
		for _, e := range r.entries {
			if e.id != 0 {
				byField[at.field] = append(byField[at.field], placed{e, at})
			}
		}
	}
	ids := make(map[string][]int64, len(byField))
	for field, entries := range byField {
		slices.SortFunc(entries, func(a, b placed) int {
			return cmp.Or(cmp.Compare(b.tells(), a.tells()), cmp.Compare(b.at.level, a.at.level),
				cmp.Compare(b.score, a.score), cmp.Compare(a.slot, b.slot), cmp.Compare(b.id, a.id))
		})
		for _, e := range entries[:min(len(entries), telling)] {
			if !slices.Contains(ids[field], e.id) {
				ids[field] = append(ids[field], e.id)
			}
		}
	}
	return ids
}
