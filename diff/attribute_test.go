package diff

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"shadowdiff/multicast"
)

// requested is a comparison of one request, in which the candidate differs in these fields.
func requested(target string, headers map[string][]string, fields ...string) *Comparison {
	c := &Comparison{
		Time: time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC), Route: "GET /a", Result: Agree,
		Exchange: &multicast.Exchange{Request: multicast.Request{Method: "GET", Target: target, Host: "shop.example", Header: headers}},
	}
	c.Exchange.Responses[multicast.Primary] = multicast.Response{
		Status: 200, Size: 700, Header: map[string][]string{"Content-Type": {"application/json; charset=utf-8"}},
	}
	for _, f := range fields {
		c.Raw, c.Result = true, CandidateOnly
		fc := FieldComparison{Field: f, Candidate: 1, CandidatePlaces: 1}
		if noisy, ok := strings.CutPrefix(f, "~"); ok {
			fc = FieldComparison{Field: noisy, Candidate: 1, Control: 1}
		}
		c.Fields = append(c.Fields, fc)
	}
	return c
}

func TestOneParameterSeparates(t *testing.T) {
	all := NewAttributes(redactor(t))
	for i := range 4412 {
		target, fields := fmt.Sprintf("/a?page=%d&id=%d", i%3, i), []string{"~body.noise"}
		if i%14 == 3 && i < 312*14 {
			target, fields = target+"&currency=EUR", append(fields, "body.price")
		} else if i%2 == 0 {
			target += "&currency=USD"
		}
		all.Add("GET /a", requested(target, map[string][]string{"Accept": {"*/*"}, "X-Tenant": {fmt.Sprint("t", i%5)}}, fields...))
	}
	s := all.Route("GET /a").Separating("body.price")
	if want := "All 312 have `currency=EUR`; none of the 4,100 others."; s.Sentence != want {
		t.Errorf("said %q\n%+v", s.Sentence, s)
	}
	if s.Differing != 312 || s.Others != 4100 || s.Result != CandidateOnly || s.Best[0].Excess != 1 || s.Best[0].LnP > -1000 {
		t.Errorf("%+v", s)
	}
	for _, one := range s.Best {
		if one.Attribute != "query.currency" {
			t.Errorf("%s separates as well: %+v", one.Attribute, one)
		}
	}
	if s := all.Route("GET /a").Separating("body.noise"); s.Result != Both || s.Sentence != "All requests differ." {
		t.Errorf("noise: %+v", s)
	}
	if s := all.Route("GET /a").Separating("body.other"); s.Sentence != "The candidate was not seen to differ here." {
		t.Errorf("a field that never differed: %+v", s)
	}
	list := all.Route("GET /a").List("body.price")
	var told []string
	for _, a := range list {
		line := fmt.Sprintf("%s: absent %d/%d", a.Attribute, a.Absent.Differing, a.Absent.Requests)
		for _, v := range a.Values {
			line += fmt.Sprintf(", %s %d/%d", v.Value, v.Differing, v.Requests)
		}
		told = append(told, line+fmt.Sprintf(", other %d/%d", a.Other.Differing, a.Other.Requests))
	}
	want := []string{
		"method: absent 0/0, GET 312/4412, other 0/0", "host: absent 0/0, shop.example 312/4412, other 0/0", "status: absent 0/0, 200 312/4412, other 0/0",
		"response type: absent 0/0, application/json 312/4412, other 0/0", "request size: absent 0/0, empty 312/4412, other 0/0",
		"response size: absent 0/0, up to 1 KiB 312/4412, other 0/0", "header.accept: absent 0/0, */* 312/4412, other 0/0",
	}
	for i, line := range want {
		if told[i] != line {
			t.Errorf("%d: %s", i, told[i])
		}
	}
	said := strings.Join(told, "\n")
	for _, part := range []string{
		"query.id: absent 0/0, other 312/4412", "query.currency: absent 0/1894, USD 0/2206, EUR 312/312, other 0/0", "header.x-tenant: absent 0/0, t0 6",
		"query.page: absent 0/0, 0 ",
	} {
		if !strings.Contains(said, part) {
			t.Errorf("%s is not in\n%s", part, said)
		}
	}
}

// What has nothing to do with the difference is not said to separate it, though 32 attributes of 16 values are tried.
func TestChanceSeparatesNothing(t *testing.T) {
	dice := rand.New(rand.NewPCG(1, 2))
	claims := 0
	for range 200 {
		all := NewAttributes(redactor(t))
		for range 400 {
			target := "/a?x=1"
			for p := range 12 {
				target += fmt.Sprintf("&p%d=%d", p, dice.IntN(8))
			}
			var fields []string
			if dice.IntN(20) == 0 {
				fields = []string{"body.a"}
			}
			all.Add("GET /a", requested(target, nil, fields...))
		}
		if len(all.Route("GET /a").Separating("body.a").Best) > 0 {
			claims++
		}
	}
	if claims > 4 { // 1 % of the runs, or less
		t.Errorf("%d of 200 runs without any cause name one", claims)
	}
}

