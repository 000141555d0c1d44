package normalize

// Classes numbers the values of two lists so that equal ones have the same number, from 0 in the order of appearance.
type Classes struct {
	Left, Right []int32
	Count       int
}

// Classify finds the classes of two lists, in time linear in their size. None of the values may be Loose: closeness makes
// no classes.
func Classify(left, right []Value) Classes {
	c := classifier{byHash: make(map[uint64]int32, len(left))}
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
	byHash map[uint64]int32 // the last class with a hash, plus one
	byText map[string]int32 // beyond that
	text   []byte
}

type classified struct {
	value *Value
	next  int32 // another class with the same hash, plus one
}

// longChain is how many classes of one hash are tried one by one. Who sends many values that differ and share a hash does
// so on purpose.
const longChain = 8

func (c *classifier) number(v *Value) int32 {
	first := c.byHash[v.Hash]
	tried := 0
	for at := first; at > 0; at = c.list[at-1].next {
		if v.Equal(c.list[at-1].value) {
			return at - 1
		}
		if tried++; tried == longChain {
			return c.numberByText(v)
		}
	}
	c.list = append(c.list, classified{v, first})
	c.byHash[v.Hash] = int32(len(c.list))
	return int32(len(c.list)) - 1
}

func (c *classifier) numberByText(v *Value) int32 {
	c.text = appendExact(c.text[:0], v)
	n, ok := c.byText[string(c.text)]
	if !ok {
		if c.byText == nil {
			c.byText = map[string]int32{}
		}
		n = int32(len(c.list))
		c.list = append(c.list, classified{value: v})
		c.byText[string(c.text)] = n
	}
	return n
}
