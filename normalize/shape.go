package normalize

// Shape is the class of a value: two values of one JSON type but of different shapes differ in format.
type Shape uint8

// The shapes. What each takes of strings is a table in the tests.
//
// A class must not change by chance, or noise within one kind of token would look like a change of format. So lengths are
// such that a random token falls out of its class rarely: 16 random hex digits are all decimal in 0.05 % of cases and 32
// random letters of base64 have no digit in 0.44 %, while shorter ones of either kind are text always; numbers have no
// exponent, or tokens like 12e45678 would be some; an epoch lies within 1.42 to 2.0 × 10^9 s (2015 to 2033), which takes 6 %
// of random ten-digit strings. What remains is noise like any other: it strikes candidate and secondary alike.
const (
	ShapeNull Shape = iota
	ShapeBool
	ShapeNumber
	ShapeArray
	ShapeObject
	ShapeEmpty   // a string without characters
	ShapeTime    // RFC 3339
	ShapeDate    // 2026-11-30
	ShapeEpoch   // seconds since 1970
	ShapeEpochMS // milliseconds since 1970
	ShapeUUID
	ShapeHex
	ShapeBase64
	ShapeURL
	ShapeEmail
	ShapeNumeric // a string that is a number
	ShapeText    // anything else
)

// String is the shape's word.
func (s Shape) String() string {
	return [...]string{
		"null", "bool", "number", "array", "object", "empty", "time", "date", "epoch in s", "epoch in ms", "UUID", "hex", "base64",
		"URL", "e-mail address", "number in a string", "text",
	}[s]
}

// ShapeOf is the shape of a JSON value.
func ShapeOf(v *Value) Shape {
	switch v.Type {
	case Null:
		return ShapeNull
	case Bool:
		return ShapeBool
	case Number:
		return ShapeNumber
	case Array:
		return ShapeArray
	case Object:
		return ShapeObject
	}
	return ShapeOfText(v.Text)
}

// ShapeOfText is the shape of a header's value, or of another text.
func ShapeOfText(text string) Shape {
	switch {
	case text == "":
		return ShapeEmpty
	case isTime(text):
		return ShapeTime
	case isDate(text):
		return ShapeDate
	case isEpoch(text, 10):
		return ShapeEpoch
	case isEpoch(text, 13):
		return ShapeEpochMS
	case isUUID(text):
		return ShapeUUID
	case isDecimal(text):
		return ShapeNumeric
	case len(text) >= 16 && isHexRun(text):
		return ShapeHex
	case isBase64(text):
		return ShapeBase64
	case isURL(text):
		return ShapeURL
	case isEmail(text):
		return ShapeEmail
	}
	return ShapeText
}
