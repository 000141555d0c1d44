package web

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// listing is how one list of a page is asked for. All of it is in the page's address, so that it can be shared and works
// without a script: the order in the parameter Sort, its direction in Order, the page in Page.
type listing[T any] struct {
	Sort, Order, Page string // names of the parameters; an empty Order: the list has one direction a column
	Anchor            string // where the list stands on the page
	Columns           []column[T]
	Most              int // rows of a page
}

// column is what a list can be ordered by. The first one of a listing is its order unless another is asked for.
type column[T any] struct {
	Word    string
	Compare func(a, b T) int // what comes first in ascending order is less
	Down    bool             // a reader wants the greatest first
}

// asTheyCome is the column of the order in which a list has its rows already.
func asTheyCome[T any](word string) column[T] {
	return column[T]{word, func(T, T) int { return 0 }, true}
}

// by is the column of a measure, the greatest first.
func by[T any, M cmp.Ordered](word string, measure func(T) M) column[T] {
	return column[T]{word, func(a, b T) int { return cmp.Compare(measure(a), measure(b)) }, true}
}

// byText is the column of a text, from A to Z.
func byText[T any](word string, text func(T) string) column[T] {
	return column[T]{word, func(a, b T) int { return strings.Compare(text(a), text(b)) }, false}
}

// pageOf is one page of a list.
type pageOf[T any] struct {
	Rows  []T
	Pager pagerView
	heads map[string]headView
}

// turned is the same page with its rows put into words.
func turned[A, B any](p pageOf[A], into func(A) B) pageOf[B] {
	rows := make([]B, 0, len(p.Rows))
	for _, row := range p.Rows {
		rows = append(rows, into(row))
	}
	return pageOf[B]{rows, p.Pager, p.heads}
}

// Head is the head of a column, under the words that it is shown with.
func (p pageOf[T]) Head(word, label, class string) headView {
	h := p.heads[word]
	h.Label, h.Class = label, class
	return h
}

// headView is a column's head: a link that orders the list by it, or turns its order round.
type headView struct {
	Label, Class string
	Href         string
	Sorted       string // as aria-sort says it; empty: the list is ordered by another column
}

// Scaled tells a column of whiskers, which has their scale below its word.
func (h headView) Scaled() bool { return h.Class == "wide" }

// pagerView says which part of a list is shown, and leads to the others.
type pagerView struct {
	From, To, Count int64
	Before, After   string // addresses; empty: there is none
	First, Last     string
	Page, Pages     int64
	Noun            string
}

// Needed tells that there is more than one page.
func (p pagerView) Needed() bool { return p.Pages > 1 }

// read picks the page that is asked for. Rows that are equal in the wanted order keep that in which they came.
func (l listing[T]) read(q query, base string, rows []T) (pageOf[T], error) {
	page := pageOf[T]{heads: map[string]headView{}}
	words := make([]string, 0, len(l.Columns))
	for _, c := range l.Columns {
		words = append(words, c.Word)
	}
	word, err := q.choice(l.Sort, words...)
	if err != nil {
		return page, err
	}
	order := ""
	if l.Order != "" {
		if order, err = q.choice(l.Order, "asc", "desc"); err != nil {
			return page, err
		}
	}
	at, err := q.number(l.Page, 1, 1_000_000)
	if err != nil {
		return page, err
	}
	chosen := l.Columns[max(0, slices.Index(words, word))]
	down := order == "desc" || order == "" && chosen.Down
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, func(a, b T) int {
		if down {
			a, b = b, a
		}
		return chosen.Compare(a, b)
	})
	for _, c := range l.Columns {
		page.heads[c.Word] = l.head(q, base, c, c.Word == chosen.Word, down)
	}
	page.Rows, page.Pager = l.cut(q, base, rows, at)
	return page, nil
}

// head links a column to its order, and the one that the list is in to the other direction.
func (l listing[T]) head(q query, base string, c column[T], chosen, down bool) headView {
	h, order := headView{}, ""
	if chosen {
		h.Sorted = map[bool]string{true: "descending", false: "ascending"}[down]
		if down == c.Down {
			order = map[bool]string{true: "asc", false: "desc"}[down]
		}
	}
	word := c.Word
	if word == l.Columns[0].Word && order == "" {
		word = ""
	}
	changes := []string{l.Sort, word, l.Page, ""}
	if l.Order != "" {
		changes = append(changes, l.Order, order)
	}
	h.Href = base + q.address(l.Anchor, changes...)
	return h
}

