package diff

import (
	"slices"
	"unicode/utf8"

	"shadowdiff/normalize"
)

const (
	opReplace = "replace"
	opAdd     = "add"
	opRemove  = "remove"
)

// edits are the places at which a walk finds differences, as a tree over the left body as it was sent. The walk goes by
// the bodies under the rules; what is replaced, added or removed is what was sent.
type edits struct {
	root        edit
	wholeArrays bool // an array that gains or loses elements is replaced
	ops         []Operation

	way  []*edit // to where the last difference was, below the root
	path []step  // that led there
	work int     // steps taken
}

// editWork bounds the steps that all differences take down the tree: those of a body that nests deeply are as long as it,
// each of them.
const editWork = 50_000_000

// edit is a value of the left body in which, or instead of which, there is something else in the right one.
type edit struct {
	left, right *normalize.Value // as sent; right is nil where the right has none
	key         string           // of this value in the object around it
	index       int              // or in the array
	whole       bool             // replaced
	below       []*edit          // in the order of the walk; an array's are ascending
	extras      []extra
}

// extra is a value that only the right one has.
type extra struct {
	value *normalize.Value
	key   string
	index int
}

func newEdits(left, right *normalize.Value) *edits {
	return &edits{root: edit{left: left, right: right}}
}

// walk notes all places at which two bodies differ.
func (e *edits) walk(l, r *normalize.Body, limits Limits) {
	limits.Differences = 0 // none is listed
	f := newFound(limits)
	f.edits = e
	f.walk(l.Root, r.Root)
}

// differ notes one difference. The last step of a path has no index of a side that lacks the value.
func (e *edits) differ(path []step, kind Kind) {
	if e.work += len(path); e.work > editWork {
		e.root.whole = true
	}
	at := e.resume(path)
	for i := len(e.way); i < len(path); i++ {
		side := Kind("")
		if i == len(path)-1 && (kind == KindMissing || kind == KindExtra) {
			side = kind
		}
		next := at.enter(path[i], side)
		if next == nil {
			return
		}
		at = next
		if side == "" {
			e.way, e.path = append(e.way, at), append(e.path, path[i])
		}
	}
	if kind != KindMissing || len(path) == 0 {
		at.whole = true
	}
}

// resume goes down as far as the way to the last difference is that to the next, too.
func (e *edits) resume(path []step) *edit {
	at, n := &e.root, 0
	for n < min(len(e.path), len(path)) && path[n] == e.path[n] && !at.whole {
		at = e.way[n]
		n++
	}
	e.way, e.path = e.way[:n], e.path[:n]
	return at
}

// enter goes one step down. Where a value cannot be entered as it was sent, since a rule has read it out of a string or
// since a key has several copies, it is replaced. An extra value is noted; there is nothing to enter.
func (at *edit) enter(s step, side Kind) *edit {
	if at.whole {
		return nil
	}
	here := extra{key: s.rightKey, index: s.right}
	var left, right *normalize.Value
	ok := at.right != nil
	if s.element {
		left, right = elementOf(at.left, s.left), elementOf(at.right, s.right)
		if side == KindExtra {
			left = nil
		}
	} else {
		left, ok = memberOf(at.left, s.key, ok)
		right, ok = memberOf(at.right, s.rightKey, ok)
	}
	if side == KindMissing {
		right = nil
	}
	switch {
	case !ok || left == nil && side != KindExtra || right == nil && side != KindMissing:
		at.whole = true
		return nil
	case left == nil:
		here.value = right
		at.extras = append(at.extras, here)
		return nil
	}
	index := s.left
	if n := len(at.below); n > 0 && at.below[n-1].left == left {
		return at.below[n-1]
	}
	next := &edit{left: left, right: right, key: s.key, index: index, whole: side == KindExtra}
	at.below = append(at.below, next)
	return next
}

func elementOf(v *normalize.Value, index int) *normalize.Value {
	if v == nil || v.Type != normalize.Array || index >= len(v.Items) {
		return nil
	}
	return &v.Items[index]
}

// memberOf is the member under a key. It answers false, as it does when told so, where a pointer does not name it alone:
// the key has several copies, or is not valid UTF-8.
func memberOf(v *normalize.Value, key string, ok bool) (*normalize.Value, bool) {
	if !ok || v.Type != normalize.Object || !utf8.ValidString(key) {
		return nil, false
	}
	at, found := slices.BinarySearchFunc(v.Members, key, func(m normalize.Member, key string) int {
		switch {
		case m.Key < key:
			return -1
		case m.Key > key:
			return 1
		}
		return 0
	})
	if !found {
		return nil, true
	}
	return &v.Members[at].Value, len(v.Members[at].Hidden) == 0
}

// operations lists what was noted. Within an array, elements are changed first, then removed from the back, then added from
// the front, so that each index holds when its turn comes.
func (e *edits) operations() []Operation {
	e.settle(&e.root, 0)
	e.ops = nil
	e.emit(&e.root, nil)
	return e.ops
}

const (
	opSize = 40   // of an operation beside its path and values, about
	spare  = 1024 // bytes by which operations inside a container may exceed its replacement
)

// settle decides from below what is replaced as a whole, and answers the operations' size. The size of a path is known
// before it is written: to write all of them first could take memory quadratic in the body.
func (e *edits) settle(at *edit, path int) (size int) {
	whole := opSize + path + len(at.left.Raw)
	if at.right == nil {
		return whole // removed
	}
	whole += len(at.right.Raw)
	structural := len(at.extras) > 0
	for _, x := range at.extras {
		size += opSize + path + len(x.key) + 6 + len(x.value.Raw)
	}
	for _, next := range at.below {
		structural = structural || next.right == nil
		size += e.settle(next, path+len(next.key)+6)
	}
	if structural && e.wholeArrays && at.left.Type == normalize.Array || size > whole+spare {
		at.whole = true
	}
	if at.whole {
		return whole
	}
	return size
}

func (e *edits) emit(at *edit, path []byte) {
	if at.whole {
		e.write(opReplace, path, at.left, at.right)
		return
	}
	array := at.left.Type == normalize.Array
	token := func(key string, index int) []byte {
		if array {
			return normalize.AppendPointerIndex(path, index)
		}
		return normalize.AppendPointerKey(path, key)
	}
	for _, next := range at.below {
		if next.right != nil {
			e.emit(next, token(next.key, next.index))
		}
	}
	for _, next := range slices.Backward(at.below) {
		if next.right == nil {
			e.write(opRemove, token(next.key, next.index), next.left, nil)
		}
	}
	for _, x := range at.extras {
		e.write(opAdd, token(x.key, x.index), nil, x.value)
	}
}

func (e *edits) write(op string, path []byte, l, r *normalize.Value) {
	o := Operation{Op: op, Path: string(path)}
	sent := appendSent
	if len(path) == 0 {
		sent = appendRoot
	}
	if l != nil {
		o.Old = string(sent(nil, l))
	}
	if r != nil {
		o.Value = string(sent(nil, r))
	}
	e.ops = append(e.ops, o)
}
