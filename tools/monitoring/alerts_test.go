package monitoring

import (
	"log/slog"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
)

func rules(t *testing.T) []rulefmt.Rule {
	t.Helper()
	text, err := os.ReadFile(root + "/deploy/prometheus/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	groups, faults := rulefmt.Parse(text, false, model.UTF8Validation, parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler))
	for _, fault := range faults {
		t.Error(fault)
	}
	if len(faults) > 0 || len(groups.Groups) != 1 {
		t.Fatal("the rules cannot be read")
	}
	return groups.Groups[0].Rules
}

// Each rule is PromQL over what the product tells, and each alert says what it is and where help is found.
func TestAlertsAreOfWhatIsTold(t *testing.T) {
	s, alerts := scraped(t), 0
	page, err := os.ReadFile(root + "/docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, rule := range rules(t) {
		for _, wrong := range s.check(rule.Expr) {
			t.Errorf("%s%s: %s", rule.Record, rule.Alert, wrong)
		}
		if rule.Record != "" {
			s[rule.Record] = map[string]bool{"job": true, "instance": true}
			if strings.Contains(rule.Expr, "role)") {
				s[rule.Record]["role"] = true
			}
			continue
		}
		alerts++
		for _, key := range []string{"summary", "description", "runbook"} {
			if rule.Annotations[key] == "" {
				t.Errorf("%s has no %s", rule.Alert, key)
			}
		}
		anchor := "docs/operating.md#" + strings.ToLower(rule.Alert)
		if rule.Annotations["runbook"] != anchor || !regexp.MustCompile(`(?m)^#+ `+rule.Alert+`$`).Match(page) {
			t.Errorf("%s: its runbook is %q; docs/operating.md has no such heading, or it is another", rule.Alert, rule.Annotations["runbook"])
		}
		if rule.Labels["severity"] == "" || rule.For == 0 {
			t.Errorf("%s has no severity, or fires at once", rule.Alert)
		}
	}
	if alerts < 7 {
		t.Errorf("%d alerts", alerts)
	}
}

// Series in which each alert has its cause, and others in which it has not. {} stands for job and instance.
func TestAlertsFire(t *testing.T) {
	const run = `shadowdiff_run_info{job="s",instance="a",run="v2"} 1x120
`
	for _, c := range []struct {
		alert, load string
		want        string // of the result at 50 min; empty: none
	}{
		{"Different", run + `shadowdiff_verdict{job="s",instance="a",verdict="different"} 1x120`, `{job="s",instance="a",run="v2"} 1`},
		{"Different", run + `shadowdiff_verdict{job="s",instance="a",verdict="different"} 0x120
shadowdiff_verdict{job="s",instance="a",verdict="equivalent"} 1x120`, ""},
		{"ShadowingPaused", `shadowdiff_guard_paused{job="s",instance="a",limit="cpu"} 1x120
shadowdiff_guard_paused{job="s",instance="a",limit="memory"} 0x120`, `{job="s",instance="a",limit="cpu"} 1`},
		{"NothingCompared", `shadowdiff_requests_total{job="s",instance="a",code="200"} 0+60x120
shadowdiff_skipped_total{job="s",instance="a",reason="disabled"} 0x120
shadowdiff_compared_total{job="s",instance="a",route="/",result="agree"} 5x120`, `{job="s",instance="a"} 2`},
		{"NothingCompared", `shadowdiff_requests_total{job="s",instance="a",code="200"} 0+60x120
shadowdiff_skipped_total{job="s",instance="a",reason="disabled"} 0x120`, `{job="s",instance="a"} 2`},
		{"NothingCompared", `shadowdiff_requests_total{job="s",instance="a",code="200"} 0+60x120
shadowdiff_skipped_total{job="s",instance="a",reason="disabled"} 0+60x120`, ""},
		{"NothingCompared", `shadowdiff_requests_total{job="s",instance="a",code="200"} 0+60x120
shadowdiff_skipped_total{job="s",instance="a",reason="disabled"} 0x120
shadowdiff_compared_total{job="s",instance="a",route="/",result="agree"} 0+1x120`, ""},
		{"StoreNotWritten", `shadowdiff_store_up{job="s",instance="a"} 0x120
shadowdiff_store_up{job="s",instance="b"} 1x120`, `{job="s",instance="a"} 0`},
		{"CandidateFailing", `shadowdiff:shadow_failures:ratio_rate5m{job="s",instance="a",role="candidate"} 0.5x120
shadowdiff:shadow_failures:ratio_rate5m{job="s",instance="a",role="secondary"} 0.01x120`, `shadowdiff:shadow_failures:ratio_rate5m{job="s",instance="a",role="candidate"} 0.5`},
		{"CandidateFailing", `shadowdiff:shadow_failures:ratio_rate5m{job="s",instance="a",role="candidate"} 0.5x120
shadowdiff:shadow_failures:ratio_rate5m{job="s",instance="a",role="secondary"} 0.4x120`, ""},
		{"CandidateFailing", `shadowdiff_circuit_open{job="s",instance="a",role="candidate"} 1x120`, `{job="s",instance="a",role="candidate"} 1`},
		{"QueueDropping", `shadowdiff:dropped:ratio_rate5m{job="s",instance="a"} 0.2x120`, `shadowdiff:dropped:ratio_rate5m{job="s",instance="a"} 0.2`},
		{"QueueDropping", `shadowdiff:dropped:ratio_rate5m{job="s",instance="a"} 0.01x120`, ""},
		{"ReloadFailed", `shadowdiff_config_last_reload_successful{job="s",instance="a"} 0x120`, `{job="s",instance="a"} 0`},
		{"ReloadFailed", `shadowdiff_config_last_reload_successful{job="s",instance="a"} 1x120`, ""},
		{"shadowdiff:shadow_failures:ratio_rate5m", `shadowdiff_shadow_total{job="s",instance="a",role="candidate",outcome="ok"} 0+30x120
shadowdiff_shadow_total{job="s",instance="a",role="candidate",outcome="timeout"} 0+10x120
shadowdiff_shadow_total{job="s",instance="a",role="candidate",outcome="stale"} 0+40x120`, `{job="s",instance="a",role="candidate"} 0.125`},
		{"shadowdiff:dropped:ratio_rate5m", `shadowdiff_shadow_total{job="s",instance="a",role="candidate",outcome="ok"} 0+30x120
shadowdiff_dropped_total{job="s",instance="a",reason="queue"} 0+10x120
shadowdiff_dropped_total{job="s",instance="a",reason="circuit"} 0+40x120`, `{job="s",instance="a"} 0.125`},
	} {
		var expr string
		for _, rule := range rules(t) {
			if rule.Alert == "Shadowdiff"+c.alert || rule.Record == c.alert {
				expr = strings.Join(strings.Fields(rule.Expr), " ")
			}
		}
		if expr == "" {
			t.Errorf("no rule %s", c.alert)
			continue
		}
		story := "load 30s\n  " + strings.ReplaceAll(strings.TrimSpace(c.load), "\n", "\n  ") + "\n\neval instant at 50m " + expr + "\n"
		if c.want != "" {
			story += "  " + c.want + "\n"
		}
		t.Run(c.alert, func(t *testing.T) {
			promqltest.RunTest(t, story, promqltest.NewTestEngine(t, false, 5*time.Minute, 10_000))
		})
	}
}
