package diff

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Separation says how well the attributes of the requests tell those in which a field differs from the others. It
// describes what was counted; it is no test that may be watched, and no proof of a cause.
type Separation struct {
	Field     string
	Result    Result // candidate_only, or both where the candidate never differed more gravely than the secondary
	Differing int64  // such requests
	Others    int64  // requests in which the candidate does not differ there
	Sentence  string // the best of them in words, or why there is none
	Best      []Separating
}

// Separating is one value of one attribute that requests with a difference have more often than the others do.
type Separating struct {
	Attribute string   // query.currency
	Part      string   // of the route's path, where it is one of its segments: {id}
	Value     string   // EUR; empty when Absent or Other, or where there are Values
	Values    []string // several of which the requests have one; nil: it is not so
	Spaced    bool     // each of them holds a space, and none of the other values that are told apart does
	Absent    bool     // the requests are without the attribute
	Other     bool     // any value beside those that are told apart
	Many      bool     // none are
	Differing int64    // of the requests with the difference, those that have it
	Of        int64    // and how many of them are known to have it or not
	Others    int64    // likewise of the other requests
	AtMost    bool     // these may be fewer: some came before their value was told apart
	OfOthers  int64
	Excess    float64 // share of those that differ minus share of the others: 1 separates them wholly
	LnP       float64 // natural log of the chance that as many of them have it if it had nothing to do with it
}

const (
	separateLeast  = 8    // requests on either side: of fewer nothing is said
	separateExcess = 0.2  // what is listed at all
	separateSays   = 0.5  // what the sentence says
	separateP      = 0.01 // divided by the number of values that are tried
	separateList   = 5
	separateSet    = attributeValues // values that are told together
	separateNamed  = 6               // and those of them that the sentence names
	separateLooked = 8               // attributes that are named where none separates
)

// Separating tells which attributes separate the requests in which a field differs from the others. So many are tried
// that some look as if they did by chance: a value counts only if Fisher's exact test, one-sided, gives less than 1 % for
// it divided by the number of values tried (Bonferroni), and if there are at least eight requests of either kind. Several
// values of one attribute count together, where the test allows for every other choice of as many.
func (r *RouteAttributes) Separating(field string) Separation {
	s := Separation{Field: field, Result: CandidateOnly}
	f := r.field(field)
	if f == nil {
		s.Others = r.Compared
		s.Sentence = "The candidate was not seen to differ here."
		if r.refused {
			s.Others = 0
			s.Sentence = "The requests of this field were not counted: the route has too many fields that differ."
		}
		return s
	}
	rows := f.alone
	if s.Differing = f.count(f.alone); s.Differing == 0 {
		rows, s.Result, s.Differing = f.both, Both, f.count(f.both)
	}
	s.Others = r.Compared - f.count(f.alone) - f.count(f.both)
	if f.base != nil {
		s.Others -= f.count(f.base)
	}
	switch {
	case s.Differing < separateLeast:
		s.Sentence = fmt.Sprintf("Too few requests to say which: %s so far, %d are needed.", plural(s.Differing, "differs", "differ"), separateLeast)
		return s
	case s.Others == 0:
		s.Sentence = "All requests differ."
		return s
	case s.Others < separateLeast:
		s.Sentence = fmt.Sprintf("Nearly all requests differ: %s not.", plural(s.Others, "does", "do"))
		return s
	}
	s.Best = r.best(f, rows)
	s.Sentence = s.say(r)
	return s
}

// Separates tells whether one attribute does so well enough to be named.
func (s *Separation) Separates() bool { return len(s.Best) > 0 && s.Best[0].Excess >= separateSays }

// best lists what separates.
func (r *RouteAttributes) best(f *attributeField, rows [][marks]int64) (list []Separating) {
	tried := 0
	for i := range r.list {
		a := &r.list[i]
		cut := separatingRows{r: r, a: a, with: rows[i], without: a.counts}
		for m := range cut.without {
			cut.without[m] -= f.alone[i][m] + f.both[i][m]
			if f.base != nil {
				cut.without[m] -= f.base[i][m]
			}
		}
		for m := range cut.with {
			if cut.with[m]+cut.without[m] == 0 {
				continue
			}
			tried++
			if one := cut.of(m); one.weigh(a.choices(1)) {
				list = append(list, one)
			}
		}
		if set, ok := cut.set(); ok {
			tried++
			list = append(list, set)
		}
	}
	limit := math.Log(separateP / float64(max(tried, 1)))
	list = withoutParts(slices.DeleteFunc(list, func(s Separating) bool { return s.LnP > limit }))
	slices.SortStableFunc(list, func(a, b Separating) int {
		return cmp.Or(cmp.Compare(b.Excess, a.Excess), cmp.Compare(a.rank(), b.rank()), cmp.Compare(a.LnP, b.LnP))
	})
	return list[:min(len(list), separateList)]
}

// separatingRows are the requests that differ, and the others, by the marks of one attribute.
type separatingRows struct {
	r             *RouteAttributes
	a             *Attribute
	with, without [marks]int64
}

