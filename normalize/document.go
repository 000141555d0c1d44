package normalize

import "crypto/sha256"

// BodyKind says what a body is compared as.
type BodyKind uint8

const (
	Empty  BodyKind = iota // no bytes
	JSON                   // one value; NDJSON is an array of its records
	Text                   // by lines
	Binary                 // by length and hash
	Digest                 // over the cap: length and hash of the bytes as sent
)

// Document is one response, ready for comparing. It shares memory with the response it was made from.
type Document struct {
	Status   int
	Headers  []Header // compared ones only, sorted by Name
	Cookies  []Cookie // sorted by Name
	Trailers []Header
	Body     Body
}

// Header is one response header with all its lines in order.
type Header struct {
	Name   string   // lower case
	Values []string // as bytes; a set-valued header's members sorted, a media type canonical
}

// Cookie is what a Set-Cookie line says beside the cookie's value.
type Cookie struct {
	Name       string
	Attributes []Attribute // sorted by Name
}

// Attribute is one attribute of a cookie: "path" is "/", "secure" is "".
type Attribute struct{ Name, Value string }

// Body is a response body after its content codings are undone.
type Body struct {
	Kind    BodyKind
	Bytes   []byte            // decoded; nil for Digest
	Size    int64             // of Bytes, or of the whole body as sent for Digest
	Hash    [sha256.Size]byte // for Digest only
	Root    *Value            // for JSON only
	Changed bool              // a rule changed it: digest headers follow its verdict
	Ignored int               // values that drop rules took away
	Note    string            // what a person should know, e.g. "not decoded: gzip: unexpected EOF"
	arena   **arena           // memory of Root; shared by copies of the Body, nil once it was given back
	Refused bool              // the memory budget was spent before the body was read: the exchange cannot be judged
}
