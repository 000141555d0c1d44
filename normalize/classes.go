package normalize

import (
	"math/bits"
	"math/rand/v2"
	"slices"
)

// Classes numbers the values of two lists so that equal ones have the same number, from 0 in the order of appearance.
type Classes struct {
	Left, Right []int32
	Count       int
}

// Classify finds the classes of two lists, in time linear in their size. None of the values may be Loose: closeness makes
// no classes.
func Classify(left, right []Value) Classes {
	c := newClassifier(len(left))
	numbers := make([]int32, len(left)+len(right))
	for i := range left {
		numbers[i] = c.number(&left[i])
	}
	for j := range right {
		numbers[len(left)+j] = c.number(&right[j])
	}
	return Classes{numbers[:len(left)], numbers[len(left):], len(c.list)}
}

// Permuted tells whether both lists hold the same multiset.
func (c Classes) Permuted() bool {
	if len(c.Left) != len(c.Right) {
		return false
	}
	more := make([]int32, c.Count)
	for _, class := range c.Left {
		more[class]++
	}
	for _, class := range c.Right {
		if more[class]--; more[class] < 0 {
			return false
		}
	}
	return true
}

// classifier numbers values one by one.
type classifier struct {
	list   []classified
	table  []int32          // by hash: the last class in a place, plus one
	seed   uint64           // of the table's places, so that nobody can have all values meet in one
	byText map[string]int32 // classes beyond long chains
	text   []byte
}

type classified struct {
	value *Value
	hash  uint64
	next  int32 // another class in the same place, plus one; less than zero for one that is not in the table
}

const notInTable = -1

// newClassifier makes room for so many classes; there may be more.
func newClassifier(n int) classifier {
	return classifier{list: make([]classified, 0, n), table: make([]int32, 1<<bits.Len(uint(n))), seed: rand.Uint64() | 1}
}

// longChain is how many classes of one hash are tried one by one. Who sends many values that differ and share a hash does
// so on purpose.
const longChain = 8

func (c *classifier) number(v *Value) int32 {
	tried := 0
	for at := c.table[c.place(v.Hash)]; at > 0; at = c.list[at-1].next {
		if c.list[at-1].hash != v.Hash {
			continue
		}
		if v.Equal(c.list[at-1].value) {
			return at - 1
		}
		if tried++; tried == longChain {
			return c.numberByText(v)
		}
	}
	c.enter(v)
	return int32(len(c.list)) - 1
}

// enter makes a class of a value in the table, which is larger than the list.
func (c *classifier) enter(v *Value) {
	if len(c.list) >= len(c.table) {
		c.table = make([]int32, 2*len(c.table))
		for i := range c.list {
			if c.list[i].next != notInTable {
				c.chain(i)
			}
		}
	}
	c.list = append(c.list, classified{value: v, hash: v.Hash})
	c.chain(len(c.list) - 1)
}

// chain puts a class before the others in its place.
func (c *classifier) chain(class int) {
	first := &c.table[c.place(c.list[class].hash)]
	c.list[class].next, *first = *first, int32(class)+1
}

func (c *classifier) place(hash uint64) int {
	return int(fold(hash^saltFold, c.seed) & uint64(len(c.table)-1))
}

func (c *classifier) numberByText(v *Value) int32 {
	c.text = appendExact(c.text[:0], v)
	n, ok := c.byText[string(c.text)]
	if !ok {
		if c.byText == nil {
			c.byText = map[string]int32{}
		}
		n = int32(len(c.list))
		c.list = append(c.list, classified{value: v, next: notInTable})
		c.byText[string(c.text)] = n
	}
	return n
}

