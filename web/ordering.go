package web

import (
	"cmp"
	"iter"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"shadowdiff/normalize"
)

// byName is the order of a list unless another is asked for: it is that of the snapshot, and nothing in it ever moves.
const byName = "name"

// measures are what a list can be ordered by beside its name, with their words in `sort`.
type measures[T any] map[string]func(T) int64

// words are the values of `sort`.
func (m measures[T]) words() []string {
	words := []string{byName}
	for word := range m {
		words = append(words, word)
	}
	slices.Sort(words[1:])
	return words
}

// ordering is how a list was asked for: by a measure, the greatest first unless `order` says otherwise; items of the same
// measure go by name.
type ordering[T any] struct {
	measure func(T) int64 // nil: by name
	down    bool
	limit   int
	after   *spot // nil: from the beginning
}

// spot is an item's place in an order.
type spot struct {
	measure int64 // 0 in the order of names
	name    string
}

func (s spot) String() string { return strconv.FormatInt(s.measure, 10) + " " + s.name }

// readOrdering reads sort, order, limit and cursor.
func readOrdering[T any](q query, m measures[T]) (o ordering[T], err error) {
	if o.limit, err = q.number("limit", itemsShown, itemsMost); err != nil {
		return o, err
	}
	word, err := q.choice("sort", m.words()...)
	if err != nil {
		return o, err
	}
	o.measure = m[word] // nil for name
	order, err := q.choice("order", "asc", "desc")
	if err != nil {
		return o, err
	}
	o.down = order == "desc" || order == "" && o.measure != nil
	place, err := q.place()
	if err != nil || place == "" {
		return o, err
	}
	number, name, _ := strings.Cut(place, " ")
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return o, badCursor(q.text("cursor"))
	}
	o.after = &spot{n, name}
	return o, nil
}

// backward tells that names are wanted from the last to the first.
func (o *ordering[T]) backward() bool { return o.measure == nil && o.down }

// behind tells whether an item stands behind the cursor.
func (o *ordering[T]) behind(measure int64, item T, name func(T) string) bool {
	switch {
	case o.after == nil:
		return true
	case measure != o.after.measure:
		return (measure > o.after.measure) != o.down
	case o.backward():
		return name(item) < o.after.name
	default:
		return name(item) > o.after.name
	}
}

// picked is an item and what decides its place: the measure, then the turn at which it came.
type picked[T any] struct {
	measure int64
	turn    int
	item    T
}

// page picks the items of one page from all, in order, and the cursor of the next page if one follows. All come in the
// order of their names, backward if o says so. It holds no more than twice the page at a time, whatever there is to pick
// from.
func (o *ordering[T]) page(q query, all iter.Seq[T], name func(T) string) (items []T, next *string) {
	keep, turn := o.limit+1, 0
	var best []picked[T]
	var bar *int64 // the least that is of use, once there is a page
	for item := range all {
		turn++
		var measure int64
		if o.measure != nil {
			measure = o.measure(item)
		}
		if bar != nil && (measure == *bar || (measure > *bar) != o.down) || !o.behind(measure, item, name) {
			continue
		}
		best = append(best, picked[T]{measure, turn, item})
		if o.measure == nil && len(best) == keep {
			break
		}
		if len(best) == 2*keep {
			best = o.cut(best, keep)
			bar = &best[keep-1].measure
		}
	}
	best = o.cut(best, keep)
	if len(best) == keep {
		best = best[:o.limit]
		last := best[o.limit-1]
		next = q.cursorFor(spot{last.measure, name(last.item)}.String())
	}
	items = make([]T, len(best))
	for i, p := range best {
		items[i] = p.item
	}
	return items, next
}

func (o *ordering[T]) cut(best []picked[T], keep int) []picked[T] {
	slices.SortFunc(best, func(a, b picked[T]) int {
		by := cmp.Compare(a.measure, b.measure)
		if o.down {
			by = -by
		}
		return cmp.Or(by, a.turn-b.turn)
	})
	return best[:min(len(best), keep)]
}

// choice reads one of several words; without the parameter it is the empty one.
func (q query) choice(name string, words ...string) (string, error) {
	v := q.text(name)
	if v == "" || slices.Contains(words, v) {
		return v, nil
	}
	many := strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
	if near := normalize.Nearest(v, words); near != "" {
		return "", refuse(http.StatusBadRequest, "%s=%q: did you mean %q? Give %s", name, v, near, many)
	}
	return "", refuse(http.StatusBadRequest, "%s=%q: give %s", name, v, many)
}
