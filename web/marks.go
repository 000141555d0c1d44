package web

import (
	"sync"

	"shadowdiff/diff"
)

// marked is which tests of each field of a snapshot have a count, and which are confirmed, as bits. To look at 200,000
// fields costs tens of milliseconds, since each lies elsewhere in memory; to look at their marks costs one.
type marked struct {
	tallies   *diff.Tallies
	counted   []uint8 // by place in Fields
	confirmed []uint8
	all       *diff.FieldTally // the transport of all routes together, nil where no shadow has failed alone
}

// transportMark tells, in counted, that the field is the transport.
const transportMark = 1 << 7

// testMarks are the marks of every test.
const testMarks = 1<<testsOfField - 1

// marks remembers those of the snapshot that was last asked for: from one snapshot to the next few fields change, and
// those that did not are shared. The zero marks is ready.
type marks struct {
	mu   sync.Mutex
	last *marked
}

// of makes the marks of a snapshot.
func (m *marks) of(t *diff.Tallies) *marked {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.last == nil || m.last.tallies != t {
		m.last = markedOf(t, m.last)
	}
	return m.last
}

func markedOf(t *diff.Tallies, before *marked) *marked {
	m := &marked{tallies: t, counted: make([]uint8, len(t.Fields)), confirmed: make([]uint8, len(t.Fields))}
	var known []*diff.FieldTally
	if before != nil {
		known = before.tallies.Fields
	}
	transported := false
	for i, f := range t.Fields {
		if i < len(known) && known[i] == f {
			m.counted[i], m.confirmed[i] = before.counted[i], before.confirmed[i]
		} else {
			m.counted[i], m.confirmed[i] = marksOf(f)
		}
		transported = transported || m.counted[i]&transportMark > 0
	}
	if transported {
		m.all = t.AllTransport()
	}
	return m
}

func marksOf(f *diff.FieldTally) (counted, confirmed uint8) {
	for i := range f.Tests {
		if f.Tests[i].Counts == (diff.Counts{}) {
			continue
		}
		counted |= 1 << i
		if f.Tests[i].Confirmed != nil {
			confirmed |= 1 << i
		}
	}
	if f.Field == transport {
		counted |= transportMark
	}
	return counted, confirmed
}
