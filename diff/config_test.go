package diff

import (
	"testing"
	"time"

	"go.yaml.in/yaml/v4"
)

func TestDefaultConfigIsValidAndAsDocumented(t *testing.T) {
	cfg := DefaultConfig()
	if faults := cfg.Validate(); faults != nil {
		t.Errorf("%v", faults)
	}
	var read Config
	if err := yaml.Unmarshal([]byte("{alpha: 0.05, budget: 0.1%, strict: false, min_compared: 1000, min_duration: 0s, max_latency_ratio: 0}"), &read); err != nil {
		t.Fatal(err)
	}
	same(t, "the documented defaults", read, cfg)
	same(t, "the budget as a part of one", cfg.budget(), 0.001)
}

func TestConfigNamesEveryFault(t *testing.T) {
	faults := Config{Alpha: 1, MinCompared: -1, MinDuration: -time.Second, MaxLatencyRatio: -1}.Validate()
	want := []string{
		"verdict.alpha: 1 is not between 0.000000001 and 0.5",
		`verdict.budget: must be above 0%: no number of requests proves that nothing ever differs ("strict: true" makes any confirmed difference count)`,
		"verdict.min_compared: -1 is below 0",
		"verdict.min_duration: -1s is below 0",
		"verdict.max_latency_ratio: -1 is not between 0.1 and 1000 (or 0: latency is not judged)",
	}
	var got []string
	for _, f := range faults {
		got = append(got, f.Error())
	}
	same(t, "faults", got, want)
	cfg := DefaultConfig()
	cfg.Budget = 100_000
	same(t, "a budget of all", cfg.Validate()[0].Error(), "verdict.budget: must be below 100%")
}
