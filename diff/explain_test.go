package diff

import (
	"fmt"
	"strings"
	"testing"
)

func ExampleExplanation_Write() {
	t := &testing.T{}
	differences, _ := Compare(
		documentOf(t, `{"id":"7","items":[{"price":10},{"price":11}]}`),
		documentOf(t, `{"id":7,"items":[{"price":12},{"price":13}]}`), DefaultLimits())
	var b strings.Builder
	e := Explanation{Places: 1, Noise: map[string]Level{"body.id": KindValue.Level(), "body.items[].price": KindValue.Level()}}
	if err := e.Write(&b, differences); err != nil {
		panic(err)
	}
	fmt.Print(b.String())
	// Output:
	// body.id  type
	//   /id  string against number
	//   - "7"
	//   + 7
	//
	// body.items[].price  value, at 2 places  (noise: the secondary differs here too)
	//   /items/0/price
	//   - 10
	//   + 12
	//   … 1 more places
}

func TestAnExplanationIsBounded(t *testing.T) {
	var differences []Difference
	for i := range 5000 {
		differences = append(differences, Difference{Field: fmt.Sprintf("body.f%d", i%1000), Kind: KindValue, Left: Excerpt(`"` + strings.Repeat("é", 900) + `"`)})
	}
	var b strings.Builder
	if err := (Explanation{Color: true}).Write(&b, differences); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "… 900 more fields\n") || b.Len() > 300_000 || !strings.Contains(b.String(), "\x1b[1mbody.f0\x1b[0m") {
		t.Errorf("%d bytes: %.300s", b.Len(), b.String())
	}
}

// A key is of another's making: what a terminal would obey is not sent to it.
func TestAnExplanationIsPlain(t *testing.T) {
	differences, _ := Compare(
		documentOf(t, `{"\u001b[31m\u202e":1,"a\"b":1,"`+strings.Repeat("k", 5000)+`":1}`),
		documentOf(t, `{"\u001b[31m\u202e":2,"a\"b":2,"`+strings.Repeat("k", 5000)+`":2}`), DefaultLimits())
	var b strings.Builder
	if err := (Explanation{}).Write(&b, differences); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(b.String(), "\x1b\u202e") || !strings.Contains(b.String(), "\n  \"/\\u001b[31m\\u202e\"\n") ||
		!strings.Contains(b.String(), "\n  /a\"b\n") {
		t.Errorf("%.400q", b.String())
	}
	for line := range strings.Lines(b.String()) {
		if len(line) > 2000 {
			t.Errorf("a line of %d bytes: %.80s", len(line), line)
		}
	}
}
