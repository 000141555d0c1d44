package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestBadConfigurations reads every file of fixtures/config, each with its mistakes and, in comments, the faults that
// must be found: "# want: LINE:COLUMN: MESSAGE", where * stands for any text.
func TestBadConfigurations(t *testing.T) {
	files, err := filepath.Glob("../../fixtures/config/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no bad configurations found: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var want []string
			for _, m := range regexp.MustCompile(`(?m)^# want: (.*)$`).FindAllStringSubmatch(string(text), -1) {
				want = append(want, file+":"+m[1])
			}
			_, faults := readConfig(file, nil, testEnvironment)
			if !slices.EqualFunc(faults, want, func(f fault, want string) bool { return glob(want).MatchString(f.line("check")) }) {
				t.Errorf("want:\n  %s\ngot:\n  %s", strings.Join(want, "\n  "), strings.Join(lines(faults), "\n  "))
			}
		})
	}
}

func testEnvironment(name string) (string, bool) {
	switch name {
	case "SHADOWDIFF_TEST_PORT":
		return "9003", true
	case "SHADOWDIFF_TEST_EMPTY":
		return "", true
	}
	return "", false
}

// glob is an expression for a text in which * stands for anything.
func glob(pattern string) *regexp.Regexp {
	return regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, ".*") + "$")
}

func lines(faults []fault) []string {
	var out []string
	for _, f := range faults {
		out = append(out, f.line("check"))
	}
	return out
}

// readText reads a configuration from a text, without faults.
func readText(t *testing.T, text string, flags flagValues) config {
	t.Helper()
	cfg, faults := readConfig(writeConfig(t, text), flags, testEnvironment)
	if len(faults) > 0 {
		t.Fatalf("faults: %s", strings.Join(lines(faults), "\n"))
	}
	return cfg
}

func writeConfig(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "shadowdiff.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestEveryFormOfAValueIsRead(t *testing.T) {
	t.Parallel()
	cfg := readText(t, `
primary: "http://127.0.0.1:9001"
candidate: http://127.0.0.1:${SHADOWDIFF_TEST_PORT}/$${x}
sample: 2.5%
shadow: &shadow
  timeout: 1d12h
  set_headers: {X-Env: shadow}
verdict: {alpha: 5%, budget: 0.2%, strict: true, min_compared: 20000}
routes:
  - &quote {match: POST /quotes, shadow: true}
  - {<<: *quote, match: POST /orders}
rules:
  - drop: body.generated_at
  - sort: body.tags
    route: GET /products/{id}
  - {pair: body.items, by: id}
  - {pair: body.items, by: [region, id]}
  - {absent: body, when: null}
  - {round: body.price, to: 2}
  - {mask: body.id, pattern: '[0-9]+$', with: ""}
store: {keep_samples: 3d}
web:
`, nil)
	checks := []struct {
		name      string
		got, want any
	}{
		{"primary", cfg.Primary, "http://127.0.0.1:9001"},
		{"candidate", cfg.Candidate, "http://127.0.0.1:9003/${x}"},
		{"sample", fmt.Sprint(uint32(cfg.Sample)), "2500"},
		{"shadow.timeout", cfg.Shadow.Timeout.String(), "36h0m0s"},
		{"shadow.set_headers", cfg.Shadow.SetHeaders["X-Env"], "shadow"},
		{"verdict.alpha", cfg.Verdict.Alpha, 0.05},
		{"verdict.budget", cfg.Verdict.Budget.String(), "0.2%"},
		{"verdict.strict", cfg.Verdict.Strict, true},
		{"verdict.min_compared", cfg.Verdict.MinCompared, int64(20000)},
		{"routes", len(cfg.Routes), 2},
		{"routes[1].match", cfg.Routes[1].Match, "POST /orders"},
		{"routes[1].shadow", *cfg.Routes[1].Shadow, true},
		{"rules[1].route", cfg.Normalize.Rules[1].Route, "GET /products/{id}"},
		{"rules[2].by", strings.Join(cfg.Normalize.Rules[2].By, " "), "id"},
		{"rules[3].by", strings.Join(cfg.Normalize.Rules[3].By, " "), "region id"},
		{"rules[4].when", string(cfg.Normalize.Rules[4].When), "null"},
		{"rules[5].to", cfg.Normalize.Rules[5].To, "2"},
		{"rules[6].with", *cfg.Normalize.Rules[6].With, ""},
		{"store.keep_samples", cfg.Store.KeepSamples.String(), "72h0m0s"},
		{"web.listen", cfg.Web.Listen, "127.0.0.1:8881"},
	}
	for _, c := range checks {
		if c.got != c.want {
			t.Errorf("%s: %v, want %v", c.name, c.got, c.want)
		}
	}
}

