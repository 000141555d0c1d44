package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// one case is three documents: the primary's, the secondary's and the candidate's.
type exchangeCase struct {
	name      string
	documents [3][]byte
	equal     bool // all three say the same
}

// size is how many bytes the three have together.
func (c *exchangeCase) size() (n int) {
	for _, d := range c.documents {
		n += len(d)
	}
	return n
}

const (
	small  = 2 << 10
	medium = 20 << 10
	large  = 1 << 20
)

// cases are the cases in the order of the tables.
func cases() []exchangeCase {
	var out []exchangeCase
	for _, size := range []struct {
		name  string
		bytes int
	}{{"2 KiB", small}, {"20 KiB", medium}, {"1 MiB", large}} {
		list := items(size.bytes)
		plain := document(list, "8f14e45f", "in stock")
		add := func(name string, equal bool, secondary, candidate []byte) {
			out = append(out, exchangeCase{size.name + ", " + name, [3][]byte{plain, secondary, candidate}, equal})
		}
		add("the same bytes", true, clone(plain), clone(plain))
		add("equal, other white space", true, append(clone(plain), '\n'), append(clone(plain), ' '))
		add("two fields differ", false, document(list, "c9f0f895", "in store"), document(list, "45c48cce", "sold out"))
		add("an array reordered", false, document(shuffled(list, 1), "8f14e45f", "in stock"), document(shuffled(list, 2), "8f14e45f", "in stock"))
	}
	list := items(large)[:0]
	for i := range 3000 {
		list = append(list, item(i))
	}
	out = append(out, exchangeCase{"3,000 elements, one in front", [3][]byte{
		document(list, "8f14e45f", "in stock"),
		document(append([]string{item(3001)}, list...), "8f14e45f", "in stock"),
		document(append([]string{item(3002)}, list...), "8f14e45f", "in stock"),
	}, false})
	return out
}

// document is JSON as services send it: some fields of the answer as a whole, and a list.
func document(items []string, request, status string) []byte {
	return fmt.Appendf(nil, `{"request_id":"%s-ceea-467f-9575-1c2a5d1e3b0a","generated_at":"2026-11-30T10:41:07.123Z","items":[%s],`+
		`"status":%q,"total":%d,"next":null}`, request, strings.Join(items, ","), status, len(items))
}

// items are elements of about so many bytes together.
func items(size int) []string {
	var out []string
	for n := 180; n < size-150; n += len(out[len(out)-1]) + 1 {
		out = append(out, item(len(out)))
	}
	return out
}

func item(i int) string {
	return fmt.Sprintf(`{"id":%d,"sku":"SKU-%05d","title":"Ein schöner Artikel, Nummer %d","price":%d.%02d,"currency":"EUR",`+
		`"in_stock":%t,"tags":["new","sale","%c"],"dimensions":{"width":%d,"height":12.5,"depth":3},"discount":null,`+
		`"url":"https://shop.example/p/%d"}`, 9007199254740993+i, i, i, i%90, i%100, i%3 == 0, 'a'+i%26, i%40, i)
}

// shuffled is the list in another order, always the same one for a seed.
func shuffled(list []string, seed uint64) []string {
	out := append([]string(nil), list...)
	rand.New(rand.NewPCG(seed, seed)).Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

func clone(data []byte) []byte { return append([]byte(nil), data...) }
