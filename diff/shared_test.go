package diff

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"shadowdiff/multicast"
)

// What a comparison says stands on its own: the bodies' memory is used for others afterwards.
func TestComparisonSharesNothingWithBodies(t *testing.T) {
	bodies := []string{
		`{"name":"one","deep":{"key with spaces":[1,2,3.50],"a":"text"},"z\u0061":true}`,
		`{"name":"two","deep":{"key with spaces":[1,2,3.75,{"new":"x"}],"b":"text"},"z\u0061":false}`,
		`{"name":"one","deep":{"key with spaces":[2,1,3.50],"a":"other"},"more":{"k":null}}`,
		`<p>one <b>two</b></p>`, `<p>one <b>three</b></p>`, "a text\nof lines", "a text\nof others",
	}
	read := func(body, media string) *multicast.Response {
		return answer(t, "200\nContent-Type: "+media+"\n\n"+body)
	}
	for i, media := range []string{"application/json", "application/json", "application/json", "text/html", "text/html", "text/plain", "text/plain"} {
		for j := range bodies {
			ex := exchange(read(bodies[i], media), read(bodies[j], media), read(bodies[(j+1)%len(bodies)], media))
			c := comparer(t)
			got := c.Compare(ex)
			before := fmt.Sprintf("%+v", c.Suggestions())
			want := comparer(t).Compare(exchange(read(bodies[i], media), read(bodies[j], media), read(bodies[(j+1)%len(bodies)], media)))
			for role := range ex.Responses {
				for k := range ex.Responses[role].Body {
					ex.Responses[role].Body[k] = '#'
				}
			}
			got.Exchange, want.Exchange = nil, nil
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("%d, %d: %s", i, j, d)
			}
			if after := fmt.Sprintf("%+v", c.Suggestions()); after != before {
				t.Errorf("%d, %d: suggestions were %s, are %s", i, j, before, after)
			}
		}
	}
}
