package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// takenBy names, for each page and language of its blocks, the tests that run or read them. What stands in a block of text is
// a drawing, what another program prints or takes, or was tried by hand as the page says.
func takenBy() map[string]string {
	const guides = "TestTheGuidesCanBeFollowed"
	return map[string]string{
		"README.md console": "TestThePagesShowWhatIsPrinted", "README.md sh": "TestCommandsOnPagesAreKnown",
		"docs/api.md console": "TestTheAPIPageShowsWhatIsAnswered", "docs/api.md json": "TestKeysOnPagesAreKnown",
		"docs/checklist.md sh": guides, "docs/checklist.md yaml": guides,
		"docs/ci.md sh": "TestTheCIPageCanBeFollowed", "docs/ci.md console": "TestTheCIPageCanBeFollowed",
		"docs/ci.md json": "TestTheCIPageCanBeFollowed", "docs/ci.md yaml": "TestTheCIPageCanBeFollowed",
		"docs/comparing.md console":     "TestThePagesShowWhatIsPrinted",
		"docs/configuration.md console": "TestThePagesShowWhatIsPrinted", "docs/configuration.md sh": guides,
		"docs/configuration.md json": "TestKeysOnPagesAreKnown",
		"docs/deploying.md sh":       guides, "docs/deploying.md yaml": guides,
		"docs/from-diffy.md sh": guides, "docs/from-diffy.md yaml": guides,
		"docs/mirroring.md sh": guides, "docs/mirroring.md yaml": guides,
		"docs/mirroring/envoy.md yaml": "TestEnvoyMirrors", "docs/mirroring/gateway-api.md yaml": "TestTheGatewayMirrors",
		"docs/mirroring/haproxy.md haproxy": "TestHAProxyWithoutItsAgent", "docs/mirroring/haproxy.md spoe": "TestHAProxyWithoutItsAgent",
		"docs/mirroring/istio.md yaml": "TestIstioMirrors", "docs/mirroring/nginx.md nginx": "TestNginxMirrorsToTheSink",
		"docs/mirroring/traefik.md yaml": "TestTheTraefikPageHoldsTogether",
		"docs/operating.md nginx":        "TestTheDashboardBehindNginx", "docs/operating.md yaml": "TestTheOperatingPageCanBeFollowed TestTheJobOnThePage",
		"docs/privacy.md sh": guides, "docs/privacy.md yaml": guides,
		"docs/quick-start.md sh": "TestTheQuickStart", "docs/quick-start.md yaml": "TestTheQuickStart",
		"docs/replay.md sh": "TestTheReplayPageIsFollowed", "docs/replay.md yaml": "TestTheReplayPageIsFollowed",
		"docs/replay.md json":          "TestKeysOnPagesAreKnown",
		"docs/transparency.md console": "TestFuzzTargetsOnPagesAreThere",
		"docs/troubleshooting.md sh":   guides, "docs/troubleshooting.md yaml": guides,
		"docs/verdict.md sh": "TestCommandsOnPagesAreKnown",
	}
}

var fence = regexp.MustCompile("(?ms)^```([a-z]*)\n(.*?)^```$")

// TestEveryBlockIsTaken: a block that somebody may copy is run or read by a test, and the test is there.
func TestEveryBlockIsTaken(t *testing.T) {
	t.Parallel()
	takers, command := takenBy(), regexp.MustCompile(`(?m)^(\$ )?(bin/)?(shadowdiff|make|go) `)
	for _, page := range allPages(t) {
		name := strings.TrimPrefix(filepath.ToSlash(page), "../../")
		for _, m := range fence.FindAllStringSubmatch(pageText(t, page), -1) {
			taker := takers[name+" "+m[1]]
			switch {
			case m[1] == "text" && command.MatchString(m[2]):
				t.Errorf("%s: a command of ours stands in a text:\n%s", name, m[2])
			case m[1] != "text" && taker == "":
				t.Errorf("%s: no test takes this %q:\n%s", name, m[1], m[2])
			}
		}
	}
	var tests strings.Builder
	for _, pattern := range []string{
		"*_test.go", "../../tools/monitoring/*_test.go", "../../tools/packages/*_test.go", "../../tools/packages/mirrors/*_test.go",
	} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			tests.WriteString(pageText(t, file))
		}
	}
	for block, list := range takers {
		for taker := range strings.FieldsSeq(list) {
			if !strings.Contains(tests.String(), "\nfunc "+taker+"(") {
				t.Errorf("%s: there is no %s", block, taker)
			}
		}
	}
}

