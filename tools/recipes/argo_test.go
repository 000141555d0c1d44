// Package recipes holds the conditions in deploy to the languages in which others evaluate them.
package recipes

import (
	"os"
	"regexp"
	"testing"

	"github.com/expr-lang/expr"
)

// conditions reads both conditions of the analysis for Argo Rollouts.
func conditions(t *testing.T) (success, failure string) {
	t.Helper()
	text, err := os.ReadFile("../../deploy/argo/analysis.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for name, into := range map[string]*string{"successCondition": &success, "failureCondition": &failure} {
		m := regexp.MustCompile(`(?m)^ +` + name + `: (.+)$`).FindSubmatch(text)
		if m == nil {
			t.Fatalf("there is no %s", name)
		}
		*into = string(m[1])
	}
	return success, failure
}

// Argo Rollouts evaluates both conditions with what jsonPath has taken from the answer, the verdict's word, as result. If
// neither holds, the measurement is inconclusive.
//
// Source: Argo Rollouts, utils/evaluate and metricproviders/webmetric.
func TestTheConditionsForArgoRollouts(t *testing.T) {
	success, failure := conditions(t)
	for word, want := range map[string][2]bool{
		"equivalent": {true, false}, "different": {false, true}, "undecided": {false, false}, "": {false, false},
	} {
		for i, condition := range []string{success, failure} {
			env := map[string]any{"result": word}
			program, err := expr.Compile(condition, expr.Env(env), expr.AsBool())
			if err != nil {
				t.Fatalf("%s: %v", condition, err)
			}
			got, err := expr.Run(program, env)
			if err != nil || got != want[i] {
				t.Errorf("%s of %q: %v, %v, want %v", condition, word, got, err, want[i])
			}
		}
	}
}
