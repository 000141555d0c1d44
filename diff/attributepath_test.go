package diff

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/dustin/go-humanize"
)

// Of two hundred products six are broken, and any product may have noise. The path alone tells which.
func TestThePathTellsForWhomItIsBroken(t *testing.T) {
	all, dice := NewAttributes(redactor(t)), rand.New(rand.NewPCG(3, 4))
	broken := []int{9, 3, 12, 117, 30, 121}
	n, others := 0, 0
	for range 6000 {
		id := dice.IntN(200)
		var fields []string
		if dice.IntN(10) == 0 {
			fields = append(fields, "body.score") // the candidate alone, whatever the product
		}
		if slices.Contains(broken, id) {
			fields = append(fields, "body.price")
			n++
		} else {
			others++
		}
		all.Add("GET /products/{id}", requested(fmt.Sprintf("/products/%d?page=%d", id, id%3), nil, fields...))
	}
	s := all.Route("GET /products/{id}").Separating("body.price")
	best := s.Best[0]
	if best.Attribute != "path.2" || best.Part != "{id}" || len(best.Values) != 6 || best.Differing != int64(n) || best.OfOthers != int64(others) || best.Others != 0 {
		t.Errorf("%d differ, %d do not: %+v", n, others, best)
	}
	for _, id := range broken {
		if !slices.Contains(best.Values, fmt.Sprint(id)) {
			t.Errorf("%d is not among %v", id, best.Values)
		}
	}
	mustBegin(t, s.Sentence, fmt.Sprintf("All %d have `{id}` = `", n))
	if !strings.HasSuffix(s.Sentence, fmt.Sprintf("; none of the %s others.", humanize.Comma(int64(others)))) || !strings.Contains(s.Sentence, "` or `") {
		t.Error(s.Sentence)
	}
	for _, one := range s.Best[1:] {
		if one.Attribute == "path.2" {
			t.Errorf("one of them is told again: %+v", one)
		}
	}
	s = all.Route("GET /products/{id}").Separating("body.score")
	mustBegin(t, s.Sentence, "No attribute separates the ")
	if !strings.Contains(s.Sentence, "; looked at were ") || !strings.Contains(s.Sentence, "`{id}` (16 of its values), `page`") {
		t.Error(s.Sentence)
	}
}

func mustBegin(t *testing.T, text, begin string) {
	t.Helper()
	if !strings.HasPrefix(text, begin) {
		t.Errorf("said %q, and does not begin with %q", text, begin)
	}
}

// What always comes with a difference is no property of some values; and one value that hardly ever came before it was
// broken is told as such.
func TestAFieldThatAlwaysDiffersHidesNoOther(t *testing.T) {
	all := NewAttributes(redactor(t))
	for i := range 4000 {
		fields := []string{"header.x-new"}
		if id := i % 100; id == 77 || id == 78 {
			fields = append(fields, "body.price")
		}
		all.Add("GET /p/{id}", requested(fmt.Sprintf("/p/%d", i%100), nil, fields...))
	}
	s := all.Route("GET /p/{id}").Separating("body.price")
	mustBegin(t, s.Sentence, "All 80 have `{id}` = `7")
	if len(s.Best) != 1 || !reflect.DeepEqual(slices.Sorted(slices.Values(s.Best[0].Values)), []string{"77", "78"}) {
		t.Errorf("%+v", s)
	}
}

// Requests that came before their value was told apart are counted for it, never too few.
func TestWhatCameBeforeIsNotForgotten(t *testing.T) {
	all := NewAttributes(redactor(t))
	for i := range 3000 {
		all.Add("GET /p/{id}", requested(fmt.Sprintf("/p/%d", i%60), nil))
	}
	for range 100 {
		all.Add("GET /p/{id}", requested("/p/50", nil, "body.price"))
	}
	s := all.Route("GET /p/{id}").Separating("body.price")
	if want := "All 100 have `{id}=50`; so do at most 50 of the 3,000 others."; s.Sentence != want {
		t.Errorf("said %q, want %q", s.Sentence, want)
	}
}

// Parameters are told as they were meant, however they were written.
func TestValuesWithSpacesAndSigns(t *testing.T) {
	all := NewAttributes(redactor(t))
	for i := range 900 {
		target, fields := "/s?q="+[]string{"kettle", "wok", "tea+%26+co", "a%60b"}[i%4], []string(nil)
		switch i % 9 {
		case 3:
			target, fields = "/s?q=red+kettle", []string{"body.hits[]"}
		case 4:
			target, fields = "/s?q=red%20kettle", []string{"body.hits[]"}
		case 5:
			target, fields = "/s?q=50%25+%C3%BC", []string{"body.hits[]"}
		}
		all.Add("GET /s", requested(target, nil, fields...))
	}
	r := all.Route("GET /s")
	for _, of := range []Attribute{{Values: []string{"a b", "c d", "e"}}} {
		cut := separatingRows{a: &of}
		if !cut.spaced([]int{1, 2}) || cut.spaced([]int{1}) || cut.spaced([]int{1, 2, 3}) {
			t.Error("what holds a space is not told")
		}
	}
	if got, want := oneOf(strings.Split("a b c d e f g h", " ")), "`a`, `b`, `c`, `d`, `e`, `f` or one of 2 more"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if s, want := r.Separating("body.hits[]").Sentence, "All 300 have `q` = `red kettle` or `50% ü`; none of the 600 others."; s != want {
		t.Errorf("said %q, want %q", s, want)
	}
	if got, want := code("a`b"), "`\"a\\x60b\"`"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := code(""); got != "`\"\"`" {
		t.Error(got)
	}
}

