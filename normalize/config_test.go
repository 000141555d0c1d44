package normalize

import (
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// The configuration file's strict reader leaves unknown verbs to Validate, which knows the nearest. What may be written in several
// ways is one afterwards.
func TestConfigurationFromYAML(t *testing.T) {
	text := `
headers: {ignore: [X-Noise], compare: [Date]}
rules:
  - drop: body.generated_at
  - sort: body.items[].tags
    route: GET /search
  - drop: header.x-new
    role: candidate
  - dropp: body.x
  - mask: body.y
    pattern: "[0-9]+("
  - pair: body.items
    by: id
  - pair: body.items
    by: [region, id]
  - round: body.price
    to: 2
  - {tolerate: body.price, within: 1%}
  - {mask: body.y, pattern: "[0-9]+", with: ""}
  - {absent: body, when: 0}
  - {absent: body, when: empty}
  - {absent: body, when: {a: [1.50, "x", true, ~]}}
`
	file := struct {
		Normalize Config `yaml:",inline"`
	}{DefaultConfig()}
	if err := yaml.Load([]byte(text), &file, yaml.WithKnownFields()); err != nil {
		t.Fatal(err)
	}
	cfg := file.Normalize
	if len(cfg.Rules) != 13 || cfg.Rules[1].Route != "GET /search" || cfg.Headers.Compare[0] != "Date" || cfg.MaxDecoded != 8<<20 {
		t.Errorf("%+v", cfg)
	}
	for _, c := range []struct{ what, got, want string }{
		{"one key", strings.Join(cfg.Rules[5].By, "+"), "id"},
		{"two keys", strings.Join(cfg.Rules[6].By, "+"), "region+id"},
		{"decimals", cfg.Rules[7].To, "2"},
		{"a percentage", cfg.Rules[8].Within, "1%"},
		{"a number", string(cfg.Rules[10].When), "0"},
		{"empty", string(cfg.Rules[11].When), "empty"},
		{"a value", string(cfg.Rules[12].When), `{"a":[1.50,"x",true,null]}`},
	} {
		if c.got != c.want {
			t.Errorf("%s: %q, want %q", c.what, c.got, c.want)
		}
	}
	if with := cfg.Rules[9].With; with == nil || *with != "" {
		t.Error("a mask with nothing is not one without with")
	}
	faults := cfg.Validate()
	if len(faults) != 2 || faults[0].Error() != "rules[3].dropp: unknown key; did you mean \"drop\"?" || faults[1].Error() != "rules[4].pattern: column 7: no RE2 expression: missing closing ): `(`" {
		t.Errorf("%v", faults)
	}
}
