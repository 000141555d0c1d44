package normalize

// Shape is the class of a value: two values of one JSON type but of different shapes differ in format.
type Shape uint8

// The shapes; see the table in this file for what each takes.
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
func (s Shape) String() string { panic("normalize: being built") }

// ShapeOf is the shape of a JSON value.
func ShapeOf(v *Value) Shape { panic("normalize: being built") }

// ShapeOfText is the shape of a header's value, or of another text.
func ShapeOfText(text string) Shape { panic("normalize: being built") }
