package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"

	"shadowdiff/multicast"
)

// drops are the sampled requests of one run that were given up before their shadows were asked.
type drops struct {
	by      map[multicast.Reason]int64
	sampled int64 // requests that were to be compared
}

// count is their number.
func (d *drops) count() (n int64) {
	for _, by := range d.by {
		n += by
	}
	return n
}

// dropsMatter is the share of the sampled requests from which on drops are told beside the verdict.
const dropsMatter = 0.01

// matter tells whether so many were dropped that the verdict is on less than one may think.
func (d *drops) matter() bool {
	return d.sampled > 0 && float64(d.count()) >= dropsMatter*float64(d.sampled)
}

// text says how many were dropped, and for what: "12 % of the sampled requests were dropped: 1,201 as queue".
func (d *drops) text() string {
	reasons := slices.SortedFunc(maps.Keys(d.by), func(a, b multicast.Reason) int {
		return cmp.Or(cmp.Compare(d.by[b], d.by[a]), cmp.Compare(a, b))
	})
	var parts []string
	for _, reason := range reasons {
		if n := d.by[reason]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s as %s", humanize.Comma(n), reason))
		}
	}
	text := exactly(float64(d.count())/float64(d.sampled)) + " of the sampled requests were dropped: " + strings.Join(parts, ", ")
	if d.by[multicast.ReasonQueue] > 0 {
		text += " (lower the rate, or raise shadow.concurrency if the shadows can take more)"
	}
	return text
}

// readDrops asks each service what its run has dropped. Where it does not say, the verdict stands without.
func (g *gate) readDrops(s *state) {
	ctx, cancel := context.WithTimeout(context.Background(), answerTime)
	defer cancel()
	for i := range s.services {
		if d, err := g.client.drops(ctx, s.services[i]); err == nil {
			s.services[i].drops = d
		}
	}
}

// drops reads the counters of a run.
func (c *apiClient) drops(ctx context.Context, p proxied) (d drops, err error) {
	var run struct {
		Counters multicast.Counts `json:"counters"`
	}
	err = c.read(ctx, p.url, fmt.Sprintf("/api/v1/runs/%d", p.run.ID), url.Values{}, &run)
	d = drops{by: run.Counters.Dropped}
	d.sampled = run.Counters.Exchanged + d.count()
	return d, err
}