func pageText(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// write puts a file in place.
func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// keysOf are the keys of JSON, with their quotation marks; what is left out (…) does not matter.
func keysOf(text string) (list []string) {
	for _, m := range regexp.MustCompile(`("[a-z0-9_]+"): ?`).FindAllStringSubmatch(text, -1) {
		list = append(list, m[1])
	}
	return list
}

// TestKeysOnPagesAreKnown: JSON on a page has no key that the description of the API, or the record of a request, lacks.
func TestKeysOnPagesAreKnown(t *testing.T) {
	t.Parallel()
	for page, source := range map[string]string{
		"api.md": "../../web/openapi.yaml", "configuration.md": "../../web/openapi.yaml", "replay.md": "../../traffic/*.go",
	} {
		files, err := filepath.Glob(source)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v", source, err)
		}
		var known strings.Builder
		for _, file := range files {
			known.WriteString(pageText(t, file))
		}
		found := 0
		for _, block := range blocks(t, "../../docs/"+page, "json") {
			for _, key := range keysOf(block) {
				found++
				if !regexp.MustCompile(`\b` + strings.Trim(key, `"`) + `\b`).MatchString(known.String()) {
					t.Errorf("%s has %s, of which %s knows nothing", page, key, source)
				}
			}
		}
		if found < 4 {
			t.Errorf("%s: %d keys", page, found)
		}
	}
}

// TestCommandsOnPagesAreKnown: a command on a page has no flag that the command does not.
func TestCommandsOnPagesAreKnown(t *testing.T) {
	t.Parallel()
	help := map[string]string{}
	for _, page := range allPages(t) {
		for _, m := range regexp.MustCompile("(?m)(?:^(?: {4}|\\$ )?|`)(?:bin/)?shadowdiff ([a-z]+)( [^`\n#|;]*)").FindAllStringSubmatch(pageText(t, page), -1) {
			name := m[1]
			if help[name] == "" {
				var out, problems bytes.Buffer
				run([]string{"help", name}, stdio{in: strings.NewReader(""), out: &out, err: &problems})
				help[name] = out.String() + problems.String()
			}
			for _, flag := range regexp.MustCompile(` --?([a-z][a-z-]*)`).FindAllStringSubmatch(m[2], -1) {
				if !regexp.MustCompile(`(?m)[ \[]-` + flag[1] + `\b`).MatchString(help[name]) {
					t.Errorf("%s: shadowdiff %s%s\nhas -%s, of which its help says nothing", page, name, m[2], flag[1])
				}
			}
		}
	}
	if len(help) < 8 {
		t.Errorf("commands: %d", len(help))
	}
}

// TestFuzzTargetsOnPagesAreThere: what a page would have fuzzed is there.
func TestFuzzTargetsOnPagesAreThere(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../multicast/*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var targets []string
	for _, file := range files {
		for _, m := range regexp.MustCompile(`(?m)^func (Fuzz\w+)\(`).FindAllStringSubmatch(pageText(t, file), -1) {
			targets = append(targets, m[1])
		}
	}
	named := regexp.MustCompile(`(?m)^\$ go test ./multicast -run '\^\$' -fuzz '\^(\w+)\$'`).FindAllStringSubmatch(pageText(t, "../../docs/transparency.md"), -1)
	if len(named) < 5 {
		t.Errorf("targets: %v", named)
	}
	for _, m := range named {
		if !slices.Contains(targets, m[1]) {
			t.Errorf("there is no %s", m[1])
		}
	}
}
