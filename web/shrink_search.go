package web

// search finds a small request that still shows what the whole one shows: delta debugging, in which a half of the parts is
// left out before a quarter, and single ones last (Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing
// Input", IEEE Transactions on Software Engineering 28, 2002).
type search struct {
	*anatomy
	out   []bool // parts that are left out
	shows func(out []bool) (bool, error)

	drops int   // how often something was left out for good
	done  []int // by group: the drops at which no single part of it could be left out
}

func newSearch(a *anatomy, shows func(out []bool) (bool, error)) *search {
	s := &search{anatomy: a, out: make([]bool, len(a.units)), shows: shows, done: make([]int, a.groups())}
	for i := range s.done {
		s.done[i] = -1
	}
	return s
}

// run ends when no single part can be left out any more, or with the error of shows: then what is left out so far holds.
func (s *search) run() error {
	for again := true; again; {
		again = false
		for group := range s.done {
			if s.done[group] == s.drops {
				continue
			}
			again = true
			if err := s.reduce(group); err != nil {
				return err
			}
			s.done[group] = s.drops
		}
	}
	return nil
}

// reduce leaves out what it can of one group: all at first, and at last one by one until none can be.
func (s *search) reduce(group int) error {
	left := s.left(group)
	size := len(left)
	if s.done[group] >= 0 { // the great parts were tried
		size = min(size, 1)
	}
	for size > 0 {
		dropped, err := s.pass(left, size)
		if err != nil {
			return err
		}
		left = s.left(group)
		switch {
		case size > 1:
			size = min((size+1)/2, len(left))
		case !dropped:
			return nil
		}
		if len(left) == 0 {
			return nil
		}
	}
	return nil
}

// pass tries to leave out so many parts at once, from the first to the last.
func (s *search) pass(left []int, size int) (dropped bool, err error) {
	for from := 0; from < len(left); from += size {
		part := left[from:min(from+size, len(left))]
		s.mark(part, true)
		shown, err := s.shows(s.out)
		if err != nil || !shown {
			s.mark(part, false)
		}
		if err != nil {
			return dropped, err
		}
		if shown {
			dropped = true
			s.drops++
		}
	}
	return dropped, nil
}

func (s *search) mark(part []int, out bool) {
	for _, i := range part {
		s.out[i] = out
	}
}

// left are the parts of a group that are still in the request.
func (s *search) left(group int) (left []int) {
	for i, u := range s.units {
		if u.group == group && !s.gone(i) {
			left = append(left, i)
		}
	}
	return left
}

// gone tells of a part that is left out by itself or with what holds it.
func (s *search) gone(i int) bool {
	for ; i >= 0; i = s.units[i].parent {
		if s.out[i] {
			return true
		}
	}
	return false
}

// names lists the parts that are left, or those that are not, the latter without what is gone with its whole.
func (s *search) names(gone bool) []string {
	names := []string{}
	for i, u := range s.units {
		whole := u.parent >= 0 && s.gone(u.parent)
		if s.gone(i) == gone && !whole && !(!gone && s.holds(i)) {
			names = append(names, u.name)
		}
	}
	return names
}

// holds tells of a part that has parts which are left: they stand for it.
func (s *search) holds(i int) bool {
	for j := i + 1; j < len(s.units); j++ {
		if s.units[j].parent == i && !s.gone(j) {
			return true
		}
	}
	return false
}
