package store

import (
	"net/http"
	"slices"
	"sync/atomic"

	"shadowdiff/diff"
	"shadowdiff/multicast"
)

const (
	// pendingBytes bounds the copies of exchanges that wait for the writer. What comes while it is reached is not kept.
	pendingBytes = 16 << 20

	// copiedBody is the longest body that is copied, as sent; of a longer one only the length is kept.
	copiedBody = 4 << 20

	// entryOverhead is what a copied exchange takes beside its texts and bodies, roughly.
	entryOverhead = 4 << 10
)

// copied is one exchange that shares no memory with the proxy's budget.
type copied struct {
	exchange multicast.Exchange
	size     int64    // of the request's body
	decoded  [3]int64 // sizes of the responses' bodies; minus one: not known
	result   diff.Result
	fields   []diff.FieldComparison
	cut      [4]bool // bodies left out: request, then by role

	candidate, control []diff.Difference
}

// copySize is what copyExchange will take, in bytes.
func copySize(c *diff.Comparison) int64 {
	ex := c.Exchange
	n := int64(entryOverhead) + bodySize(ex.Request.Body) + headerSize(ex.Request.Header) + int64(len(ex.Request.Target))
	for i := range ex.Responses {
		n += bodySize(ex.Responses[i].Body) + headerSize(ex.Responses[i].Header)
	}
	for _, list := range [][]diff.Difference{c.Candidate, c.Control} {
		for i := range list {
			n += int64(len(list[i].Left) + len(list[i].Right) + 200)
		}
	}
	return n
}

func bodySize(body []byte) int64 {
	if len(body) > copiedBody {
		return 0
	}
	return int64(len(body))
}

func headerSize(h http.Header) int64 {
	n := 0
	for name, values := range h {
		n += len(name) + 48
		for _, v := range values {
			n += len(v) + 16
		}
	}
	return int64(n)
}

// copyExchange copies everything that Record may not hold on to.
func copyExchange(c *diff.Comparison) *copied {
	ex := c.Exchange
	k := &copied{
		exchange: multicast.Exchange{ID: ex.ID, Time: c.Time, Route: c.Route, Request: ex.Request, Responses: ex.Responses},
		size:     int64(len(ex.Request.Body)),
		result:   c.Result,
		fields:   slices.Clone(c.Fields),

		candidate: slices.Clone(c.Candidate), control: slices.Clone(c.Control),
	}
	if k.decoded = [3]int64{-1, -1, -1}; c.Sizes != nil {
		k.decoded = *c.Sizes
	}
	req := &k.exchange.Request
	req.Header, req.Trailer = req.Header.Clone(), req.Trailer.Clone()
	req.Body, k.cut[0] = copyBody(req.Body)
	for i := range k.exchange.Responses {
		resp := &k.exchange.Responses[i]
		resp.Header, resp.Trailer = resp.Header.Clone(), resp.Trailer.Clone()
		resp.Body, k.cut[1+i] = copyBody(resp.Body)
		k.cut[1+i] = k.cut[1+i] || resp.Over
	}
	return k
}

func copyBody(body []byte) (copied []byte, cut bool) {
	if len(body) > copiedBody {
		return nil, true
	}
	return slices.Clone(body), false
}

// budget counts the bytes of exchanges on their way to the disk, and the samples that it had to refuse.
type budget struct {
	held atomic.Int64
	lost atomic.Int64
}

func (b *budget) take(n int64) bool {
	if b.held.Add(n) > pendingBytes {
		b.held.Add(-n)
		b.lost.Add(1)
		return false
	}
	return true
}

func (b *budget) give(n int64) { b.held.Add(-n) }