func TestFlagsOverrideTheFile(t *testing.T) {
	t.Parallel()
	cfg := readText(t, "primary: http://127.0.0.1:9001\nsample: 5%\nweb: {listen: \"127.0.0.1:1\"}\n", flagValues{
		"sample":     {"-sample", "1%"},
		"web.listen": {"-admin", "127.0.0.1:0"},
		"store.path": {"-db", "other.db"},
	})
	if uint32(cfg.Sample) != 1000 || cfg.Web.Listen != "127.0.0.1:0" || cfg.Store.Path != "other.db" {
		t.Errorf("sample %v, web.listen %q, store.path %q", cfg.Sample, cfg.Web.Listen, cfg.Store.Path)
	}
}

func TestAFaultOfAFlagNamesTheFlag(t *testing.T) {
	t.Parallel()
	_, faults := readConfig("", flagValues{
		"primary": {"-primary", "http://127.0.0.1:9001"},
		"sample":  {"-sample", "lots"},
	}, testEnvironment)
	if len(faults) != 1 || !glob(`shadowdiff serve: -sample: must be a percentage *, is "lots"`).MatchString(faults[0].line("serve")) {
		t.Errorf("faults: %q", lines(faults))
	}
	// A flag mends what the file has wrong in the same key.
	file := writeConfig(t, "primary: http://127.0.0.1:9001\nsample: lots\n")
	if _, faults := readConfig(file, flagValues{"sample": {"-sample", "1%"}}, testEnvironment); len(faults) != 1 {
		t.Errorf("a bad value in the file stays a fault of the file: %q", lines(faults))
	}
}

func TestASecretComesFromAFile(t *testing.T) {
	t.Parallel()
	file := writeConfig(t, "primary: http://127.0.0.1:9001\nweb: {listen: \"0.0.0.0:8881\", token_file: token}\n")
	if err := os.WriteFile(filepath.Join(filepath.Dir(file), "token"), []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, faults := readConfig(file, nil, testEnvironment)
	if len(faults) > 0 || cfg.Web.Token != "s3cret" {
		t.Errorf("token %q, faults %q", cfg.Web.Token, lines(faults))
	}
}

// A value of any length is quoted no further than anybody reads.
func TestAFaultQuotesTheBeginningOfALongValue(t *testing.T) {
	t.Parallel()
	_, faults := readConfig(writeConfig(t, "primary: http://127.0.0.1:9001\nsample: "+strings.Repeat("ä", 1<<20)+"\n"), nil, testEnvironment)
	if len(faults) == 0 || !glob(`*:2:9: sample: must be a percentage *ää…`).MatchString(faults[0].line("check")) || len(faults[0].message) > 1100 {
		t.Errorf("faults: %q", lines(faults))
	}
}

func TestAMappingThatMergesItselfEnds(t *testing.T) {
	t.Parallel()
	file := writeConfig(t, "primary: http://127.0.0.1:9001\nshadow: &s\n  <<: *s\n")
	_, faults := readConfig(file, nil, testEnvironment)
	if len(faults) != 1 || !strings.Contains(faults[0].message, "nested too deeply") {
		t.Errorf("faults: %q", lines(faults))
	}
}

// FuzzReadConfig: whatever the bytes, reading ends, and each fault in the file has a place in it.
func FuzzReadConfig(f *testing.F) {
	files, _ := filepath.Glob("../../fixtures/config/*.yaml")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		_, faults := readConfig(writeConfig(t, string(text)), nil, testEnvironment)
		for _, fault := range faults {
			if fault.at.line < 1 || fault.at.column < 1 {
				t.Errorf("%q: no place for %q", text, fault.line("check"))
			}
		}
	})
}
