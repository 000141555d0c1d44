package normalize

// Shape is the class of a value: two values of one JSON type but of different shapes differ in format.
type Shape uint8

// The shapes; ShapeTable says what each takes.
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

// ShapeRow tells what one shape of strings takes.
type ShapeRow struct {
	Shape      Shape
	Least      int      // characters
	Expression string   // RE2, on the whole string
	Also       string   // what the expression cannot say
	Examples   []string // that it takes
	Others     []string // near misses that it does not take
}

// ShapeTable lists the shapes of strings in the order in which they are tried: the first that takes a string is its shape.
//
// A class must not change by chance, or noise within one kind of token would look like a change of format. So lengths are
// such that a random token falls out of its class rarely: 16 random hex digits are all decimal in 0.05 % of cases and 32
// random letters of base64 have no digit in 0.44 %, while shorter ones of either kind are text always; numbers have no
// exponent, or tokens like 12e45678 would be some; an epoch lies within 1.42 to 2.0 × 10^9 s (2015 to 2033), which takes 6 %
// of random ten-digit strings. What remains is noise like any other: it strikes candidate and secondary alike.
func ShapeTable() []ShapeRow {
	return []ShapeRow{
		{ShapeEmpty, 0, `^$`, "", []string{""}, []string{" "}},
		{
			ShapeTime, 20,
			`^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?([Zz]|[+-][0-9]{2}:[0-9]{2})$`,
			"month, day, hour, minute and second within their bounds",
			[]string{"2026-11-30T10:41:07Z", "2026-11-30T10:41:07.123456789+01:00", "2016-12-31 23:59:60Z", "1970-01-01t00:00:00z"},
			[]string{"2026-11-30T10:41:07", "2026-13-30T10:41:07Z", "2026-11-30T24:41:07Z", "2026-11-30T10:41:07.Z", "2026-11-30T10:41:07+0100"},
		},
		{
			ShapeDate, 10, `^[0-9]{4}-[0-9]{2}-[0-9]{2}$`, "month and day within their bounds",
			[]string{"2026-11-30", "1999-01-01"},
			[]string{"2026-11-31x", "2026-00-10", "30.11.2026", "2026-11-32"},
		},
		{ShapeEpoch, 10, `^1[4-9][0-9]{8}$`, "from 1420000000 on", []string{"1764499267", "1420000000", "1999999999"}, []string{"1419999999", "2015551234", "764499267"}},
		{ShapeEpochMS, 13, `^1[4-9][0-9]{11}$`, "from 1420000000000 on", []string{"1764499267123"}, []string{"1419999999999", "2764499267123", "17644992671234"}},
		{
			ShapeUUID, 36, `^[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}$`, "",
			[]string{"8f14e45f-ceea-467f-9575-1c2a5d1e3b0a", "8F14E45F-CEEA-467F-9575-1C2A5D1E3B0A"},
			[]string{"8f14e45fceea-467f-9575-1c2a-5d1e3b0ax", "{8f14e45f-ceea-467f-9575-1c2a5d1e3b0a}"},
		},
		{
			ShapeNumeric, 1, `^-?[0-9]+(\.[0-9]+)?$`, "",
			[]string{"0", "-12.50", "007", "9007199254740993", "12345678901234567890"},
			[]string{"1e5", ".5", "+1", "1,000", "12 "},
		},
		{
			ShapeHex, 16, `^([0-9a-f]+|[0-9A-F]+)$`, "",
			[]string{"8f14e45fceea467f", "D41D8CD98F00B204E9800998ECF8427E", "abcdefabcdefabcd"},
			[]string{"8f14e45f", "8f14e45fceea46zz", "8f14e45fCEEA467F"},
		},
		{
			ShapeBase64, 16, `^[0-9A-Za-z+/_-]+={0,2}$`,
			"a capital and a small letter among them; padded to a multiple of 4, or at least 32 long and with a digit, + or /",
			[]string{"q83vEjRWeJCrze8SNFZ4kA==", "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9", "YWJjZGVmZ2hpamtsbW5vcHFyc3R1dnd4eXowMTIz"},
			[]string{"q83vEjRWeJCrze8S", "aVeryLongCamelCaseIdentifierIndeed", "q83vEjRWeJCrze8SNFZ4kA=", "a-very-long-slug-of-a-page-from-2026"},
		},
		{
			ShapeURL, 5, `^[A-Za-z][0-9A-Za-z+.-]*://[^\s]+$`, "at most 31 characters before the colon",
			[]string{"https://example.com/a?b=c", "s3://bucket/key", "http://[::1]:8080/"},
			[]string{"/a/b", "mailto:a@example.com", "https:// example.com", "://x"},
		},
		{
			ShapeEmail, 5, `^[^\s@]+@[^\s@]+\.[^\s@.]+$`, "at most 254 bytes",
			[]string{"ada@example.com", "a.b+c@mail.example.org"},
			[]string{"@example.com", "ada@localhost", "a@b@example.com", "Ada <ada@example.com>"},
		},
		{ShapeText, 1, `^(?s:.+)$`, "whatever is left", []string{"Ada", "hello world", "12 apples", "GET /users/{id}", "d41d8cd9", "\x00"}, []string{""}},
	}
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
