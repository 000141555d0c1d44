package normalize

import (
	"bytes"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"testing"

	"shadowdiff/multicast"
)

// pile is something of a size.
type pile int

func (p *pile) size() int { return int(*p) }

func piles(s *stock[*pile], sizes ...int) {
	for _, size := range sizes {
		p := pile(size)
		s.put(&p, true)
	}
}

func (s *stock[T]) sizes() (sizes []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.kept {
		sizes = append(sizes, l.size)
	}
	return sizes
}

// Large bodies get the largest there is, those that are mostly taken from others the smallest.
func TestStockFitsTheBody(t *testing.T) {
	s := stock[*pile]{most: 1 << 20}
	if got := s.take(true, false); got != nil {
		t.Fatalf("an empty stock gave %d", *got)
	}
	piles(&s, 3000, 1000, 9000, 2000)
	for _, want := range []struct {
		alike bool
		size  pile
	}{{false, 9000}, {true, 1000}, {true, 2000}, {false, 3000}} {
		if got := s.take(true, want.alike); got == nil || *got != want.size {
			t.Fatalf("alike %v: got %v, not %d", want.alike, got, want.size)
		}
	}
	if s.size != 0 || len(s.kept) != 0 {
		t.Errorf("%d bytes are left", s.size)
	}
}

// What serves small bodies and what serves large ones are not mixed: else each small one could get a large one's memory,
// and the stock fill with small ones'.
func TestStockTellsSmallFromLarge(t *testing.T) {
	s := stock[*pile]{most: 1 << 20}
	p := pile(1 << 20)
	s.put(&p, false)
	if len(s.kept) > 0 || s.take(true, false) != nil {
		t.Error("a large body was given a small one's")
	}
	piles(&s, 1<<20)
	s.small.Get()
	if s.take(false, false) != nil {
		t.Error("a small body was given a large one's")
	}
}

// However much is put in, it does not hold more than it may.
func TestStockIsBounded(t *testing.T) {
	s := stock[*pile]{most: 1 << 20}
	piles(&s, s.most+1, s.most/2, s.most/2+1, s.most/4, s.most/4, 1)
	if want := []int{s.most / 4, s.most / 4, s.most / 2}; !slices.Equal(s.sizes(), want) || s.size != s.most {
		t.Errorf("it holds %v, %d bytes in all, not %v", s.sizes(), s.size, want)
	}
}

// What is wanted again and again stays, the rest goes.
func TestStockLetsGo(t *testing.T) {
	s := stock[*pile]{most: 1 << 20}
	piles(&s, 1000, 9000)
	for range stockAge {
		s.collected()
	}
	piles(&s, int(*s.take(true, false)))
	if got := s.sizes(); len(got) != 2 {
		t.Fatalf("it holds %d", got)
	}
	s.collected()
	if got := s.sizes(); !slices.Equal(got, []int{9000}) || s.size != 9000 {
		t.Errorf("it holds %d, %d bytes in all", got, s.size)
	}
}

// Nobody has to come for it to let go: the collector is enough.
func TestStockNoticesCollections(t *testing.T) {
	s := stock[*pile]{most: 1 << 20}
	piles(&s, 1000, 9000)
	for n := 0; len(s.sizes()) > 0; n++ {
		if n == 100*stockAge {
			t.Fatalf("after %d collections it holds %d", n, s.sizes())
		}
		runtime.GC()
		runtime.Gosched()
	}
}

// Memory of large bodies is used again however often others have the collector run, and what is read in it is the same.
func TestLargeBodiesUseMemoryAgain(t *testing.T) {
	n := mustNew(t)
	resp := jsonResponse(benchBody(1 << 20))
	read := func() *Document { return n.Document("", multicast.Primary, resp, nil) }
	first, want := read(), mustNew(t).Document("", multicast.Primary, resp, nil)
	n.Release(first)
	for range 3 {
		for range 3 {
			runtime.GC()
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got := read()
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > 64<<10 {
			t.Errorf("%d bytes were made anew", took)
		}
		if d := unlike(want.Body.Root, got.Body.Root); d != "" {
			t.Error(d)
		}
		n.Release(got)
	}
	if most := n.arenas.size; most == 0 || most > mostArenas {
		t.Errorf("%d bytes of values are kept", most)
	}
}

// Values that were given back are nothing any more, and where the race detector watches they can be told.
func TestReleasedValuesAreGone(t *testing.T) {
	for _, size := range []int{2 << 10, 1 << 20} {
		n := mustNew(t)
		d := n.Document("", multicast.Primary, jsonResponse(benchBody(size)), nil)
		members := d.Body.Root.Members
		items := members[1].Value.Items
		n.Release(d)
		want := Value{}
		if poisoned {
			want.Type = noType
		}
		for _, v := range []Value{items[0], items[len(items)-1], members[0].Value, members[len(members)-1].Value} {
			if v.Type != want.Type || v.Raw != nil || v.Items != nil || v.Members != nil {
				t.Errorf("%d KiB: there is still a %d, %q", size>>10, v.Type, v.Raw)
			}
		}
	}
}

// Large and small bodies that are alike, unlike and of no JSON at all are read in one another's memory.
func TestBodiesOfAllSizesShareMemory(t *testing.T) {
	n := mustNew(t)
	var bodies [][]byte
	for _, size := range []int{300, 20 << 10, largeBody - 1, largeBody + 300, 300 << 10} {
		body := benchBody(size)
		bodies = append(bodies, body, bytes.Replace(body, []byte("schöner"), []byte(`sch\u00f6ner`), 3), append([]byte(`{"a":`), body...))
	}
	for i := range 3 * len(bodies) {
		name := fmt.Sprint(i)
		one := jsonResponse(bodies[i*7%len(bodies)])
		two := jsonResponse(bodies[i%len(bodies)])
		fresh := mustNew(t)
		a, wantA := n.Document("", multicast.Primary, one, nil), fresh.Document("", multicast.Primary, one, nil)
		b, wantB := n.DocumentLike(a, "", multicast.Candidate, two, nil), fresh.Document("", multicast.Candidate, two, nil)
		for _, pair := range [][2]*Document{{wantA, a}, {wantB, b}} {
			want, got := pair[0], pair[1]
			if want.Body.Kind != got.Body.Kind || want.Body.Root != nil && unlike(want.Body.Root, got.Body.Root) != "" {
				t.Errorf("%s: it was read as something else", name)
			}
		}
		n.Release(a, b)
	}
}

func jsonResponse(body []byte) *multicast.Response {
	return &multicast.Response{Status: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: body}
}
