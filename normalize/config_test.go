package normalize

import (
	"testing"

	"go.yaml.in/yaml/v4"
)

// The configuration file's strict reader leaves unknown verbs to Validate, which knows the nearest.
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
    pattern: "[0-9]+"
`
	file := struct {
		Normalize Config `yaml:",inline"`
	}{DefaultConfig()}
	if err := yaml.Load([]byte(text), &file, yaml.WithKnownFields()); err != nil {
		t.Fatal(err)
	}
	cfg := file.Normalize
	if len(cfg.Rules) != 5 || cfg.Rules[1].Route != "GET /search" || cfg.Headers.Compare[0] != "Date" || cfg.MaxDecoded != 8<<20 {
		t.Errorf("%+v", cfg)
	}
	faults := cfg.Validate()
	if len(faults) != 2 || faults[0].Error() != "rules[3].dropp: unknown key: did you mean drop?" || faults[1].Error() != "rules[4].mask: not yet supported" {
		t.Errorf("%v", faults)
	}
}
