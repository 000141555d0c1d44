package store

import "shadowdiff/diff"

// Redact is a comparison as a sample of it would be read back: redacted, its bodies decoded, and cut where they are long. It
// shares no memory with the exchange, and nothing of it is kept.
func (db *DB) Redact(c *diff.Comparison) (*Sample, error) {
	p := packer{redactor: db.Redactor(), enc: db.packer.enc, dec: db.packer.dec}
	k := copyExchange(c)
	row, err := p.pack(k)
	if err != nil {
		return nil, err
	}
	s := &Sample{Exchange: k.exchange.ID, Time: k.exchange.Time, Route: k.exchange.Route, Result: k.result, Redactions: row.redactions}
	return s, p.unpackHead(s, row.head, row.bodies)
}
