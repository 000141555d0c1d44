package diff

// courseSpans is how many spans of time a Course tells apart.
const courseSpans = 8

// Course is how the noise, and the primary's errors, went over the life of a run: eight spans of time at most, of equal
// width, a minute each at first. When a request falls outside of them, two and two become one. Spans begin at multiples
// of their width since 1970, so that courses add up, and the order of requests has no part in them.
type Course struct {
	Shift uint8             `json:"shift"` // a span is 2^Shift minutes wide
	First int64             `json:"first"` // number of the first span, since 1970
	Used  int64             `json:"used"`  // spans from the first to the last in which something was compared
	Spans [courseSpans]Span `json:"spans"`
}

// Span is what was compared in one span of time.
type Span struct {
	Compared int64 `json:"compared"`
	Noise    int64 `json:"noise"`  // the secondary differs at all
	Errors   int64 `json:"errors"` // the primary answers with an error
}

func (s *Span) merge(o Span) {
	s.Compared += o.Compared
	s.Noise += o.Noise
	s.Errors += o.Errors
}

// add counts in the span with a number, which is of spans that are 2^shift minutes wide.
func (c *Course) add(number int64, shift uint8, s Span) {
	if c.Used == 0 {
		*c = Course{Shift: shift, First: number, Used: 1}
	}
	for c.Shift < shift {
		c.widen()
	}
	number >>= c.Shift - shift
	first, last := min(c.First, number), max(c.First+c.Used-1, number)
	for last-first >= courseSpans {
		c.widen()
		number, first, last = number>>1, first>>1, last>>1
	}
	if first < c.First {
		copy(c.Spans[c.First-first:], c.Spans[:c.Used])
		clear(c.Spans[:c.First-first])
		c.First = first
	}
	c.Used = last - first + 1
	c.Spans[number-first].merge(s)
}

// widen makes one span of two.
func (c *Course) widen() {
	wide := Course{Shift: c.Shift + 1, First: c.First >> 1}
	for i := range c.Used {
		at := (c.First+i)>>1 - wide.First
		wide.Spans[at].merge(c.Spans[i])
		wide.Used = at + 1
	}
	*c = wide
}

func (c *Course) merge(o *Course) {
	for i := range min(o.Used, courseSpans) {
		if o.Spans[i] != (Span{}) {
			c.add(o.First+i, o.Shift, o.Spans[i])
		}
	}
}

// within sums the spans from one minute up to another, both since 1970. Those of a route are no wider than the run's, so
// that each lies in one of the run's as a whole.
func (c *Course) within(from, until int64) (sum Span) {
	for i := range c.Used {
		begin, end := (c.First+i)<<c.Shift, (c.First+i+1)<<c.Shift
		if begin >= from && end <= until {
			sum.merge(c.Spans[i])
		}
	}
	return sum
}
