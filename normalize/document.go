package normalize

import (
	"crypto/sha256"
	"time"
)

// BodyKind says what a body is compared as. All but the first, Text, Binary and Digest are trees of Values, in which a
// pointer goes as it does in JSON: of a kind other than JSON the tree is as the constants below describe it, and pointers
// lead through that and not through the bytes.
type BodyKind uint8

const (
	Empty  BodyKind = iota // no bytes
	JSON                   // one value; NDJSON and JSON text sequences are an array of their records
	Text                   // by lines
	Binary                 // by length and hash
	Digest                 // over the cap: length and hash of the bytes as sent

	// HTML and XML are an object with a member for the root element and, where there is one, "!doctype". An element is an
	// object: "@name" for each attribute, "#text" for its own text (U+FFFC between pieces that children stand between), and
	// for each name among its children an array of these: /feed/entry/0/title/0/#text. In HTML html, head and body are
	// no arrays: /html/body/p/0. Comments are not compared. Namespaces count by their URI, which stands as "@xmlns" where
	// it is another than the parent's; prefixes do not.
	HTML
	XML

	Form      // an object of the form's fields: /name, and /name/0 where a name stands more than once
	Multipart // of form-data an object of its parts by name, of others an array; a part is an object of "headers" and "body"
	Events    // an array of server-sent events: objects of "event", "id", "retry" and "data"
)

// String is the kind's word as notes have it.
func (k BodyKind) String() string {
	return [...]string{"nothing", "JSON", "text", "bytes", "bytes", "HTML", "XML", "a form", "multipart", "events"}[k]
}

// Document is one response, ready for comparing. It shares memory with the response it was made from.
type Document struct {
	Status   int
	Headers  []Header // compared ones only, sorted by Name
	Cookies  []Cookie // sorted by Name, domain and path
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
type Attribute struct {
	Name, Value string
	Lasts       time.Duration // of "expires": how long after the answer's Date; 0 where that is not known
}

// Body is a response body after its content codings are undone.
type Body struct {
	Kind    BodyKind
	Bytes   []byte            // decoded, and in UTF-8 where the charset is known; nil for Digest
	Size    int64             // of Bytes, or of the whole body as sent for Digest
	Hash    [sha256.Size]byte // for Digest only
	Sent    []byte            // what Bytes were in another charset than UTF-8, which they are in now; nil otherwise
	Root    *Value            // nil unless the kind is a tree
	Changed bool              // a rule changed it: digest headers follow its verdict
	Ignored int               // values that drop rules took away
	Note    string            // what a person should know, e.g. "not decoded: gzip: unexpected EOF"
	arena   **arena           // memory of Root; shared by copies of the Body, nil once it was given back
	asSent  bool              // no rule was held against Root
	Refused bool              // the memory budget was spent before the body was read: the exchange cannot be judged
}
