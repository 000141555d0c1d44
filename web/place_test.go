package web

import "testing"

// Of a value that a list quotes nothing is changed but the room between its parts.
func TestJSONHasRoomToBreak(t *testing.T) {
	for value, want := range map[string]string{
		`{"a":[1,2],"b":{"c":null}}`: `{"a": [1, 2], "b": {"c": null}}`,
		`["a,b:c","\\",1]`:           `["a,b:c", "\\", 1]`,
		`{"say \"a,b\"":1,"x":"y`:    `{"say \"a,b\"": 1, "x": "y`,
		`["ends in \\`:               `["ends in \\`,
		`"text, with: signs"`:        `"text, with: signs"`,
		`12,5`:                       `12,5`,
		``:                           ``,
	} {
		if got := spaced(value); got != want {
			t.Errorf("%s is shown as %s, want %s", value, got, want)
		}
	}
}