// What may be a secret is not told apart, by its own name or by that of the segment before it, nor what is redacted.
func TestSecretsInPathsAreNotKept(t *testing.T) {
	all := NewAttributes(redactor(t, "query.member"))
	for route, target := range map[string]string{
		"GET /reset-password/{id}": "/reset-password/s3cret", "GET /a/{token}": "/a/s3cret", "GET /member/{id}": "/member/s3cret",
		"GET /files/{id}": "/files/s3cret-" + strings.Repeat("x", pathText), "GET /b/{id}": "/b/token=s3cret",
	} {
		for range 20 {
			all.Add(route, requested(target, nil, "body.a"))
		}
		r := all.Route(route)
		blob, err := r.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		if target != "/b/token=s3cret" && strings.Contains(string(blob), "s3cret") {
			t.Errorf("%s keeps it: %+v", route, r.List("body.a"))
		}
	}
	kept := all.Route("GET /b/{id}")
	if !kept.Withhold(redactor(t, "query.b")) {
		t.Error("another configuration takes nothing out")
	}
}

// A name that is no path has its first segments told apart; so has one that ends in a star what the star stands for.
func TestPlacesInPaths(t *testing.T) {
	for route, want := range map[string]string{
		"GET /users/{id}/orders/{id}": "path.2 users/{id}, path.4 orders/{id}", "GET shop.example/api/*": "path.2 *", "GET /health": "",
		"GET /files/{id}.json": "path.2 {id}.json", "checkout": "path.1 segment 1 of the path, path.2 segment 2 of the path",
		"GET /{a}/{b}/{c}/{d}/{e}": "path.1 {a}, path.2 {b}, path.3 {c}, path.4 {d}",
	} {
		all := NewAttributes(redactor(t))
		all.Add(route, requested("http://shop.example/users;v=1/1%2F2/orders/7?x=/9", nil))
		var told []string
		for _, a := range all.Route(route).List("") {
			if a.Part != "" {
				told = append(told, a.Attribute+" "+a.Part)
			}
		}
		if got := strings.Join(told, ", "); got != want && !strings.HasPrefix(got, want+", path.3") {
			t.Errorf("%s: %s, want %s", route, got, want)
		}
	}
	for place, want := range []string{"users", "1/2", "orders", "7"} {
		if got, ok := segmentOf("http://shop.example/users;v=1/1%2F2/orders/7?x=/9", place+1); got != want || !ok {
			t.Errorf("segment %d is %q", place+1, got)
		}
	}
	if _, ok := segmentOf("/a", 2); ok {
		t.Error("/a has a second segment")
	}
}

// Products that were routes of their own until the place folded are told apart still.
func TestFoldedRoutesKeepTheirValues(t *testing.T) {
	all := NewAttributes(redactor(t))
	for i := range 4000 {
		name := fmt.Sprintf("shoe-%c%c", 'a'+i%40/20, 'a'+i%20)
		var fields []string
		if i%40 == 37 || i%40 == 39 {
			fields = []string{"body.price"}
		}
		all.Add("GET /products/"+name, requested("/products/"+name, nil, fields...))
	}
	all.Merge("GET /products/{id}", all.Routes()...)
	s := all.Route("GET /products/{id}").Separating("body.price")
	if want := "All 200 have `{id}` = `shoe-br` or `shoe-bt`; none of the 3,800 others."; s.Sentence != want {
		t.Errorf("said %q, want %q: %+v", s.Sentence, want, s)
	}
	if all.bytes != all.routes["GET /products/{id}"].bytes() {
		t.Errorf("%d bytes are counted, and %d held", all.bytes, all.routes["GET /products/{id}"].bytes())
	}
}

// What was written before paths were counted is read on, and has its parameters as they were meant.
func TestTheFormerFormIsRead(t *testing.T) {
	w := blobWriter{attributeFormer}
	w.count(30)
	w.flag(false)
	w.flag(false)
	former := fixedAttributes()
	former = append(former, Attribute{Kind: AttributeQuery, Name: "q", raw: "q", Values: []string{"red%20kettle"}, lengths: []int{12}})
	w.count(int64(len(former)))
	for i := range former {
		a := &former[i]
		w.count(int64(a.Kind))
		w.text(a.Name)
		w.text(a.raw)
		w.flag(false)
		w.count(0)
		w.count(int64(len(a.Values)))
		for k, v := range a.Values {
			w.text(v)
			w.count(int64(a.lengths[k]))
		}
		var counts [marks]int64
		counts[len(a.Values)] = 30
		w.row(&counts)
	}
	w.count(0)
	r := &RouteAttributes{Route: "GET /s/{id}"}
	if err := r.UnmarshalBinary(w); err != nil {
		t.Fatal(err)
	}
	all := NewAttributes(redactor(t))
	all.Restore(r)
	all.Add("GET /s/{id}", requested("/s/7?q=red+kettle", nil))
	for _, a := range all.Route("GET /s/{id}").List("") {
		switch a.Attribute {
		case "query.q":
			if len(a.Values) != 1 || a.Values[0].Value != "red kettle" || a.Values[0].Requests != 31 {
				t.Errorf("%+v", a)
			}
		case "path.2":
			if a.From != 30 || len(a.Values) != 1 || a.Values[0].Value != "7" {
				t.Errorf("%+v", a)
			}
		}
	}
}
