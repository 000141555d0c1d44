package normalize

// Pattern is a field with wildcards, parsed: what a rule or a redaction names.
type Pattern struct {
	text string // canonical
}

// ParseField reads a field or a field with wildcards. Its error names the column, from 1, and the remedy.
func ParseField(text string) (*Pattern, error) { panic("normalize: being built") }

// String is the canonical spelling of the pattern.
func (p *Pattern) String() string { return p.text }
