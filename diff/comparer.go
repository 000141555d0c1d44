package diff

import (
	"shadowdiff/multicast"
	"shadowdiff/normalize"
)

// Comparer turns exchanges into comparisons under one set of rules. It is safe for concurrent use.
type Comparer struct {
	normalizer *normalize.Normalizer
	names      *normalize.Names
	limits     Limits
}

// NewComparer returns a Comparer; names gives those exchanges a route that multicast gave none.
func NewComparer(n *normalize.Normalizer, names *normalize.Names, limits Limits) *Comparer {
	return &Comparer{normalizer: n, names: names, limits: limits}
}

// Compare judges one exchange. What the Comparison holds of it is good until the exchange is given back.
func (c *Comparer) Compare(ex *multicast.Exchange) *Comparison { panic("diff: being built") }
