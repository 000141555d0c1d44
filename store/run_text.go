package store

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// What a run may be told, in characters.
const (
	maxRunName    = 100
	maxRunVersion = 64
	maxRunNotes   = 4000
)

// ErrRunText is what the errors wrap that find a name, a version or notes to be none.
var ErrRunText = errors.New("not usable")

func (b *Beginning) validate() error {
	var faults []error
	for _, name := range []string{b.Name, b.Asked} {
		if name != "" {
			faults = append(faults, ValidRunName(name))
		}
	}
	return errors.Join(append(faults, ValidVersion(b.Version), validNotes(b.Notes))...)
}

// ValidRunName tells whether a run may be called so. A name that is a number would be taken for an id.
func ValidRunName(name string) error {
	switch {
	case name == "" || strings.TrimSpace(name) != name:
		return fmt.Errorf("name %q: is empty, or begins or ends with a space: %w", name, ErrRunText)
	case name == "current":
		return fmt.Errorf("name %q: means the run in force: %w", name, ErrRunText)
	case isRunID(name):
		return fmt.Errorf("name %q: would be taken for the id of a run; put a word before it, such as \"build %s\": %w", name, name, ErrRunText)
	}
	return validText("name", name, maxRunName)
}

// isRunID tells whether a text, where a run is meant, is taken for its id: -5, too.
func isRunID(ref string) bool {
	_, err := strconv.ParseInt(ref, 10, 64)
	return err == nil || strings.Trim(ref, "0123456789") == ""
}

// ValidVersion tells whether a text is one that may be the version of a candidate; the empty one is.
func ValidVersion(version string) error { return validText("version", version, maxRunVersion) }

func validNotes(notes string) error {
	return validText("notes", strings.NewReplacer("\n", "", "\r", "", "\t", "").Replace(notes), maxRunNotes)
}

// validText holds a text to its length, and to characters that can be seen.
func validText(what, text string, most int) error {
	switch n := utf8.RuneCountInString(text); {
	case n > most:
		return fmt.Errorf("%s: has %d characters, more than %d: %w", what, n, most, ErrRunText)
	case !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }):
		return fmt.Errorf("%s %q: holds characters that cannot be shown: %w", what, text, ErrRunText)
	}
	return nil
}
