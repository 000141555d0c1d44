package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"shadowdiff/diff"
	"shadowdiff/multicast"
	"shadowdiff/normalize"

	"github.com/klauspost/compress/zstd"
)

// Sample is one stored exchange, redacted.
type Sample struct {
	ID         int64
	Run        int64
	Exchange   string // X-Shadow-Id
	Time       time.Time
	Route      string
	Result     diff.Result
	Fields     []string // every field that differs on either side, 1,000 at most
	Request    multicast.Request
	Responses  [3]multicast.Response // by role; bodies decoded, redacted and possibly cut
	BodyCut    [3]bool               // the stored body is shorter than the one sent
	RequestCut bool                  // likewise the request's

	RequestSize int64    // bytes of the request's body as sent
	Decoded     [3]int64 // sizes of the responses' bodies, decoded but not redacted; minus one: not known
	Candidate   []diff.Difference
	Control     []diff.Difference
	Redactions  int // places that were replaced
}

const (
	keptBody   = 1 << 20 // the longest body that is stored, decoded and redacted; the rest of it is cut off
	keptFields = 1000    // names of differing fields that are stored with a sample
)

// packed is a sample as it stands in its row. head is JSON, bodies are the four bodies one after the other (they
// resemble each other, and compress as one); each is a zstd frame.
type packed struct {
	exchange   string
	time       int64
	result     string
	redactions int
	fields     []diff.FieldComparison
	head       []byte
	bodies     []byte
}

func (p *packed) size() int64 { return int64(len(p.head)+len(p.bodies)) + entryOverhead }

// packer redacts and compresses samples, and unpacks them again. It is safe for concurrent use.
type packer struct {
	redactor *normalize.Redactor
	enc      *zstd.Encoder
	dec      *zstd.Decoder
}

func newPacker(redact []string, maxDecoded int64) (*packer, error) {
	redactor, err := normalize.NewRedactor(redact)
	if err != nil {
		return nil, err
	}
	redactor.MaxDecoded = max(redactor.MaxDecoded, maxDecoded)
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(8*keptBody),
		zstd.WithLowerEncoderMem(true), zstd.WithZeroFrames(true))
	if err != nil {
		return nil, err
	}
	dec, err := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(64<<20))
	if err != nil {
		return nil, err
	}
	return &packer{redactor, enc, dec}, nil
}

func (p *packer) close() { p.dec.Close() }

// pack redacts an exchange and writes it down. Nothing of it that is not redacted is in the answer.
func (p *packer) pack(c *copied) (row *packed, err error) {
	defer func() {
		if r := recover(); r != nil { // an exchange that cannot be redacted is not stored
			err = fmt.Errorf("redact: %v", r)
		}
	}()
	request, redactions := p.redactor.Request(&c.exchange.Request)
	h := head{Request: headRequest(&request), Fields: fieldNames(c.fields)}
	var redacted [3]multicast.Response
	var bodies []byte
	h.Request.Size = c.size
	bodies, h.Request.headBody = keep(bodies, request.Body, c.cut[0])
	for i := range c.exchange.Responses {
		resp, n := p.redactor.Response(&c.exchange.Responses[i])
		redactions += n
		h.Responses[i] = headResponse(&resp)
		bodies, h.Responses[i].headBody = keep(bodies, resp.Body, c.cut[1+i])
		if n := &c.decoded[i]; *n >= 0 {
			h.Responses[i].Decoded = n
		}
		redacted[i] = resp
	}
	h.Candidate = p.differences(c.candidate, &redacted, multicast.Candidate)
	h.Control = p.differences(c.control, &redacted, multicast.Secondary)
	text, err := json.Marshal(&h)
	if err != nil {
		return nil, fmt.Errorf("encode head: %w", err)
	}
	return &packed{
		exchange: c.exchange.ID, time: micros(c.exchange.Time), result: string(c.result), redactions: redactions,
		fields: c.fields, head: p.enc.EncodeAll(text, nil), bodies: p.enc.EncodeAll(bodies, nil),
	}, nil
}

// keep appends a body, or as much of it as is stored.
func keep(bodies, body []byte, cut bool) ([]byte, headBody) {
	if len(body) > keptBody {
		body, cut = body[:keptBody], true
	}
	return append(bodies, body...), headBody{Length: len(body), Cut: cut}
}

// differences writes down those between the primary and one other role.
func (p *packer) differences(list []diff.Difference, redacted *[3]multicast.Response, right multicast.Role) []headDifference {
	kept := make([]headDifference, len(list))
	for i := range list {
		d := &list[i]
		kept[i] = headDifference{
			Field: text(d.Field), LeftPointer: (*text)(d.LeftPointer), RightPointer: (*text)(d.RightPointer), Kind: text(d.Kind),
			Left:  p.excerpt(normalize.FieldAt(d.Field, d.LeftPointer), d.Left, &redacted[multicast.Primary]),
			Right: p.excerpt(normalize.FieldAt(d.Field, d.RightPointer), d.Right, &redacted[right]), Note: text(d.Note),
		}
	}
	return kept
}

func (p *packer) excerpt(field string, e diff.Excerpt, redacted *multicast.Response) text {
	switch {
	case e == "":
		return ""
	case p.redactor.Covers(field):
		return `"` + normalize.Redacted + `"`
	default:
		return text(p.redactor.Excerpt(field, string(e), redacted))
	}
}

func fieldNames(fields []diff.FieldComparison) []text {
	names := make([]text, 0, min(len(fields), keptFields))
	for i := range fields {
		if max(fields[i].Candidate, fields[i].Control) > 0 && len(names) < keptFields {
			names = append(names, text(fields[i].Field))
		}
	}
	return names
}

// Sample returns one stored exchange with its bodies, or ErrNotFound.
func (db *DB) Sample(ctx context.Context, id int64) (*Sample, error) {
	s := &Sample{ID: id}
	var packedHead, packedBodies []byte
	var at int64
	err := db.file.read.QueryRowContext(ctx, `SELECT run, exchange, time, route, result, redactions, head, bodies
		FROM sample WHERE id = ?`, id).
		Scan(&s.Run, &s.Exchange, &at, &s.Route, &s.Result, &s.Redactions, &packedHead, &packedBodies)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("sample %d: %w", id, ErrNotFound)
	}
	if err == nil {
		s.Time = fromMicros(at)
		err = db.packer.unpackHead(s, packedHead, packedBodies)
	}
	if err != nil {
		return nil, fmt.Errorf("read sample %d: %w", id, err)
	}
	return s, nil
}

// unpackHead fills in what head holds, and the bodies unless they are nil.
func (p *packer) unpackHead(s *Sample, packedHead, packedBodies []byte) error {
	raw, err := p.dec.DecodeAll(packedHead, nil)
	if err != nil {
		return fmt.Errorf("decompress head: %w", err)
	}
	var h head
	if err := json.Unmarshal(raw, &h); err != nil {
		return fmt.Errorf("decode head: %w", err)
	}
	h.fill(s)
	if packedBodies == nil {
		return nil
	}
	bodies, err := p.dec.DecodeAll(packedBodies, nil)
	if err != nil {
		return fmt.Errorf("decompress bodies: %w", err)
	}
	take := func(b headBody) (body []byte) {
		if b.Length > 0 && b.Length <= len(bodies) {
			body, bodies = bodies[:b.Length:b.Length], bodies[b.Length:]
		}
		return body
	}
	s.Request.Body = take(h.Request.headBody)
	for i := range s.Responses {
		s.Responses[i].Body = take(h.Responses[i].headBody)
	}
	return nil
}
