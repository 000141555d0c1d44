package web

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"shadowdiff/diff"
	"shadowdiff/normalize"
	"shadowdiff/store"
)

const (
	byteRow   = 8  // bytes that one line shows: three such lines fit beside one another, and one on a phone
	byteLines = 16 // lines that are shown around the first byte that differs
)

// bytes lays out bodies that are no text: what they are, and the bytes about the first that differs.
func (l *layout) bytes(sample *store.Sample) {
	l.As = "bytes"
	differs := [3]diff.Level{control: bodyLevel(sample.Control), candidate: bodyLevel(sample.Candidate)}
	var bodies [3][]byte
	for side, role := range storedRole {
		bodies[side] = sample.Responses[role].Body
	}
	for _, fact := range byteFacts(sample, l.Gone) {
		l.Lines = append(l.Lines, byteLine(fact.name, fact.text, l.Gone, differs))
	}
	first := firstByte(bodies, l.Gone)
	if first >= 0 {
		l.Notes = append(l.Notes, fmt.Sprintf("The first byte that differs is at %s (0x%x).", count(int64(first)), first))
	}
	from := max(first/byteRow-byteLines/3, 0) * byteRow
	for at := from; at < from+byteLines*byteRow; at += byteRow {
		var text [3]string
		for side, body := range bodies {
			text[side] = dumped(body, at)
		}
		if text != [3]string{} {
			l.Lines = append(l.Lines, byteLine(fmt.Sprintf("%08x", at), text, l.Gone, differs))
		}
	}
	for i := range l.Lines {
		if m := l.Lines[i].Mark; m != unmarked && m != markFree && l.Stops == 0 {
			l.Stops, l.Lines[i].Stop = 1, 1
		}
	}
}

type byteFact struct {
	name string
	text [3]string
}

// byteFacts are what can be said of bytes: type, length and hash.
func byteFacts(sample *store.Sample, gone [3]bool) []byteFact {
	facts := []byteFact{{name: "type"}, {name: "length"}, {name: "sha256"}}
	for side, role := range storedRole {
		resp := &sample.Responses[role]
		if gone[side] {
			continue
		}
		media := normalize.SniffedType(resp.Body)
		if media == "" {
			media = resp.Header.Get("Content-Type")
		}
		facts[0].text[side] = media
		length, sum := int64(len(resp.Body)), sha256.Sum256(resp.Body)
		if resp.Over {
			length, sum = resp.Size, resp.Hash
		}
		facts[1].text[side] = count(length) + " bytes"
		facts[2].text[side] = hex.EncodeToString(sum[:])
	}
	return facts
}

// byteLine marks what is unlike the primary's.
func byteLine(key string, text [3]string, gone [3]bool, differs [3]diff.Level) line {
	l := line{Key: key}
	var has [3]bool
	for side := range text {
		if gone[side] {
			text[side] = text[primary]
		}
		has[side] = text[side] != ""
	}
	l.judge(text, has, differs)
	return l
}

// firstByte is the place of the first byte at which the bodies are not all alike, −1 where there is none.
func firstByte(bodies [3][]byte, gone [3]bool) int {
	first := -1
	for side := range bodies {
		if side == primary || gone[side] || gone[primary] || bytes.Equal(bodies[side], bodies[primary]) {
			continue
		}
		if at := common(string(bodies[side]), string(bodies[primary])); first < 0 || at < first {
			first = at
		}
	}
	return first
}

// dumped is a row of bytes in hex and as characters.
func dumped(body []byte, at int) string {
	if at >= len(body) {
		return ""
	}
	row := body[at:min(at+byteRow, len(body))]
	chars := make([]byte, len(row))
	for i, b := range row {
		chars[i] = '.'
		if b >= ' ' && b < 0x7f {
			chars[i] = b
		}
	}
	return fmt.Sprintf("%-*s %s", byteRow*3, fmt.Sprintf("% x", row), chars)
}
