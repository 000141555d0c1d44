package diff

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"shadowdiff/multicast"
)

// met is how many of the requests have what is asked for, as they are found again one by one.
func met(t *testing.T, r *RouteAttributes, h Having, requests []*Comparison) (n, differing int64, c *Chosen) {
	t.Helper()
	c, err := r.Choose(h)
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range requests {
		ex := one.Exchange
		if c.Meets(&Asked{Request: &ex.Request, Size: int64(len(ex.Request.Body)), Primary: ex.Response(multicast.Primary)}) {
			n++
			if one.Result == CandidateOnly {
				differing++
			}
		}
	}
	return n, differing, c
}

// What is counted of each value of each attribute is what is found of it again.
func TestRequestsAreFoundAsTheyWereCounted(t *testing.T) {
	all, requests := NewAttributes(redactor(t)), []*Comparison{}
	long := strings.Repeat("x", 2*attributeText)
	for i := range 400 {
		target, fields := fmt.Sprintf("/a?page=%d&n%%61me=%s", i%5, long[:attributeText+i%3]), []string{}
		if i%4 == 0 {
			target, fields = target+"&currency=E%55R&currency=USD", []string{"body.price"}
		}
		if i%3 == 0 {
			target += "&empty="
		}
		c := requested(target, map[string][]string{"Accept": {"*/*"}, "User-Agent": {fmt.Sprintf("client%d/1.0 (x)", i%2)}}, fields...)
		c.Exchange.Request.Body = make([]byte, 300*(i%7))
		requests = append(requests, c)
		all.Add("GET /a", c)
	}
	r := all.Route("GET /a")
	compare := func(h Having, counted AttributeCount) {
		t.Helper()
		n, differing, c := met(t, r, h, requests)
		sum, _ := c.Count("body.price")
		if n != counted.Requests || differing != counted.Differing || sum.Requests != n || sum.Differing != differing || sum.Others() != n-differing {
			t.Errorf("%+v: found %d, of which %d differ; counted %+v, in sum %+v", h, n, differing, counted, sum)
		}
	}
	for _, tally := range r.List("body.price") {
		compare(Having{Attribute: tally.Attribute, Absent: true}, tally.Absent)
		present := tally.Other
		for _, v := range tally.Values {
			present.Requests += v.Requests
			present.Differing += v.Differing
			if tally.Attribute != "query.name" { // the values of which are shown alike, and found together
				compare(Having{Attribute: tally.Attribute, Values: []string{v.Value}}, v)
			}
		}
		compare(Having{Attribute: tally.Attribute}, present)
	}
	if n, _, _ := met(t, r, Having{Attribute: "query.name", Values: []string{long[:attributeText]}}, requests); n != 400 {
		t.Errorf("of values that begin alike %d were found", n)
	}
	if n, differing, c := met(t, r, Having{Attribute: "query.currency", Values: []string{"EUR"}}, requests); n != 100 || differing != 100 {
		t.Errorf("%d, of which %d differ", n, differing)
	} else if sum, exact := c.Count("body.price"); !exact || sum.Differing != 100 {
		t.Errorf("%+v, exact: %v", sum, exact)
	}
}

// A value that came before it was told apart, and an attribute that came late, are not counted exactly, and say so.
func TestWhatCameEarlyIsNotCountedExactly(t *testing.T) {
	all := NewAttributes(redactor(t))
	for i := range 40 {
		all.Add("GET /a", requested(fmt.Sprintf("/a?id=%d", i), nil))
	}
	for range 20 {
		all.Add("GET /a", requested("/a?id=39", map[string][]string{"X-Late": {"1"}}, "body.price"))
	}
	for range lookEvery {
		all.Add("GET /a", requested("/a?id=1", map[string][]string{"X-Late": {"1"}}))
	}
	r := all.Route("GET /a")
	for attribute, value := range map[string]string{"query.id": "39", "header.x-late": "1"} {
		c, err := r.Choose(Having{Attribute: attribute, Values: []string{value}})
		if err != nil {
			t.Fatal(err)
		}
		if n, exact := c.Count("body.price"); exact || n.Requests == 0 {
			t.Errorf("%s: %+v, exact: %v", attribute, n, exact)
		}
	}
}

// Secrets are found by no value.
func TestNoValueFindsASecret(t *testing.T) {
	all := NewAttributes(redactor(t))
	for i := range 10 {
		all.Add("GET /a", requested(fmt.Sprintf("/a?session=s%d&page=1", i), nil))
	}
	r := all.Route("GET /a")
	if _, err := r.Choose(Having{Attribute: "query.session", Values: []string{"s1"}}); !errors.Is(err, ErrNotToldApart) {
		t.Error(err)
	}
	if _, err := r.Choose(Having{Attribute: "query.unknown"}); !errors.Is(err, ErrNoAttribute) {
		t.Error(err)
	}
	replaced := []*Comparison{requested("/a?page=%5Bredacted%5D", nil), requested("/a?page=[redacted]", nil)}
	if n, _, _ := met(t, r, Having{Attribute: "query.page", Values: []string{"[redacted]"}}, replaced); n != 0 {
		t.Error("what stands for a secret was found")
	}
}