// cut takes one page out of the rows; beyond the last one that is the last: lists grow shorter while addresses are kept.
func (l listing[T]) cut(q query, base string, rows []T, at int) ([]T, pagerView) {
	pages := max(1, (len(rows)+l.Most-1)/l.Most)
	at = min(at, pages)
	from, to := (at-1)*l.Most, min(at*l.Most, len(rows))
	p := pagerView{From: int64(from + 1), To: int64(to), Count: int64(len(rows)), Page: int64(at), Pages: int64(pages)}
	link := func(page int) string {
		text := strconv.Itoa(page)
		if page == 1 {
			text = ""
		}
		return base + q.address(l.Anchor, l.Page, text)
	}
	if at > 1 {
		p.First, p.Before = link(1), link(at-1)
	}
	if at < pages {
		p.After, p.Last = link(at+1), link(pages)
	}
	return rows[from:to], p
}

// address is that of the present page below the base path with some parameters changed, or taken away where they are
// empty.
func (q query) address(anchor string, changes ...string) string {
	values := make(map[string][]string, len(q.values))
	for name, all := range q.values {
		values[name] = all
	}
	for i := 0; i+1 < len(changes); i += 2 {
		if changes[i+1] == "" {
			delete(values, changes[i])
		} else {
			values[changes[i]] = []string{changes[i+1]}
		}
	}
	pairs := make([]string, 0, 2*len(values))
	for name, all := range values {
		pairs = append(pairs, name, all[0])
	}
	path := listPath(q.request.URL.Path, pairs...)
	if anchor != "" {
		path += "#" + anchor
	}
	return path
}

// pickView is one choice of a few above a list.
type pickView struct {
	Label  string
	Count  int64
	Href   string
	Chosen bool
}

// picksOf offers all, and each of the words of which there is something, or that is chosen.
func picksOf(words []string, counts map[string]int64, chosen string, href func(choice string) string) (list []pickView) {
	for _, choice := range append([]string{""}, words...) {
		if counts[choice] > 0 || choice == chosen {
			list = append(list, pickView{cmp.Or(choice, "all"), counts[choice], href(choice), choice == chosen})
		}
	}
	return list
}

// searchView is the field in which a page is searched.
type searchView struct {
	Text   string
	Label  string
	Action string   // the page
	Keep   []hidden // the page's other parameters, that the form sends along
	Clear  string   // the page without it
}

// hidden is a parameter that a form sends along.
type hidden struct{ Name, Value string }

// search keeps the other parameters of the page but those of its pages, which a search begins anew.
func (q query) search(base, label, anchor string, anew ...string) searchView {
	view := searchView{Text: q.text("q"), Label: label, Action: base + q.request.URL.Path}
	changes := []string{"q", ""}
	for _, name := range anew {
		changes = append(changes, name, "")
	}
	view.Clear = base + q.address(anchor, changes...)
	if anchor != "" {
		view.Action += "#" + anchor
	}
	view.Keep = q.along(append(anew, "q")...)
	return view
}

// along are the parameters that a form sends along: all but those that it asks for or begins anew.
func (q query) along(but ...string) (list []hidden) {
	for name, all := range q.values {
		if all[0] != "" && !slices.Contains(but, name) {
			list = append(list, hidden{name, all[0]})
		}
	}
	slices.SortFunc(list, func(a, b hidden) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// mentions tells whether a text has what is searched for in it, in any case of letters.
func mentions(text, wanted string) bool {
	return wanted == "" || strings.Contains(strings.ToLower(text), strings.ToLower(wanted))
}

// findingsPart, cellsPart, lossesPart and fieldPart are what the parts of the same names are handed: their own matter, and
// the frame that leads on from it.
type (
	findingsPart struct {
		frame
		List pageOf[findingView]
		When string // what the column of moments is called
	}
	cellsPart struct {
		frame
		Square squareView
	}
	lossesPart struct {
		frame
		Rows []lostRow
	}
	fieldPart struct {
		frame
		Field *fieldRow
		Name  string // as it stands in the tree
		Depth int
	}
)

// Listed, Cells, Losses and Row put a part together.
func (f frame) Listed(list pageOf[findingView], when string) findingsPart {
	return findingsPart{f, list, when}
}

func (f frame) Cells(square squareView) cellsPart { return cellsPart{f, square} }

func (f frame) Losses(rows []lostRow) lossesPart { return lossesPart{f, rows} }

func (f frame) Row(row *fieldRow, name string, depth int) fieldPart {
	return fieldPart{f, row, name, depth}
}

// Counted hands the counts of a row to their part.
func (p fieldPart) Counted() sidesPart { return p.Sides(p.Field.findingView) }

// sidesPart is what the parts that say a difference's counts are handed.
type sidesPart struct {
	frame
	Of     sidesView
	Counts string // in words
}

// Sides hands the counts of a difference to their part.
func (f frame) Sides(of findingView) sidesPart { return sidesPart{f, of.Sides, of.Counts} }
