package diff

import "fmt"

// Test is one hypothesis about a field. A level's test counts the requests that differ at this level or above.
type Test uint8

const (
	TestValue Test = iota
	TestFormat
	TestType
	TestPresence
	TestExtent // where both differ: whose places are more
	TestDrift  // candidate greater or less than the secondary
	tests      // how many there are
)

// String is the test's word in the API, where it stands as a difference's kind.
func (t Test) String() string {
	return [...]string{"value", "format", "type", "presence", "extent", "drift"}[t]
}

// MarshalText writes the test's word.
func (t Test) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads the test's word.
func (t *Test) UnmarshalText(b []byte) error {
	for u := range tests {
		if u.String() == string(b) {
			*t = u
			return nil
		}
	}
	return fmt.Errorf("unknown test %q", b)
}
