package normalize

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"shadowdiff/multicast"
)

// alike reads a body twice, alone and with another one as its model, and wants the same to come out.
func alike(t *testing.T, n *Normalizer, model, body string) {
	t.Helper()
	response := func(body string) *multicast.Response {
		return &multicast.Response{Status: 200, Body: []byte(body), Header: map[string][]string{"Content-Type": {"application/json"}}}
	}
	first := n.Document("", multicast.Primary, response(model), nil)
	alone := n.Document("", multicast.Candidate, response(body), nil)
	guided := n.DocumentLike(first, "", multicast.Candidate, response(body), nil)
	if alone.Body.Kind != guided.Body.Kind || alone.Body.Note != guided.Body.Note {
		t.Fatalf("%q like %q: %v %s, alone %v %s", body, model, guided.Body.Kind, guided.Body.Note, alone.Body.Kind, alone.Body.Note)
	}
	if d := unlike(alone.Body.Root, guided.Body.Root); d != "" {
		t.Fatalf("%q like %q: %s", body, model, d)
	}
	n.Release(first, alone, guided)
}

func TestModelChangesNothing(t *testing.T) {
	n := mustNew(t)
	item := func(i int) string {
		return fmt.Sprintf(`{"id":%d,"name":"an article of some length, number %d","tags":["a","b",%d],"size":{"w":1.50,"h":null}}`, i, i, i%3)
	}
	var items []string
	for i := range 40 {
		items = append(items, item(i))
	}
	list := func(items ...string) string { return `{"at":1,"items":[` + strings.Join(items, ",") + `],"next":12}` }
	model := list(items...)
	reversed := make([]string, len(items))
	for i := range items {
		reversed[len(items)-1-i] = items[i]
	}
	for _, body := range []string{
		model, model + " ", " " + model, list(), list(items[1:]...), list(items[:39]...), list(reversed...),
		list(append([]string{item(99)}, items...)...), list(append(items[20:len(items):len(items)], items[:20]...)...),
		list(append(items[:10:10], items[:10]...)...), list(append([]string{"[" + items[0] + "]", items[1] + "," + items[1]}, items...)...),
		strings.Replace(model, `"next":12`, `"next":123`, 1), strings.Replace(model, `"next":12`, `"next":1`, 1),
		strings.Replace(model, `"next":12`, `"next":12.0`, 1), strings.Replace(model, `"next":12`, `"next":12e1`, 1),
		strings.ReplaceAll(model, `"id"`, `"\u0069d"`), strings.ReplaceAll(model, `"id":3,`, `"id":3,"id":4,`),
		strings.ReplaceAll(model, `,"name"`, `,"more":[],"name"`), strings.Replace(model, `"at":1,`, ``, 1), `[` + model + `,` + model + `]`,
		"\xef\xbb\xbf" + model, model + model, "12", "",
	} {
		alike(t, n, model, body)
		alike(t, n, body, model)
	}
	random := rand.New(rand.NewPCG(3, 4))
	for range 400 {
		body := []byte(model)
		for range 1 + random.IntN(4) {
			at, end := random.IntN(len(body)), random.IntN(len(body))
			if at > end {
				at, end = end, at
			}
			if end > at+200 && random.IntN(3) > 0 {
				end = at + random.IntN(20)
			}
			from := random.IntN(len(model) - 20)
			body = append(body[:at:at], model[from:from+random.IntN(20)]+string(body[end:])...)
		}
		alike(t, n, model, string(body))
	}
}

// Numbers and words must end where those of the model end.
func TestModelEndsWithItsValues(t *testing.T) {
	n := mustNew(t)
	for _, model := range []string{`12`, `[12]`, `[12 ]`, `true`, `"a"`, `{"a":12}`, `[1,12,3]`} {
		for _, body := range []string{`12`, `123`, `12e4`, `12.5`, `[123]`, `[12`, `[12,12]`, `truex`, `true `, `"a"b`, `{"a":12.0}`, `[1,12]`, `[1,12,35]`, `[12]2`} {
			alike(t, n, model, body)
		}
	}
}

