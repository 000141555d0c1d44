package diff

import (
	"fmt"
	"strings"

	"shadowdiff/normalize"
)

// walk compares two JSON values place by place. Subtrees that are equal are settled by their hashes and looked at once.
//
// The same walk also counts without listing (counting > 0): that is how the elements of an array are paired so that the
// fewest differences remain.
type walk struct {
	*found
	place *place
	path  []step
	ends  [2]bool // the whole left, or right, body was read out of a string or the like: its pointers end there
	note  string  // of all differences while it stands
	work  int     // steps left of limits.Work

	equality normalize.Equality

	counting int
	cost     cost
	costs    map[[2]*normalize.Value]cost
}

// step is one level of the two pointers: a key, or an index, of each.
type step struct {
	key, rightKey string // as sent; rules may have given members of different keys the same one
	element       bool
	left, right   int
	ends          [2]bool // the left, or right, value there was read out of a string: that side's pointers end at it
}

// cost is a number of differences, and then their gravity.
type cost struct{ differences, levels int }

func (c cost) less(o cost) bool {
	if c.differences != o.differences {
		return c.differences < o.differences
	}
	return c.levels < o.levels
}

func (c cost) plus(o cost) cost { return cost{c.differences + o.differences, c.levels + o.levels} }

func (f *found) walk(l, r *normalize.Value) {
	w := &walk{found: f, place: bodyPlace(), work: f.limits.Work, ends: [2]bool{ends(l), ends(r)}}
	w.equality.Work = &w.work
	w.values(l, r, 0)
}

// ends tells whether pointers end at a value: what is in it has none.
func ends(v *normalize.Value) bool { return v != nil && v.Special != nil && v.Special.Inside }

// sentKey is the key under which a value was sent, which a rule may have renamed.
func sentKey(key string, v *normalize.Value) string {
	if v != nil && v.Special != nil && v.Special.Sent != "" {
		return v.Special.Sent
	}
	return key
}

// masked tells whether a rule has masked the key of a value: it was one of many.
func masked(v *normalize.Value) bool { return v.Special != nil && v.Special.Masked }

// equal is exact, and quick where the values differ.
func (w *walk) equal(l, r *normalize.Value) bool {
	if l.Hash != r.Hash {
		return false
	}
	if w.counting > 0 {
		w.work -= l.Size
	}
	return w.equality.Equal(l, r)
}

// values compares two values at the same place; at is the left one's place in the order of the left body's values.
func (w *walk) values(l, r *normalize.Value, at int) {
	if w.equal(l, r) {
		return
	}
	w.different(l, r, at)
}

// different is values for two that are known not to be equal.
func (w *walk) different(l, r *normalize.Value, at int) {
	if w.counting > 0 {
		w.cost = w.cost.plus(w.costOf(l, r))
		return
	}
	w.inside(l, r, at)
}

// inside says at which places two values differ that are not equal.
func (w *walk) inside(l, r *normalize.Value, at int) {
	switch {
	case l.Type != r.Type || normalize.Parsed(l) != normalize.Parsed(r):
		w.lose(at, l.Size)
		w.differ(KindType, l, r, "")
	case l.Type == normalize.Null: // all nulls are equal
	case l.Type == normalize.Array || l.Type == normalize.Object:
		if len(w.path) >= w.limits.Depth {
			w.lose(at, l.Size)
			w.differ(KindValue, l, r, fmt.Sprintf("nested deeper than %d levels: compared as a whole", w.limits.Depth))
		} else if l.Type == normalize.Array {
			w.arrays(l, r, at)
		} else {
			w.objects(l, r, at)
		}
	case normalize.Close(l, r):
	default:
		w.change(l, r, at)
		kind := KindValue
		if normalize.ShapeOf(l) != normalize.ShapeOf(r) {
			kind = KindFormat
		}
		w.differ(kind, l, r, "")
	}
}

// objects compares two objects, whose members are sorted by key.
func (w *walk) objects(l, r *normalize.Value, at int) {
	fold := len(l.Members) > keysApart
	foldExtra := fold || len(r.Members) > len(l.Members)+keysApart
	at++
	for i, j := 0, 0; i < len(l.Members) || j < len(r.Members); {
		switch {
		case j == len(r.Members) || i < len(l.Members) && l.Members[i].Key < r.Members[j].Key:
			m := &l.Members[i]
			w.lose(at, m.Value.Size)
			w.member(m.Key, &m.Value, nil, fold, func() { w.differ(KindMissing, &m.Value, nil, "") })
			at += m.Value.Size
			i++
		case i == len(l.Members) || l.Members[i].Key > r.Members[j].Key:
			m := &r.Members[j]
			w.member(m.Key, nil, &m.Value, foldExtra, func() { w.differ(KindExtra, nil, &m.Value, "") })
			j++
		default:
			w.members(&l.Members[i], &r.Members[j], at, fold)
			at += l.Members[i].Value.Size
			i++
			j++
		}
	}
	if normalize.Reordered(l, r) {
		w.differ(KindOrder, l, r, "")
	}
}

