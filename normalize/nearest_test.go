package normalize

import "testing"

func TestTheNearestName(t *testing.T) {
	t.Parallel()
	choices := []string{"primary", "secondary", "candidate", "sample", "listen", "shadow", "server", "store"}
	for word, want := range map[string]string{
		"primry": "primary", "candiate": "candidate", "sampel": "sample", "SHADOW": "shadow", "sec": "secondary",
		"x": "", "": "", "elephant": "", "stroe": "store", "simpel": "sample", "stripe": "",
	} {
		if got := Nearest(word, choices); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", word, got, want)
		}
	}
}
