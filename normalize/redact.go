package normalize

import "shadowdiff/multicast"

// Redacted stands where a value was taken out.
const Redacted = "[redacted]"

// Redactor replaces the values at named places before anything is kept. It is safe for concurrent use.
type Redactor struct{}

// NewRedactor compiles places: fields as in rules, and `query.NAME`. Its error joins all faults, each beginning with
// `redact[i]`.
func NewRedactor(places []string) (*Redactor, error) { panic("normalize: being built") }

// Request returns a copy of a request with its values replaced, and how many places that were.
func (r *Redactor) Request(req *multicast.Request) (multicast.Request, int) {
	panic("normalize: being built")
}

// Response returns a copy of a response with its content codings undone (and Content-Encoding gone) and its values
// replaced, and how many places that were.
func (r *Redactor) Response(resp *multicast.Response) (multicast.Response, int) {
	panic("normalize: being built")
}

// Covers tells whether a difference in this field shows a value that is to be redacted: the field lies at or below a
// redacted place. A field above one shows it too; Excerpt takes care of that.
func (r *Redactor) Covers(field string) bool { panic("normalize: being built") }

// Excerpt returns a difference's excerpt (a JSON text, possibly cut) without what is redacted at or below its field.
func (r *Redactor) Excerpt(field, excerpt string) string { panic("normalize: being built") }