// member does what concerns the member under a key: of the left value, of the right one, or of both.
func (w *walk) member(key string, l, r *normalize.Value, fold bool, do func()) {
	if w.counting > 0 {
		w.path = append(w.path, step{}) // for its depth alone
		do()
		w.path = w.path[:len(w.path)-1]
		return
	}
	s := step{key: sentKey(key, l), rightKey: sentKey(key, r), ends: [2]bool{ends(l), ends(r)}}
	above := w.place
	if l != nil {
		w.place = above.key(s.key, fold || masked(l))
	} else {
		w.place = above.key(s.rightKey, fold || masked(r))
	}
	if l != nil && r != nil && s.key != s.rightKey {
		w.place.renames = true
	}
	w.path = append(w.path, s)
	do()
	w.path = w.path[:len(w.path)-1]
	w.place = above
}

// members compares the members that both have under a key: their last copies, and only when these are equal the
// earlier ones.
func (w *walk) members(l, r *normalize.Member, at int, fold bool) {
	if !w.equal(&l.Value, &r.Value) {
		w.member(l.Key, &l.Value, &r.Value, fold, func() { w.different(&l.Value, &r.Value, at) })
		return
	}
	n, m := len(l.Hidden), len(r.Hidden)
	if n != m {
		note := fmt.Sprintf("duplicate key: %d copies on the left, %d on the right", n+1, m+1)
		if n > m {
			w.member(l.Key, &l.Hidden[m], nil, fold, func() { w.differ(KindMissing, &l.Hidden[m], nil, note) })
		} else {
			w.member(l.Key, nil, &r.Hidden[n], fold, func() { w.differ(KindExtra, nil, &r.Hidden[n], note) })
		}
		return
	}
	for k := range l.Hidden {
		if !w.equal(&l.Hidden[k], &r.Hidden[k]) {
			w.member(l.Key, &l.Hidden[k], &r.Hidden[k], fold, func() {
				w.differ(KindValue, &l.Hidden[k], &r.Hidden[k], "duplicate key: an earlier copy differs")
			})
			return
		}
	}
}

// differ counts one difference, and lists it where there is room.
func (w *walk) differ(kind Kind, l, r *normalize.Value, note string) {
	if w.counting > 0 {
		w.cost = w.cost.plus(cost{1, int(kind.Level())})
		return
	}
	if w.edits != nil {
		w.edits.differ(w.path, kind)
	}
	p := w.place
	if p.sum == nil {
		p.sum = w.count(p.field(), kind)
	} else {
		p.sum.level = max(p.sum.level, kind.Level())
		p.sum.places++
	}
	w.sightings.add(sighting{place: p, kind: kind, l: l, r: r, keys: w.keys(l == nil)})
	both := l != nil && r != nil && l.Type == normalize.String && r.Type == normalize.String
	if both {
		p.sum.words += w.moreWords(l.Text, r.Text)
	}
	if !w.keeps(p.sum) {
		return
	}
	switch kind {
	case KindType:
		note = typeName(l) + " against " + typeName(r)
	case KindFormat:
		note = normalize.ShapeOf(l).String() + " against " + normalize.ShapeOf(r).String()
	case KindOrder:
		if l.Type == normalize.Object { // of which a value shows the children by name
			note = inOrder(l, r)
		}
	}
	d := Difference{Field: p.field(), Kind: kind, Note: normalize.JoinNotes(note, w.note)}
	if l != nil {
		d.LeftPointer = w.pointer(0)
	}
	if r != nil {
		d.RightPointer = w.pointer(1)
	}
	if both {
		var seen string
		d.Left, d.Right, seen = texts(l.Text, r.Text, w.limits.Excerpt)
		d.Note = normalize.JoinNotes(d.Note, seen)
	} else {
		d.Left, d.Right = excerptOf(l, w.limits.Excerpt), excerptOf(r, w.limits.Excerpt)
	}
	w.differences = append(w.differences, d)
}

// typeName is the JSON type of a value, with a word on where it was read.
func typeName(v *normalize.Value) string {
	if normalize.Parsed(v) {
		return v.Type.String() + " in a string"
	}
	return v.Type.String()
}

// mostNames is how many names of children a note has of each side.
const mostNames = 12

// inOrder says in which order two elements have their children, from where it differs.
func inOrder(l, r *normalize.Value) string {
	left, right := strings.Fields(l.Special.Sequence), strings.Fields(r.Special.Sequence)
	same := 0
	for same < min(len(left), len(right)) && left[same] == right[same] {
		same++
	}
	list := func(names []string) string {
		text := strings.Join(names[same:min(len(names), same+mostNames)], ", ")
		if same > 0 {
			text = "…, " + text
		}
		if len(names) > same+mostNames {
			text += ", …"
		}
		return text
	}
	return "children " + list(left) + " against " + list(right)
}

// pointer writes the path as the left side, 0, or the right side has it.
func (w *walk) pointer(side int) *string {
	var b []byte
	ended := w.ends[side]
	for i := 0; i < len(w.path) && !ended; i++ {
		s := &w.path[i]
		key, index := s.key, s.left
		if side == 1 {
			key, index = s.rightKey, s.right
		}
		if s.element {
			b = normalize.AppendPointerIndex(b, index)
		} else {
			b = normalize.AppendPointerKey(b, key)
		}
		ended = s.ends[side]
	}
	pointer := string(b)
	return &pointer
}

// lose notes that a part of the left body has nothing to be compared with.
func (w *walk) lose(at, size int) {
	if w.counting == 0 {
		w.lost = append(w.lost, span{at, size})
	}
}
