package multicast

import (
	"crypto/sha256"
	"hash"
)

// capture keeps a body as it passes, up to a cap and within the budget. Over the cap it lets go of what it has and only
// counts and, if asked to, hashes the rest to the end. Whoever holds it sees to it that one goroutine writes at a time.
type capture struct {
	account *account
	limit   int64
	digest  bool // hash what is over the cap

	announced int64 // how long the sender says that it will be; 0: it does not say

	body []byte
	size int64     // of all that passed
	hash hash.Hash // set when over the cap, if digest
	over bool      // more than limit passed
	lost bool      // the budget was spent: what passed is neither kept nor hashed
}

// firstRoom is what a body of unknown or of great length is given at first.
const firstRoom = 4 << 10

// answerRoom is what an answer of known length is given at first: an upstream sends what it has announced.
const answerRoom = 8 * firstRoom

// expect makes room for a body of known length, but for no more than so much of it on the word of the sender alone. A
// negative length is an unknown one.
func (c *capture) expect(length, ahead int64) {
	c.announced = max(length, 0)
	if length > 0 && length <= c.limit {
		c.grow(min(length, ahead))
	}
}

func (c *capture) write(p []byte) {
	c.size += int64(len(p))
	switch {
	case c.lost || len(p) == 0:
	case c.over:
		c.sum(p)
	case c.size > c.limit:
		c.over = true
		c.sum(c.body)
		c.sum(p)
		c.free()
	case c.room(int64(len(c.body) + len(p))):
		c.body = append(c.body, p...)
	default:
		c.lost = true
		c.free()
	}
}

// room sees to it that n bytes fit; the budget is charged for the capacity. It answers false when that is spent.
func (c *capture) room(n int64) bool {
	have := int64(cap(c.body))
	if n <= have {
		return true
	}
	most := c.limit
	if c.announced > 0 {
		most = min(most, c.announced)
	}
	return c.grow(min(max(n, 2*have, firstRoom), max(n, most)))
}

// grow makes room for so many bytes altogether, or a few more.
func (c *capture) grow(want int64) bool {
	want = fit(want)
	if !c.account.take(want - int64(cap(c.body))) {
		return false
	}
	stock := &c.account.memory.stock
	grown := append(stock.take(want), c.body...)
	stock.give(c.body)
	c.body = grown
	return true
}

// free lets go of what was captured: nobody else knows of it.
func (c *capture) free() {
	if c.body == nil {
		return
	}
	c.account.give(int64(cap(c.body)))
	c.account.memory.stock.give(c.body)
	c.body = nil
}

func (c *capture) sum(p []byte) {
	if !c.digest {
		return
	}
	if c.hash == nil {
		c.hash = sha256.New()
	}
	c.hash.Write(p)
}

// into hands what was captured to a response. The account goes on holding it.
func (c *capture) into(res *Response) {
	res.Body, res.Size, res.Over = c.body, c.size, c.over
	if c.hash != nil {
		c.hash.Sum(res.Hash[:0])
	}
	c.body = nil
}