func TestFewRequestsSeparateNothing(t *testing.T) {
	all := NewAttributes(redactor(t))
	for i := range 1000 {
		if i%200 == 0 {
			all.Add("GET /a", requested("/a?currency=EUR", nil, "body.price"))
		} else {
			all.Add("GET /a", requested("/a?currency=USD", nil))
		}
	}
	if s := all.Route("GET /a").Separating("body.price"); s.Sentence != "Too few requests to say which: 5 differ so far, 8 are needed." || len(s.Best) > 0 {
		t.Errorf("%+v", s)
	}
}

// The exact test, against sums of binomial coefficients done by hand: 3 of 5 against 1 of 5 is (100+5·1)/210… in all
// C(5,3)·C(5,1) + C(5,4)·C(5,0) of C(10,4).
func TestFisher(t *testing.T) {
	for _, tc := range []struct {
		a, n, b, m int64
		want       float64
	}{
		{3, 5, 1, 5, (10*5 + 5.0) / 210},
		{5, 5, 0, 5, 1.0 / 252},
		{0, 5, 3, 5, 1},
		{1, 1, 0, 99, 0.01},
	} {
		if got := math.Exp(lnFisher(tc.a, tc.n, tc.b, tc.m)); math.Abs(got-tc.want) > 1e-12 {
			t.Errorf("%d of %d against %d of %d: %v, want %v", tc.a, tc.n, tc.b, tc.m, got, tc.want)
		}
	}
	if got := lnFisher(312, 312, 0, 4100); got > -1000 || math.IsNaN(got) {
		t.Errorf("far out: %v", got)
	}
}

// One attribute that appears late was not there before; a header that is learnt late is known of from then on.
func TestWhatAppearsLate(t *testing.T) {
	all := NewAttributes(redactor(t))
	for range 100 {
		all.Add("GET /a", requested("/a", nil, "body.price"))
	}
	for range 100 {
		all.Add("GET /a", requested("/a?late=1", map[string][]string{"X-Late": {"yes"}}))
	}
	for _, a := range all.Route("GET /a").List("body.price") {
		switch a.Attribute {
		case "query.late":
			if a.Absent.Requests != 100 || a.Absent.Differing != 100 || a.Values[0].Requests != 100 || a.From != 0 {
				t.Errorf("%+v", a)
			}
		case "header.x-late":
			if n := a.Absent.Requests + a.Values[0].Requests; n+a.From != 200 || a.From < 100 || a.From > 164 || a.Absent.Differing != 0 {
				t.Errorf("%+v", a)
			}
		}
	}
}

// Hostile requests cannot make it large, nor drown what matters.
func TestHostileRequestsAreBounded(t *testing.T) {
	all := NewAttributes(redactor(t))
	long := strings.Repeat("v", 1<<20)
	for i := range 3000 {
		all.Add("GET /one", requested(fmt.Sprintf("/a?p%d=%d&real=%d", i, i, i%2), nil, fmt.Sprintf("body.f%d", i)))
	}
	for i := range 10_000 {
		headers := map[string][]string{fmt.Sprintf("X-H%d", i): {long}, "X-Same": {fmt.Sprint(i)}, "User-Agent": {long[:i]}}
		target := fmt.Sprintf("/a?p%d=%s&q%d&real=%d", i, long[:2000], i, i%2)
		all.Add(fmt.Sprintf("GET /%d", i%3000), requested(target, headers, fmt.Sprintf("body.f%d", i)))
	}
	if len(all.routes) > 2*maxRoutes || all.fields > allAttributed {
		t.Errorf("%d routes, %d fields", len(all.routes), all.fields)
	}
	got := memoryOf(all)
	t.Logf("%d MB", got>>20)
	if got > 100<<20 {
		t.Errorf("%d MB", got>>20)
	}
	r := all.Route("GET /one")
	if len(r.list) > attributesKept || len(r.fields) > attributeFields {
		t.Errorf("%d attributes, %d fields", len(r.list), len(r.fields))
	}
	if i := r.parameter("real"); i < 0 || len(r.list[i].Values) != 2 {
		t.Errorf("the parameter that tells something was driven out: %d", i)
	}
}

