package normalize

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Likeness is what two different values at one place have in common, as far as a rule could go by it.
type Likeness uint8

const (
	Unlike        Likeness = iota // types differ, or they are no scalars
	AnyText                       // two strings of which nothing more can be said
	LikeBool                      // two booleans
	LikeNumber                    // two numbers
	LikeTime                      // two times or dates in one form, as RFC 3339 writes them or nearly so
	LikeWebTime                   // two times as HTTP writes them
	LikeEpoch                     // two numbers of seconds, or of milliseconds, since 1970
	LikeEpochText                 // two such numbers in strings
	LikeUUID                      // two UUIDs
	LikeHex                       // two runs of hex digits
	LikeBase64                    // two tokens of base64
	LikeDigits                    // two numbers in strings
	UUIDInside                    // two texts that are the same but for the UUIDs in them
	TimeInside                    // likewise for times
	HexInside                     // likewise for runs of 16 hex digits and more
	DigitsInside                  // likewise for decimal digits
	OtherOrder                    // two arrays that differ in order alone
	OneNull                       // null against something else
	NullMissing                   // null against nothing
	EmptyMissing                  // an empty string, array or object against nothing
	OneMissing                    // something else against nothing
	likenesses
)

// Likenesses is how many there are.
const Likenesses = int(likenesses)

// String says in words what both sides are.
func (k Likeness) String() string {
	return [...]string{
		"values of different types", "texts", "booleans", "numbers", "times", "HTTP dates", "times since 1970", "times since 1970, in strings", "UUIDs", "hex digits", "base64 tokens",
		"numbers in strings", "texts that differ in UUIDs alone", "texts that differ in times alone", "texts that differ in hex digits alone",
		"texts that differ in digits alone", "arrays in another order", "null or a value", "null or missing", "empty or missing", "a value or missing",
	}[k]
}

// likenessMost is how long a text may be, in bytes, for a look at what stands inside of it.
const likenessMost = 4 << 10

// LikenessOf is the likeness of two values that differ; nil is a side that has none.
func LikenessOf(l, r *Value) Likeness {
	switch {
	case l == nil || r == nil:
		return missingLikeness(l, r)
	case l.Type == Null || r.Type == Null:
		return OneNull
	case l.Type != r.Type:
		return Unlike
	}
	switch l.Type {
	case Bool:
		return LikeBool
	case Number:
		if sameEpoch(l.Text, r.Text) {
			return LikeEpoch
		}
		return LikeNumber
	case String:
		return textLikeness(l, r)
	}
	return Unlike
}

func missingLikeness(l, r *Value) Likeness {
	if l == nil {
		l = r
	}
	switch {
	case l == nil:
		return Unlike
	case l.Type == Null:
		return NullMissing
	case l.Type == String && l.Text == "", l.Type == Array && len(l.Items) == 0, l.Type == Object && len(l.Members) == 0:
		return EmptyMissing
	}
	return OneMissing
}

func sameEpoch(l, r string) bool {
	return isEpoch(l, 10) && isEpoch(r, 10) || isEpoch(l, 13) && isEpoch(r, 13)
}

func textLikeness(l, r *Value) Likeness {
	both := func(is func(string) bool) bool { return is(l.Text) && is(r.Text) }
	switch {
	case sameEpoch(l.Text, r.Text):
		return LikeEpochText
	case both(isUUID):
		return LikeUUID
	case both(isDecimal):
		return LikeDigits
	case both(isHexID) && len(l.Text) == len(r.Text):
		return LikeHex
	case both(isBase64ID):
		return LikeBase64
	}
	if k := timeLikeness(l, r); k != AnyText {
		return k
	}
	if max(len(l.Text), len(r.Text)) <= likenessMost {
		switch {
		case sameButFor(uuidAt, l.Text, r.Text):
			return UUIDInside
		case sameButFor(timeAt, l.Text, r.Text):
			return TimeInside
		case sameButFor(hexAt, l.Text, r.Text):
			return HexInside
		case sameButFor(digitsAt, l.Text, r.Text):
			return DigitsInside
		}
	}
	return AnyText
}

func timeLikeness(l, r *Value) Likeness {
	a, ok := readTime(l)
	if !ok {
		return AnyText
	}
	switch b, ok := readTime(r); {
	case !ok || a.form != b.form:
		return AnyText
	case a.form == formHTTP:
		return LikeWebTime
	}
	return LikeTime
}

// isHexID tells whether a text may be a random token of hex digits in one case: six at least, a decimal one among them.
func isHexID(text string) bool {
	return len(text) >= 6 && isHexRun(text) && strings.ContainsAny(text, "0123456789")
}

