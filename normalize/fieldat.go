package normalize

import "strings"

// FieldAt is a field of a body with the keys that its name leaves out though they do not look like ids, as those of an
// object with many members: pointer has them as they were sent. Without one, or where nothing is left out, it is the field
// itself. What is to be redacted goes by these keys.
func FieldAt(field string, pointer *string) string {
	if pointer == nil || !strings.Contains(field, ".{}") {
		return field
	}
	pattern, err := ParseField(field)
	if err != nil || pattern.root != "body" {
		return field
	}
	unescape := strings.NewReplacer("~1", "/", "~0", "~")
	for i, token := range strings.Split(*pointer, "/") {
		if i == 0 {
			continue // before the first slash
		}
		if i > len(pattern.segments) {
			break
		}
		s := &pattern.segments[i-1]
		if key := unescape.Replace(token); s.kind == stepIDKey && !FoldsKey(key) {
			*s = segment{kind: stepKey, key: textOf(key)}
		}
	}
	return pattern.String()
}