// memoryOf adds up what a value refers to, roughly.
func memoryOf(v any) int64 {
	seen := map[uintptr]bool{}
	var size func(v reflect.Value) int64
	size = func(v reflect.Value) int64 {
		switch v.Kind() {
		case reflect.Pointer:
			if v.IsNil() || seen[v.Pointer()] {
				return 0
			}
			seen[v.Pointer()] = true
			return int64(v.Elem().Type().Size()) + size(v.Elem())
		case reflect.Struct:
			n := int64(0)
			for i := range v.NumField() {
				n += size(v.Field(i))
			}
			return n
		case reflect.Slice:
			n := int64(v.Cap()) * int64(v.Type().Elem().Size())
			for i := range v.Len() {
				n += size(v.Index(i))
			}
			return n
		case reflect.Array:
			n := int64(0)
			if k := v.Type().Elem().Kind(); k == reflect.Int64 || k == reflect.Uint64 || k == reflect.Uint8 {
				return 0
			}
			for i := range v.Len() {
				n += size(v.Index(i))
			}
			return n
		case reflect.String:
			return int64(v.Len())
		case reflect.Map:
			n := int64(0)
			for it := v.MapRange(); it.Next(); {
				n += 32 + size(it.Key()) + size(it.Value())
			}
			return n
		}
		return 0
	}
	return size(reflect.ValueOf(v))
}

func TestRoutesThatFoldAddTheirRequestsUp(t *testing.T) {
	one, both := NewAttributes(redactor(t)), NewAttributes(redactor(t))
	for i := range 600 {
		target, fields := fmt.Sprintf("/%d?page=%d", i%3, i%3), []string(nil)
		if i%10 == 0 {
			target, fields = target+"&currency=EUR", []string{"body.price"}
		}
		headers := map[string][]string{"Accept": {fmt.Sprint("text/", i%2)}}
		both.Add("GET /{id}", requested(target, headers, fields...))
		one.Add(fmt.Sprint("GET /", i%3), requested(target, headers, fields...))
	}
	one.Merge("GET /{id}", "GET /0", "GET /1", "GET /2")
	got, want := one.Route("GET /{id}"), both.Route("GET /{id}")
	if got.Compared != 600 || !reflect.DeepEqual(got.Separating("body.price"), want.Separating("body.price")) {
		t.Errorf("merged %+v\nwant %+v", got.Separating("body.price"), want.Separating("body.price"))
	}
	if !reflect.DeepEqual(got.List("body.price"), want.List("body.price")) {
		t.Errorf("merged %+v\nwant %+v", got.List("body.price"), want.List("body.price"))
	}
	changed, gone := one.Take(1, func(string) bool { return false })
	if len(changed) != 1 || len(gone) != 3 {
		t.Errorf("%d changed, gone %v", len(changed), gone)
	}
}

func TestAttributesAreWrittenAndReadBack(t *testing.T) {
	all := NewAttributes(redactor(t))
	for i := range 500 {
		all.Add("GET /a", requested(fmt.Sprintf("/a?a=%d&b=%d&token=x", i%7, i), map[string][]string{"X-Org": {"ü"}}, fmt.Sprintf("body.f%d", i%40)))
	}
	r := all.Route("GET /a")
	blob, err := r.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	read := &RouteAttributes{Route: "GET /a"}
	if err := read.UnmarshalBinary(blob); err != nil {
		t.Fatal(err)
	}
	again, _ := read.MarshalBinary()
	if string(again) != string(blob) || !reflect.DeepEqual(read.List("body.f3"), r.List("body.f3")) {
		t.Errorf("read back %+v", read)
	}
	for i := range blob {
		if err := new(RouteAttributes).UnmarshalBinary(blob[:i]); err == nil {
			t.Fatalf("the first %d bytes of %d are taken", i, len(blob))
		}
	}
}

// One request of a route that is known, in which nothing differs.
func BenchmarkAttributes(b *testing.B) {
	all := NewAttributes(redactor(b, "header.authorization", "query.token"))
	headers := map[string][]string{
		"Accept": {"application/json"}, "Accept-Language": {"de-DE,de;q=0.9"}, "Accept-Encoding": {"gzip, br"}, "User-Agent": {"okhttp/4.12.0"},
		"X-Tenant": {"acme"}, "X-Platform": {"ios"}, "X-Request-Id": {"7"}, "Authorization": {"Bearer x"}, "Cookie": {"a=b"}, "Cache-Control": {"no-cache"},
	}
	equal := requested("/products/17?currency=EUR&page=2&sort=price", headers)
	differs := requested("/products/17?currency=EUR&page=2&sort=price", headers, "body.a", "body.b", "body.c")
	for _, bench := range []struct {
		name string
		c    *Comparison
	}{{"equal", equal}, {"three fields differ", differs}} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				all.Add("GET /products/{id}", bench.c)
			}
		})
	}
}
