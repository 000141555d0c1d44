// Package normalize turns one response into a Document: comparable values, with what never matters (white space, key
// order, content codings, connection headers) taken away and what a rule excludes removed.
//
// It promises that two documents are equal exactly when the answers mean the same under the rules: numbers are exact,
// strings are kept code point by code point, nothing undecodable is taken for equal. It holds no goroutine, clock, file
// or log.
package normalize

import "shadowdiff/multicast"

// Normalizer turns responses into documents under one set of rules. It is safe for concurrent use.
type Normalizer struct{ cfg Config }

// New compiles the rules. Its error joins what Config.Validate finds.
func New(cfg Config) (*Normalizer, error) { panic("normalize: being built") }

// Document reads one response. The document shares memory with resp.Body and holds as long as that does. Reserve is
// asked before memory is taken, beside that of resp.Body; nil means there is no budget.
func (n *Normalizer) Document(route string, role multicast.Role, resp *multicast.Response, reserve func(int64) bool) *Document {
	panic("normalize: being built")
}

// Fingerprint is a canonical text of the rules and the header list: two Normalizers with the same one make the same
// documents.
func (n *Normalizer) Fingerprint() string { panic("normalize: being built") }
