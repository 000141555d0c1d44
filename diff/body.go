package diff

import (
	"bytes"
	"crypto/sha256"
	"fmt"

	"shadowdiff/normalize"
)

// bodies compares two bodies after their content codings are undone. Identical bytes are equal whatever their label.
func (f *found) bodies(l, r *normalize.Body) {
	switch {
	case l.Kind == normalize.Digest || r.Kind == normalize.Digest:
		f.digests(l, r)
	case l.Kind == normalize.Empty && r.Kind == normalize.Empty, sameBytes(l, r):
	case l.Root != nil && r.Root != nil && l.Kind == r.Kind:
		f.walk(l.Root, r.Root)
		return
	case r.Kind == normalize.Empty:
		f.body(KindMissing, f.show(l), "", notes(l, r, ""))
	case l.Kind == normalize.Empty:
		f.body(KindExtra, "", f.show(r), notes(l, r, ""))
	case l.Root != nil || r.Root != nil:
		f.body(KindContent, f.show(l), f.show(r), notes(l, r, l.Kind.String()+" against "+r.Kind.String()))
	case l.Kind == normalize.Text && r.Kind == normalize.Text:
		left, right, note := lines(sane(string(l.Bytes)), sane(string(r.Bytes)), f.limits.Excerpt)
		if left == right {
			note = firstByte(l.Bytes, r.Bytes)
		}
		f.body(KindValue, left, right, notes(l, r, note))
		f.countWords(string(normalize.FieldBody), string(l.Bytes), string(r.Bytes))
	default:
		f.body(KindValue, f.digest(l), f.digest(r), notes(l, r, firstByte(l.Bytes, r.Bytes)))
	}
}

// sameBytes tells whether two bodies are the same, in UTF-8 or as they were sent, if no rule has changed one.
func sameBytes(l, r *normalize.Body) bool {
	return bytes.Equal(l.Bytes, r.Bytes) || !l.Changed && !r.Changed && bytes.Equal(sent(l), sent(r))
}

func sent(b *normalize.Body) []byte {
	if b.Sent != nil {
		return b.Sent
	}
	return b.Bytes
}

// digests compares bodies of which at least one is known by length and hash only.
func (f *found) digests(l, r *normalize.Body) {
	switch {
	case l.Size != r.Size:
		f.body(KindLength, f.digest(l), f.digest(r), notes(l, r, "compared by length and hash"))
	case hashOf(l) != hashOf(r):
		f.body(KindValue, f.digest(l), f.digest(r), notes(l, r, "compared by length and hash"))
	}
}

// body adds a difference of whole bodies. There is nothing in the left one then that could have drifted.
func (f *found) body(kind Kind, l, r Excerpt, note string) {
	f.noDrift = true
	d := Difference{Field: string(normalize.FieldBody), Kind: kind, Left: l, Right: r, Note: note}
	whole := ""
	if kind != KindExtra {
		d.LeftPointer = &whole
	}
	if kind != KindMissing {
		d.RightPointer = &whole
	}
	f.add(d)
}

// show is a body's value or its text, or what is known of it.
func (f *found) show(b *normalize.Body) Excerpt {
	switch b.Kind {
	case normalize.JSON:
		return excerptOf(b.Root, f.limits.Excerpt)
	case normalize.Binary, normalize.Digest:
		return f.digest(b)
	default:
		return excerptOfText(string(b.Bytes[:min(len(b.Bytes), f.limits.Excerpt)]), f.limits.Excerpt)
	}
}

func (f *found) digest(b *normalize.Body) Excerpt {
	return excerptOfText(normalize.Describe(b.Size, b.Bytes, hashOf(b)), f.limits.Excerpt)
}

func hashOf(b *normalize.Body) [sha256.Size]byte {
	if b.Kind == normalize.Digest {
		return b.Hash
	}
	return sha256.Sum256(b.Bytes)
}

func firstByte(l, r []byte) string {
	at := 0
	for at < min(len(l), len(r)) && l[at] == r[at] {
		at++
	}
	return fmt.Sprintf("byte %d is the first that differs", at+1)
}

// notes adds what the bodies' readers had to say.
func notes(l, r *normalize.Body, note string) string {
	if l.Note != "" && l.Note == r.Note {
		return normalize.JoinNotes(note, "both: "+l.Note)
	}
	if l.Note != "" {
		note = normalize.JoinNotes(note, "left: "+l.Note)
	}
	if r.Note != "" {
		note = normalize.JoinNotes(note, "right: "+r.Note)
	}
	return note
}