// Classify finds the classes of two lists in which values may be Loose. That is possible where closeness happens to make
// classes of the values at hand: 1, 5, 1.1 and 5.2 are two within 0.3. Where it does not, or where that would take too many
// steps, it answers false, and the classes are those of values that are the same without any tolerance.
func (e *Equality) Classify(left, right []Value) (classes Classes, closeToo bool) {
	c := newClassifier(len(left))
	l, r := pointersTo(left), pointersTo(right)
	classes = Classes{Left: make([]int32, len(left)), Right: make([]int32, len(right))}
	c.numberExactly(l, r, &classes)
	few, many := splitGroups(looseGroups(l, r))
	for _, g := range many {
		c.eachIn(&g, l, r, &classes, c.numberByText)
	}
	for _, g := range few {
		c.eachIn(&g, l, r, &classes, c.numberAlone)
	}
	classes.Count = len(c.list)
	looseLeft, looseRight := c.loose(classes.Left), c.loose(classes.Right)
	related, ok := e.relateAll(c.values(looseLeft), c.values(looseRight))
	if ok {
		if renumbered, ok := related.components(looseLeft, looseRight, classes.Count); ok {
			classes.renumber(renumbered)
			return classes, true
		}
	}
	for _, g := range few {
		c.eachIn(&g, l, r, &classes, c.numberByText)
	}
	classes.Count = len(c.list)
	return classes, false
}

func (c *Classes) renumber(numbers []int32) {
	for _, side := range [2][]int32{c.Left, c.Right} {
		for i, class := range side {
			side[i] = numbers[class]
		}
	}
}

// splitGroups tells groups of which all pairs may be tried from those of which the same values are to be found first, by
// their exact texts. What nests deep is one of few on its level, so that no text is written again for each level.
func splitGroups(groups []group) (few, many []group) {
	for _, g := range groups {
		if len(g.left)*len(g.right) <= fewPairs {
			few = append(few, g)
		} else {
			many = append(many, g)
		}
	}
	return few, many
}

// numberExactly numbers the values that are not Loose.
func (c *classifier) numberExactly(left, right []*Value, classes *Classes) {
	for i, v := range left {
		if !v.Loose {
			classes.Left[i] = c.number(v)
		}
	}
	for j, v := range right {
		if !v.Loose {
			classes.Right[j] = c.number(v)
		}
	}
}

// eachIn numbers the values of a group.
func (c *classifier) eachIn(g *group, left, right []*Value, classes *Classes, number func(*Value) int32) {
	for _, i := range g.left {
		classes.Left[i] = number(left[i])
	}
	for _, j := range g.right {
		classes.Right[j] = number(right[j])
	}
}

// numberAlone makes a class of a value.
func (c *classifier) numberAlone(v *Value) int32 {
	c.list = append(c.list, classified{value: v, next: notInTable})
	return int32(len(c.list)) - 1
}

// loose lists the classes of Loose values among some, each once.
func (c *classifier) loose(numbers []int32) (classes []int32) {
	seen := make([]bool, len(c.list))
	for _, class := range numbers {
		if !seen[class] && c.list[class].value.Loose {
			classes = append(classes, class)
		}
		seen[class] = true
	}
	return classes
}

// values are one of each class.
func (c *classifier) values(classes []int32) []*Value {
	out := make([]*Value, len(classes))
	for i, class := range classes {
		out[i] = c.list[class].value
	}
	return out
}

// components gives the classes of related values one number, the least of them: the classes of the related ones are left and
// right, of count classes in all. It answers false where values that are related to one are not related to the same others.
func (r *Relation) components(left, right []int32, count int) (numbers []int32, ok bool) {
	numbers = make([]int32, count)
	for i := range numbers {
		numbers[i] = int32(i)
	}
	first := slices.Repeat([]int32{-1}, len(right)) // of the left ones that a right one is related to
	for i, class := range left {
		related := r.Of(i)
		if len(related) == 0 {
			continue
		}
		before := first[related[0]]
		if before >= 0 && !slices.Equal(r.Of(int(before)), related) {
			return nil, false
		}
		for _, j := range related {
			if first[j] != before {
				return nil, false
			}
			if before < 0 {
				first[j] = int32(i)
				numbers[right[j]] = class
			}
		}
		if before >= 0 {
			numbers[class] = left[before]
		}
	}
	return numbers, true
}
