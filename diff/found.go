package diff

// sum is what one comparison of two documents says of one field.
type sum struct {
	level  Level
	places int
	words  int // in which its texts differ, beyond one for each
}

// extent is how much differs: places, and where they are texts words.
func (s *sum) extent() int { return s.places + s.words }

// found gathers what one comparison of two documents finds: everything in sums, the first and the first of each field
// as differences.
type found struct {
	limits      Limits
	differences []Difference
	cut         bool
	weighed     int // differences whose pointers are in pointers
	pointers    int // bytes
	sums        map[string]*sum
	changes     []change // for drift
	lost        []span   // parts of the left body that the right has nothing to compare with
	noDrift     bool     // nothing in the bodies can be greater or less
	edits       *edits   // where a patch is made of what differs; nil otherwise
	worded      int      // bytes looked through for words
	sightings   sightings
}

// span is a part of the left body by order of its values: size of them from at on.
type span struct{ at, size int }

func newFound(limits Limits) *found { return &found{limits: limits} }

// count counts one place that differs.
func (f *found) count(field string, kind Kind) *sum {
	s := f.sums[field]
	if s == nil {
		if f.sums == nil {
			f.sums = map[string]*sum{}
		}
		s = &sum{}
		f.sums[field] = s
	}
	s.level = max(s.level, kind.Level())
	s.places++
	return s
}

// mostPointers bounds the pointers of all listed differences, in bytes: those of a body that nests deeply are as long as
// it, each of them.
const mostPointers = 32 << 20

// keeps tells whether the difference just counted is to be listed: there is room, or it is the first of its field and
// there is some room kept for these.
func (f *found) keeps(s *sum) bool {
	n := len(f.differences)
	for ; f.weighed < n; f.weighed++ {
		d := &f.differences[f.weighed]
		for _, pointer := range []*string{d.LeftPointer, d.RightPointer} {
			if pointer != nil {
				f.pointers += len(*pointer)
			}
		}
	}
	room := f.pointers < mostPointers
	if room && n < f.limits.Differences || s.places == 1 && n < 2*f.limits.Differences {
		return true
	}
	f.cut = true
	return false
}

// add counts a difference that is no place in JSON.
func (f *found) add(d Difference) {
	if f.keeps(f.count(d.Field, d.Kind)) {
		f.differences = append(f.differences, d)
	}
}

// countWords counts the words of two texts, of which it is counted already that they differ.
func (f *found) countWords(field, left, right string) {
	f.sums[field].words += f.moreWords(left, right)
}