// What a body has in common with its model is the same memory, also where it has moved.
func TestModelIsUsed(t *testing.T) {
	n := mustNew(t)
	item := func(i int) string {
		return fmt.Sprintf(`{"id":%d,"name":"an article of some length, number %d, as there are many","tags":["a","b",%d]}`, i, i, i%3)
	}
	var items, reversed []string
	for i := range 1000 {
		items = append(items, item(i))
		reversed = append(reversed, item(999-i))
	}
	model := treeOf(t, n, "["+strings.Join(items, ",")+"]")
	of := map[*Member]bool{}
	for i := range model.Items {
		of[&model.Items[i].Members[0]] = true
	}
	changed := append(append(append([]string{}, items[:500]...), item(2000)), items[501:]...)
	for name, body := range map[string][]string{
		"one in front": append([]string{item(1000)}, items...), "one is missing": items[1:], "one is another": changed, "reversed": reversed,
		"halves": append(append([]string{}, items[500:]...), items[:500]...), "odd ones": append([]string{"1", "[]", "{}"}, items...),
	} {
		p := n.parser(nil)
		p.follow(model, model.Raw)
		if !p.parse([]byte("["+strings.Join(body, ",")+"]"), false) {
			t.Fatal(p.failure)
		}
		shared := 0
		for i := range p.root.Items {
			if members := p.root.Items[i].Members; len(members) > 0 && of[&members[0]] {
				shared++
			}
		}
		if shared < 995 {
			t.Errorf("%s: %d elements of 1000 were taken from the model", name, shared)
		}
	}
}

// However a body and its model are made, the steps are so many for each byte. Here each level of a deep body would begin a
// search, and each element is like all others.
func TestModelTakesLinearTime(t *testing.T) {
	n := mustNew(t)
	deep := func(left, right string) string {
		return strings.Repeat(left, 3_000) + "0" + strings.Repeat(right, 3_000)
	}
	flat := func(element, last string) string { return "[" + strings.Repeat(element+",", 1_500) + last + "]" }
	alike := `{"a":"an element that is like all others in this array, of some 64 bytes and more"}`
	bodies := []string{
		deep("[", "]"), deep("[0,", "]"), deep("[", ",0]"), deep("[1,2,3,", ",4]"), deep(`{"a":`, "}"), deep(`{"a":1,"a":`, "}"), deep(`{"a":`, `,"b":1}`),
		flat(alike, "0"), flat(alike, "1,2"), flat(strings.Replace(alike, "more", "less", 1), "1,2"), flat("1", "2"), flat("[[]]", "[]"),
	}
	for _, model := range bodies {
		root := treeOf(t, n, model)
		for _, body := range bodies {
			p := n.parser(nil)
			p.follow(root, root.Raw)
			if !p.parse([]byte(body), false) {
				t.Fatal(p.failure)
			}
			// The last step may be one over all.
			if p.model.effort < -len(body)-16*len(root.Items)-4 {
				t.Errorf("%.20q like %.20q takes %d steps too many", body, model, -p.model.effort)
			}
			n.release(p)
		}
	}
}

// FuzzModel reads any body with any other as its model.
func FuzzModel(f *testing.F) {
	for _, seed := range [][2]string{
		{`{"a":[1,2,{"b":null}]}`, `{"a":[1,2,{"b":null}],"c":1}`},
		{`[{"a":"some text of sixty-four bytes, so that it is searched for, or more"},2]`, `[1,2,{"a":"some text of sixty-four bytes, so that it is searched for, or more"}]`},
		{`[12]`, `[123]`},
	} {
		f.Add(seed[0], seed[1], uint16(0), uint16(0), uint16(0))
	}
	n := mustNew(f)
	f.Fuzz(func(t *testing.T, model, body string, at, from, length uint16) {
		alike(t, n, model, body)
		// Most fuzzed bodies are no JSON and unlike: one that has a part of the model in another place is more to the point.
		a, b := min(int(at), len(model)), min(int(from), len(model))
		alike(t, n, model, model[:a]+model[b:min(b+int(length), len(model))]+model[a:])
	})
}
