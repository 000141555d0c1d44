// Package normalize turns one response into a Document: comparable values, with what never matters (white space, key
// order, content codings, connection headers) taken away and what a rule excludes removed.
//
// It promises that two documents are equal exactly when the answers mean the same under the rules: numbers are exact,
// strings are kept code point by code point, nothing undecodable is taken for equal. It holds no goroutine, clock, file
// or log.
package normalize
