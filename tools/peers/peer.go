package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/josephburnett/jd/v2"
	"github.com/valyala/fastjson"
	"github.com/wI2L/jsondiff"

	"shadowdiff/diff"
	"shadowdiff/multicast"
	"shadowdiff/normalize"
)

// Names of the peers that bars speak of.
const (
	ours  = "shadowdiff, documents"
	whole = "shadowdiff, exchange"
	floor = "fastjson, parsing alone"
	wI2L  = "wI2L/jsondiff"
)

// peer is one way to compare the documents of a case.
type peer struct {
	name    string
	compare func() error // both comparisons, from the bytes on; an error if they say what is not so
}

// peers are all ways, each with all that it may keep between comparisons.
func peers(c exchangeCase) []peer {
	return []peer{
		{floor, parsing(c)},
		{ours, documents(c)},
		{whole, exchange(c)},
		{"encoding/json, DeepEqual", trees(c, reflect.DeepEqual)},
		{"encoding/json, cmp.Equal", trees(c, func(a, b any) bool { return cmp.Equal(a, b) })},
		{"encoding/json, cmp.Diff", trees(c, func(a, b any) bool { return cmp.Diff(a, b) == "" })},
		{wI2L, patches(c)},
		{wI2L + ", LCS", patches(c, jsondiff.LCS())},
		{"josephburnett/jd", nodes(c)},
	}
}

// check holds what a comparison said against what is so.
func (c *exchangeCase) check(equal ...bool) error {
	for i, e := range equal {
		if e != c.equal {
			return fmt.Errorf("comparison %d: equal is %t", i+1, e)
		}
	}
	return nil
}

// parsing only parses the three, one parser for each.
func parsing(c exchangeCase) func() error {
	var parsers [3]fastjson.Parser
	return func() error {
		for i, d := range c.documents {
			if _, err := parsers[i].ParseBytes(d); err != nil {
				return err
			}
		}
		return nil
	}
}

// response is an answer as the proxy has captured it.
func response(body []byte, header http.Header) multicast.Response {
	return multicast.Response{
		Outcome: multicast.OutcomeOK, Status: 200, Header: header, Body: body, Size: int64(len(body)), Duration: time.Millisecond,
	}
}

// documents makes documents and compares them, without the heads and counts of an exchange.
func documents(c exchangeCase) func() error {
	n, fault := normalize.New(normalize.Config{})
	var responses [3]multicast.Response
	for i, d := range c.documents {
		responses[i] = response(d, http.Header{"Content-Type": {"application/json"}})
	}
	return func() error {
		if fault != nil {
			return fault
		}
		var d [3]*normalize.Document
		for role := range responses {
			d[role] = n.DocumentLike(d[0], "GET /items", multicast.Role(role), &responses[role], nil)
		}
		left, _ := diff.Compare(d[0], d[1], diff.DefaultLimits())
		right, _ := diff.Compare(d[0], d[2], diff.DefaultLimits())
		n.Release(d[:]...)
		return c.check(len(left) == 0, len(right) == 0)
	}
}

// exchange is all that is done with an exchange before it is counted.
func exchange(c exchangeCase) func() error {
	n, fault := normalize.New(normalize.Config{})
	if fault != nil {
		return func() error { return fault }
	}
	comparer := diff.NewComparer(n, &normalize.Names{}, diff.DefaultLimits())
	ex := &multicast.Exchange{Request: multicast.Request{Method: "GET", Target: "/items?page=2", Host: "shop.example"}}
	for role, d := range c.documents {
		ex.Responses[role] = response(d, http.Header{
			"Content-Type": {"application/json"}, "Cache-Control": {"no-store"}, "Content-Length": {fmt.Sprint(len(d))},
			"Date": {"Mon, 30 Nov 2026 10:41:07 GMT"}, "Vary": {"Accept-Encoding"}, "X-Request-Id": {fmt.Sprint(role)},
		})
	}
	return func() error {
		out := comparer.Compare(ex)
		return c.check(!out.Raw, !out.Noise)
	}
}

// trees decodes into any.
func trees(c exchangeCase, equal func(a, b any) bool) func() error {
	return func() error {
		var d [3]any
		for i := range d {
			if err := json.Unmarshal(c.documents[i], &d[i]); err != nil {
				return err
			}
		}
		return c.check(equal(d[0], d[1]), equal(d[0], d[2]))
	}
}

// patches is two calls of CompareJSON, each of which reads both documents.
func patches(c exchangeCase, options ...jsondiff.Option) func() error {
	return func() error {
		left, err := jsondiff.CompareJSON(c.documents[0], c.documents[1], options...)
		if err != nil {
			return err
		}
		right, err := jsondiff.CompareJSON(c.documents[0], c.documents[2], options...)
		if err != nil {
			return err
		}
		return c.check(len(left) == 0, len(right) == 0)
	}
}

// nodes is jd on documents that are read once each.
func nodes(c exchangeCase) func() error {
	return func() error {
		var d [3]jd.JsonNode
		for i := range d {
			var err error
			if d[i], err = jd.ReadJsonString(string(bytes.TrimSpace(c.documents[i]))); err != nil {
				return err
			}
		}
		return c.check(len(d[0].Diff(d[1])) == 0, len(d[0].Diff(d[2])) == 0)
	}
}