// of are the requests with one mark, or several.
func (c *separatingRows) of(list ...int) Separating {
	one := Separating{Attribute: c.a.String(), Many: c.a.Many, Of: sumOf(&c.with), OfOthers: sumOf(&c.without)}
	if c.a.Kind == AttributePath {
		one.Part = c.r.part(c.a)
	}
	for _, m := range list {
		one.Differing += c.with[m]
		one.Others += max(c.without[m], 0)
		one.AtMost = one.AtMost || c.a.earlyOf(m) > 0
		switch {
		case m == markAbsent:
			one.Absent = true
		case m == markOther:
			one.Other = true
		case len(list) > 1:
			one.Values = append(one.Values, c.a.shown(m-1))
		default:
			one.Value = c.a.shown(m - 1)
		}
	}
	one.AtMost = one.AtMost && one.Others > 0
	return one
}

// set finds the values, several and few, that together separate best: those of which the greatest shares differ.
func (c *separatingRows) set() (best Separating, found bool) {
	var list []int
	for m := 1; m <= len(c.a.Values); m++ {
		if c.with[m] > 0 {
			list = append(list, m)
		}
	}
	share := func(m int) float64 { return float64(c.with[m]) / float64(c.with[m]+max(c.without[m], 0)) }
	slices.SortStableFunc(list, func(a, b int) int { return cmp.Or(cmp.Compare(share(b), share(a)), cmp.Compare(c.with[b], c.with[a])) })
	for n := 2; n <= min(len(list), separateSet); n++ {
		one := c.of(list[:n]...)
		if one.weigh(c.a.choices(n)+math.Log(separateSet)) && (!found || one.Excess > best.Excess) {
			best, found = one, true
			best.Spaced = c.spaced(list[:n])
		}
	}
	return best, found
}

// spaced tells whether these values hold a space, and no other one does. What a text holds may matter more than which it is.
func (c *separatingRows) spaced(list []int) bool {
	for m := 1; m <= len(c.a.Values); m++ {
		if strings.Contains(c.a.Values[m-1], " ") != slices.Contains(list, m) {
			return false
		}
	}
	return true
}

// choices is the natural log of how many sets of so many values there are to choose from, where the values that are told
// apart were chosen for what they tell; a single one of values that were not is no choice.
func (a *Attribute) choices(n int) float64 {
	if n == 1 && a.crowd == nil {
		return 0
	}
	return lnChoose(float64(max(a.distinct(), int64(n))), float64(n))
}

// withoutParts leaves out the values that are told of together.
func withoutParts(list []Separating) []Separating {
	sets := map[string]*Separating{}
	for i := range list {
		if list[i].Values != nil {
			sets[list[i].Attribute] = &list[i]
		}
	}
	return slices.DeleteFunc(slices.Clone(list), func(s Separating) bool {
		set := sets[s.Attribute]
		return set != nil && s.Values == nil && (set.Excess > s.Excess && slices.Contains(set.Values, s.Value) || s.Other && s.Many)
	})
}

// rank orders what separates equally well: what the client asked for is told before what came of it.
func (s *Separating) rank() int {
	switch {
	case strings.HasPrefix(s.Attribute, "query."), s.Part != "":
		return 0
	case strings.HasPrefix(s.Attribute, "header."):
		return 1
	case s.Attribute == AttributeResponseSize.String(), s.Attribute == AttributeStatus.String(), s.Attribute == AttributeType.String():
		return 3
	}
	return 2
}

// weigh computes the excess and the chance, where it was chosen from others of which the natural log of their number is
// given; false when there is too little of it.
func (s *Separating) weigh(choices float64) bool {
	if s.Of < separateLeast || s.OfOthers < separateLeast {
		return false
	}
	s.Excess = float64(s.Differing)/float64(s.Of) - float64(s.Others)/float64(s.OfOthers)
	if s.Excess < separateExcess {
		return false
	}
	s.LnP = min(lnFisher(s.Differing, s.Of, s.Others, s.OfOthers)+choices, 0)
	return true
}

// lnFisher is the natural log of the probability that at least a of n have a property, when a + b of n + m do and it is
// drawn at random which: Fisher's exact test, one-sided.
func lnFisher(a, n, b, m int64) float64 {
	have, all := float64(a+b), float64(n+m)
	first := lnChoose(float64(n), float64(a)) + lnChoose(float64(m), float64(b)) - lnChoose(all, have)
	term, sum := 1.0, 1.0
	for k := a; k < n && k < a+b; k++ { // one more of n, one fewer of m
		left := float64(a + b - k)
		term *= float64(n-k) * left / (float64(k+1) * (float64(m) - left + 1))
		if sum += term; term < 1e-12*sum {
			break
		}
	}
	return min(first+math.Log(sum), 0)
}

func lnChoose(n, k float64) float64 {
	a, _ := math.Lgamma(n + 1)
	b, _ := math.Lgamma(k + 1)
	c, _ := math.Lgamma(n - k + 1)
	return a - b - c
}
