package multicast

import (
	"encoding/json"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

func TestShareText(t *testing.T) {
	for text, want := range map[string]Share{
		"0%": 0, "0.001%": 1, "1%": 1000, "1.0%": 1000, "33.3%": 33_300, "33.333%": 33_333, "99.999%": 99_999, "100%": Whole,
		" 5 %": 5000, "007%": 7000, "1.50000%": 1500,
	} {
		var s Share
		if err := s.UnmarshalText([]byte(text)); err != nil || s != want {
			t.Errorf("%q is %d, %v", text, s, err)
		}
	}
	for _, text := range []string{"", "%", "1", "-1%", "100.001%", "101%", "0.0001%", "1e1%", "1.%x", "NaN%", "1,5%", "½%", "1%%"} {
		var s Share
		err := s.UnmarshalText([]byte(text))
		if err == nil || !strings.Contains(err.Error(), "must be a percentage from 0% to 100% in steps of 0.001%") {
			t.Errorf("%q is %d, %v", text, s, err)
		}
	}
	for share, want := range map[Share]string{0: "0%", 1: "0.001%", 33_300: "33.3%", Whole: "100%"} {
		if share.String() != want {
			t.Errorf("%d is %s, wanted %s", share, share, want)
		}
	}
}

func TestSizeText(t *testing.T) {
	for text, want := range map[string]Size{
		"0": 0, "17": 17, "17B": 17, "1KiB": 1024, "256KiB": 256 << 10, "1MiB": 1 << 20, "1.5MiB": 3 << 19, "2GiB": 2 << 30,
		"1KB": 1000, "1kB": 1000, "3MB": 3e6, "1 GB": 1e9,
	} {
		var s Size
		if err := s.UnmarshalText([]byte(text)); err != nil || s != want {
			t.Errorf("%q is %d, %v", text, s, err)
		}
	}
	for _, text := range []string{"", "B", "-1", "1X", "1.5", "0.3KiB", "99999999999GiB", "1e3", "KiB", "1.KiB"} {
		var s Size
		if err := s.UnmarshalText([]byte(text)); err == nil || !strings.Contains(err.Error(), "KiB, MiB or GiB") {
			t.Errorf("%q is %d, %v", text, s, err)
		}
	}
	for size, want := range map[Size]string{0: "0", 17: "17B", 1024: "1KiB", 1536: "1536B", 64 * MiB: "64MiB", 3 * GiB: "3GiB"} {
		if size.String() != want {
			t.Errorf("%d is %s, wanted %s", int64(size), size, want)
		}
	}
}

func FuzzShare(f *testing.F) {
	for _, seed := range []string{"1%", "33.3%", "0.001%", "100%", "%"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var s, again Share
		if s.UnmarshalText([]byte(text)) != nil {
			return
		}
		if err := again.UnmarshalText([]byte(s.String())); s > Whole || err != nil || again != s {
			t.Errorf("%q is %s, again %s, %v", text, s, again, err)
		}
	})
}

func FuzzSize(f *testing.F) {
	for _, seed := range []string{"1MiB", "1.5KiB", "0", "9223372036854775807", "1e9"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var s, again Size
		if s.UnmarshalText([]byte(text)) != nil {
			return
		}
		if err := again.UnmarshalText([]byte(s.String())); s < 0 || err != nil || again != s {
			t.Errorf("%q is %s, again %s, %v", text, s, again, err)
		}
	})
}

func TestUnitsInJSONAndYAML(t *testing.T) {
	type units struct {
		Share Share `json:"share" yaml:"share"`
		Size  Size  `json:"size" yaml:"size"`
	}
	want := units{33_300, 256 * KiB}
	text, err := json.Marshal(want)
	if err != nil || string(text) != `{"share":"33.3%","size":"256KiB"}` {
		t.Errorf("JSON %s, %v", text, err)
	}
	var fromJSON, fromYAML units
	if err := json.Unmarshal(text, &fromJSON); err != nil || fromJSON != want {
		t.Errorf("from JSON %+v, %v", fromJSON, err)
	}
	if err := yaml.Unmarshal([]byte("share: 33.3%\nsize: 256KiB\n"), &fromYAML); err != nil || fromYAML != want {
		t.Errorf("from YAML %+v, %v", fromYAML, err)
	}
	if err := json.Unmarshal([]byte(`{"share": 1}`), &fromJSON); err == nil || !strings.Contains(err.Error(), "such as 1%") {
		t.Errorf("a bare number: %v", err)
	}
}
