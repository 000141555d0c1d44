package normalize

import (
	"net/netip"
	"net/url"
	"strings"
)

const (
	maxPath     = 240 // bytes of a path in a name
	maxSegments = 24
	maxSegment  = 64 // bytes; a longer one is no word of an API

	idSegment   = "{id}" // in place of what looks like an id, or is one of too many
	restSegment = "*"    // in place of all that is left
)

// appendShape appends a path, the slash before it included, with what looks like an id replaced by {id}. A path with more
// in it than a name may hold ends in /*.
func appendShape(out []byte, path string) []byte {
	start := len(out)
	count := 0
	for segment := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		mark := len(out)
		out = appendSegment(append(out, '/'), segment)
		count++
		if len(out)-start > maxPath || count > maxSegments {
			return append(out[:mark], "/"+restSegment...)
		}
	}
	return out
}

// pathOf is the path of a request target in any of HTTP's forms.
func pathOf(target string) string {
	if end := strings.IndexAny(target, "?#"); end >= 0 {
		target = target[:end]
	}
	if !strings.HasPrefix(target, "/") {
		if _, rest, ok := strings.Cut(target, "://"); ok {
			_, target, _ = strings.Cut(rest, "/")
		}
	}
	return target
}

// appendSegment appends one segment's part of the name. Path parameters behind a semicolon (;jsessionid=…) do not count.
func appendSegment(out []byte, segment string) []byte {
	segment, _, _ = strings.Cut(segment, ";")
	plain := segment
	if strings.IndexByte(segment, '%') >= 0 && len(segment) <= 3*maxSegment {
		if decoded, err := url.PathUnescape(segment); err == nil {
			plain = decoded
		}
	}
	if len(plain) > maxSegment || isID(plain) {
		return append(out, idSegment...)
	}
	if dot := strings.IndexByte(plain, '.'); dot > 0 {
		return appendDotted(out, plain)
	}
	return appendPrintable(out, plain)
}

// appendDotted appends a file's name, such as 17.json or app.8f14e45f.js, in which each part may be an id. Short numbers
// may be a version's, like 1.2, unless what follows is an extension.
func appendDotted(out []byte, segment string) []byte {
	last := strings.LastIndexByte(segment, '.')
	extension := segment[last+1:]
	if stem := segment[:last]; isID(stem) && isExtension(extension) {
		return appendPrintable(append(out, idSegment+"."...), extension)
	}
	for i, part := range strings.Split(segment, ".") {
		if i > 0 {
			out = append(out, '.')
		}
		if isUUID(part) || isHex(part, 8) && !isInteger(part) || isRandom(part) {
			out = append(out, idSegment...)
		} else {
			out = appendPrintable(out, part)
		}
	}
	return out
}

func isExtension(s string) bool {
	if len(s) == 0 || len(s) > 5 || isDigit(s[0]) {
		return false
	}
	return isAlphanumeric(s)
}

func isAlphanumeric(s string) bool {
	for i := range len(s) {
		if c := s[i] | 0x20; !isDigit(s[i]) && (c < 'a' || c > 'z') {
			return false
		}
	}
	return true
}

// appendPrintable appends a segment with all but printable ASCII percent-encoded, braces too: they mark what was replaced.
func appendPrintable(out []byte, segment string) []byte {
	const hex = "0123456789ABCDEF"
	for i := range len(segment) {
		if c := segment[i]; isPlain(c) {
			out = append(out, c)
		} else {
			out = append(out, '%', hex[c>>4], hex[c&0xF])
		}
	}
	return out
}

func isPlain(c byte) bool {
	switch c {
	case '%', '{', '}', '/', '?', '#', '*', '"', '<', '>', '\\':
		return false
	}
	return ' ' < c && c < 0x7F
}

// isID tells whether a segment looks like the id of one thing.
func isID(s string) bool {
	if s == "" {
		return false
	}
	if c := s[0]; isDigit(c) || c == '-' {
		if isInteger(s) || isDate(s) || isTime(s) || isNumberList(s) {
			return true
		}
	}
	if isHex(s, 8) {
		return true
	}
	if len(s) < 16 && !isMarked(s) { // as most are: too short for any of these
		return false
	}
	return isUUID(s) || isULID(s) || isRandom(s) || isEmail(s) || isDigest(s) || isAddress(s) || isBase64(s)
}

// isMarked tells whether a segment has a character that an e-mail address, a digest or an IP address must have.
func isMarked(s string) bool {
	for i := range len(s) {
		switch s[i] {
		case '@', ':', '.':
			return true
		}
	}
	return false
}

// isNumberList tells whether a segment is whole numbers with commas between them.
func isNumberList(s string) bool {
	if strings.IndexByte(s, ',') < 0 {
		return false
	}
	for part := range strings.SplitSeq(s, ",") {
		if !isInteger(part) {
			return false
		}
	}
	return true
}

// isULID tells whether a segment is a ULID: 26 digits in Crockford's base 32, the first of them at most 7.
func isULID(s string) bool {
	if len(s) != 26 || s[0] < '0' || s[0] > '7' {
		return false
	}
	for i := range len(s) {
		c := s[i] | 0x20
		if !isDigit(s[i]) && (c < 'a' || c > 'z' || c == 'i' || c == 'l' || c == 'o' || c == 'u') {
			return false
		}
	}
	return true
}

// isDigest tells whether a segment is a hash with its algorithm in front, sha256:….
func isDigest(s string) bool {
	algorithm, sum, ok := strings.Cut(s, ":")
	return ok && isAlphanumeric(algorithm) && len(sum) >= 16 && isHexRun(sum)
}

// isAddress tells whether a segment is an IP address.
func isAddress(s string) bool {
	if strings.Count(s, ".") != 3 && strings.Count(s, ":") < 2 {
		return false
	}
	_, err := netip.ParseAddr(s)
	return err == nil
}

// isRandom tells whether a segment looks like a random token: at least 16 letters and digits (dashes and underscores
// aside), a digit among them, which change so often between digits, small and capital letters (a capital that begins
// a word does not count twice) as no name does.
func isRandom(s string) bool {
	if len(s) < 16 {
		return false
	}
	var digits, letters, changes int
	var before byte
	for i := range len(s) {
		c := s[i]
		var class byte
		switch {
		case isDigit(c):
			class = '0'
			digits++
		case 'a' <= c && c <= 'z':
			class = 'a'
		case 'A' <= c && c <= 'Z':
			class = 'A'
		case c != '-' && c != '_':
			return false
		}
		if class != 0 {
			letters++
			if before != 0 && class != before && (before != 'A' || class != 'a') {
				changes++
			}
		}
		before = class
	}
	return digits >= 1 && letters >= 14 && 4*changes >= letters
}