// isBase64ID is less strict than the shape: by chance a random token may have no digit in it, or no capital.
func isBase64ID(text string) bool {
	body := strings.TrimRight(text, "=")
	if len(body) < 16 || len(text)-len(body) > 2 {
		return false
	}
	lower, upper := false, false
	for i := range len(body) {
		switch c := body[i]; {
		case 'a' <= c && c <= 'z':
			lower = true
		case 'A' <= c && c <= 'Z':
			upper = true
		case !isDigit(c) && c != '+' && c != '/' && c != '-' && c != '_':
			return false
		}
	}
	return lower && upper
}

// tokenAt is the length of the token of one kind that a text begins with, 0 where it begins with none.
type tokenAt func(text string) int

func uuidAt(text string) int {
	if len(text) >= 36 && isUUID(text[:36]) {
		return 36
	}
	return 0
}

func hexAt(text string) int {
	n := 0
	for n < len(text) && (isDigit(text[n]) || 'a' <= text[n] && text[n] <= 'f') {
		n++
	}
	if n < 16 {
		return 0
	}
	return n
}

func digitsAt(text string) int {
	n := 0
	for n < len(text) && isDigit(text[n]) {
		n++
	}
	return n
}

// timeAt takes what patternTime takes.
func timeAt(text string) int {
	if len(text) < 20 || !fits(text[:10], "0000-00-00") || text[10] != 'T' && text[10] != ' ' || !fits(text[11:19], "00:00:00") {
		return 0
	}
	n := 19
	if text[n] == '.' && digitsAt(text[n+1:]) > 0 {
		n += 1 + digitsAt(text[n+1:])
	}
	switch rest := text[n:]; {
	case strings.HasPrefix(rest, "Z"):
		return n + 1
	case len(rest) >= 6 && (fits(rest[:6], "+00:00") || fits(rest[:6], "-00:00")):
		return n + 6
	}
	return 0
}

// sameButFor tells whether two texts are the same once each token of one kind is taken for the same.
func sameButFor(token tokenAt, l, r string) bool {
	seen := false
	for l != "" && r != "" {
		n, m := token(l), token(r)
		switch {
		case n > 0 && m > 0:
			seen = true
		case n == 0 && m == 0 && l[0] == r[0]:
			n, m = plainAt(l), plainAt(r)
			n = min(n, m)
			if l[:n] != r[:n] {
				return false
			}
			m = n
		default:
			return false
		}
		l, r = l[n:], r[m:]
	}
	return seen && l == r
}

// plainAt is the length of what a token cannot begin within: one character.
func plainAt(text string) int {
	_, n := utf8.DecodeRuneInString(text)
	return n
}

// The expressions of tokens, as mask rules take them.
const (
	patternUUID    = `[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}`
	patternTime    = `[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})`
	patternWebTime = `^([A-Z][a-z]{2}, ?)?[0-9]{1,2}[ -][A-Z][a-z]{2}[ -][0-9]{4} [0-9]{2}:[0-9]{2}(:[0-9]{2})? [0-9A-Z+-]+$`
	patternISO     = `^[0-9]{4}-?[0-9]{2}-?[0-9]{2}([Tt ][0-9:]+([.,][0-9]+)?( ?([Zz]|UTC|GMT|[+-][0-9:]+))?)?$`
)

// Mask is the expression of a mask rule that makes values of such a likeness equal and leaves others as they are, and what
// stands in their place; tokens are least to most characters long. It is "" where no mask does.
func (k Likeness) Mask(least, most int) (pattern, with string) {
	switch k {
	case LikeUUID:
		return "^" + patternUUID + "$", "<uuid>"
	case UUIDInside:
		return patternUUID, "<uuid>"
	case LikeTime:
		return patternISO, "<time>"
	case LikeWebTime:
		return patternWebTime, "<time>"
	case TimeInside:
		return patternTime, "<time>"
	case LikeEpochText:
		if least == most { // seconds are not to stand for milliseconds
			return fmt.Sprintf("^1[0-9]{%d}$", least-1), "<time>"
		}
	case LikeHex:
		return "^[0-9A-Fa-f]" + times(least, most) + "$", "<hex>"
	case LikeBase64:
		return "^[0-9A-Za-z+/_-]" + times(least, most) + "={0,2}$", "<base64>"
	case HexInside:
		return "[0-9a-f]{16,}", "<hex>"
	case LikeDigits:
		return `^-?[0-9]+(\.[0-9]+)?$`, "<number>"
	case DigitsInside:
		return "[0-9]+", "<number>"
	}
	return "", ""
}

// times is a repetition in an expression. RE2 repeats at most a thousand times; what is longer has no upper bound here.
func times(least, most int) string {
	const mostTimes = 1_000
	switch {
	case most > mostTimes:
		return fmt.Sprintf("{%d,}", min(least, mostTimes))
	case least == most:
		return fmt.Sprintf("{%d}", least)
	}
	return fmt.Sprintf("{%d,%d}", least, most)
}

// TokenLength is the length that Mask goes by: of a base64 token without its padding.
func (k Likeness) TokenLength(v *Value) int {
	if k == LikeBase64 {
		return len(strings.TrimRight(v.Text, "="))
	}
	return len(v.Text)
}
