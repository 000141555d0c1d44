package diff

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What one comparison says does not change when the memory of its documents serves another, not even while others
// compare beside it: it is held against that of a comparer that compares nothing else.
func TestMemoryIsUsedAgain(t *testing.T) {
	bodies := []string{
		order(2<<10, 0, "leave at the door"), order(2<<10, 1, "leave with Anna"), order(20<<10, 0, "ring twice"), order(300, 3, "€\u00e4"),
		`{"a":[1,[2,[3]]],"b":{}}`, `{"a":[1,[2,[4]]],"b":null}`, `[` + strings.Repeat(`{"k":[]},`, 400) + `0]`, `[1,`, `"text"`, "plain text", "",
	}
	of := func(c *Comparer, i, j, k int) *Comparison {
		head := "200\nContent-Type: application/json\n\n"
		out := c.Compare(exchange(answer(t, head+bodies[i]), answer(t, head+bodies[j]), answer(t, head+bodies[k])))
		out.Exchange = nil
		return out
	}
	shared := comparer(t)
	n := len(bodies)
	var workers sync.WaitGroup
	for worker := range 4 {
		workers.Go(func() {
			type one struct {
				name string
				got  *Comparison
				want *Comparison
			}
			var all []one
			for i := range n * n {
				a, b, c := i%n, (i/n+worker)%n, (i*7+worker)%n
				all = append(all, one{fmt.Sprint(a, b, c), of(shared, a, b, c), of(comparer(t), a, b, c)})
			}
			for _, o := range all {
				if d := cmp.Diff(o.want, o.got); d != "" {
					t.Errorf("%s: %s", o.name, d)
				}
			}
		})
	}
	workers.Wait()
}
