package normalize

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"shadowdiff/multicast"
)

// benchBody is JSON as services send it, of about so many bytes.
func benchBody(size int) []byte {
	var b strings.Builder
	b.WriteString(`{"generated_at":"2026-11-30T10:41:07.123Z","request_id":"8f14e45f-ceea-467f-9575-1c2a5d1e3b0a","items":[`)
	for i := 0; b.Len() < size-300; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"id":%d,"sku":"SKU-%05d","title":"Ein schöner Artikel, Nummer %d","price":%d.%02d,"currency":"EUR","in_stock":%t,`+
			`"tags":["new","sale","%c"],"dimensions":{"width":%d,"height":12.5,"depth":3},"discount":null,"url":"https://shop.example/p/%d"}`,
			9007199254740993+i, i, i, i%90, i%100, i%3 == 0, 'a'+i%26, i%40, i)
	}
	b.WriteString(`],"total":17,"next":null}`)
	return []byte(b.String())
}

func BenchmarkDocument(b *testing.B) {
	for _, size := range []int{2 << 10, 20 << 10, 1 << 20} {
		body := benchBody(size)
		resp := &multicast.Response{Status: 200, Header: http.Header{"Content-Type": {"application/json; charset=utf-8"}, "Date": {"x"}, "Cache-Control": {"no-store"}}, Body: body}
		for name, rules := range map[string][]RuleConfig{
			"plain": nil,
			"rules": {{Drop: "body.generated_at"}, {Drop: "body.request_id"}, {Sort: "body.items[].tags"}},
		} {
			b.Run(fmt.Sprintf("%dKiB/%s", size>>10, name), func(b *testing.B) {
				n := mustNew(b, rules...)
				b.SetBytes(int64(len(body)))
				b.ReportAllocs()
				for b.Loop() {
					if d := n.Document("GET /search", multicast.Primary, resp, nil); d.Body.Kind != JSON {
						b.Fatal(d.Body.Note)
					}
				}
			})
		}
	}
}

func BenchmarkEqual(b *testing.B) {
	body := benchBody(20 << 10)
	n := mustNew(b)
	one, two := document(n, "", string(body)), document(n, "", string(body))
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if !one.Body.Root.Equal(two.Body.Root) {
			b.Fatal("it differs")
		}
	}
}

func BenchmarkGunzip(b *testing.B) {
	body := benchBody(20 << 10)
	n := mustNew(b)
	resp := codedResponse("gzip", encode(b, "gzip", body))
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		n.Document("", multicast.Primary, resp, nil)
	}
}

func BenchmarkRoute(b *testing.B) {
	var names Names
	b.ReportAllocs()
	for b.Loop() {
		names.Route("GET", "/users/8f14e45f-ceea-467f-9575-1c2a5d1e3b0a/orders/17?expand=lines", 200)
	}
}

// A name that was learnt to be one of many.
func BenchmarkRouteFolded(b *testing.B) {
	var names Names
	targets := numbered("/shops/berlin/products/%s-shoes/reviews?page=2", 500)
	ask(&names, targets...)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		names.Route("GET", targets[i%len(targets)], 200)
	}
}

func BenchmarkShape(b *testing.B) {
	for b.Loop() {
		ShapeOfText("a text of some words, as titles are")
		ShapeOfText("2026-11-30T10:41:07.123Z")
		ShapeOfText("8f14e45f-ceea-467f-9575-1c2a5d1e3b0a")
	}
}
