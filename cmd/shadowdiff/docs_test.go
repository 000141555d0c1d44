package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"shadowdiff/diff"
	"shadowdiff/normalize"
)

// session is one block of a page that shows a terminal: ```console. Its commands run in a folder of their own. What
// `cat FILE` shows is what the file holds then; what any other command shows is what it must print.
type session struct {
	line  int // of the page, where the block begins
	steps []step
}

type step struct{ command, output string }

// sessions reads the blocks of a page.
func sessions(t *testing.T, page string) (list []session) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	number, within := 0, false
	for line := range strings.Lines(string(text)) {
		number++
		switch {
		case line == "```console\n":
			list = append(list, session{line: number})
			within = true
		case line == "```\n":
			within = false
		case !within:
		case strings.HasPrefix(line, "$ "):
			last := &list[len(list)-1]
			last.steps = append(last.steps, step{command: strings.TrimSpace(line[2:])})
		default:
			steps := list[len(list)-1].steps
			if len(steps) == 0 {
				t.Fatalf("%s:%d: output before any command", page, number)
			}
			steps[len(steps)-1].output += line
		}
	}
	return list
}

// run writes the files that the block shows and runs what else it has.
func (s session) run(t *testing.T) {
	dir := t.TempDir()
	for _, step := range s.steps {
		if file, ok := strings.CutPrefix(step.command, "cat "); ok {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(step.output), 0o600); err != nil {
				t.Fatal(err)
			}
			continue
		}
		cmd := exec.Command("sh", "-c", strings.ReplaceAll(step.command, "bin/shadowdiff", "shadowdiff"))
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if wrong := cmp.Diff(step.output, string(out)); wrong != "" {
			t.Errorf("$ %s\nthe page against what is printed:\n%s", step.command, wrong)
		}
		if code := cmd.ProcessState.ExitCode(); code < 0 || code > exitTrouble {
			t.Errorf("$ %s: %v", step.command, err)
		}
	}
}

// TestThePagesShowWhatIsPrinted runs every example of the pages as written.
func TestThePagesShowWhatIsPrinted(t *testing.T) {
	t.Parallel()
	for page, least := range map[string]int{"../../docs/comparing.md": 40, "../../docs/configuration.md": 1, "../../README.md": 1} {
		list := sessions(t, page)
		if len(list) < least {
			t.Errorf("%s: %d examples, want %d at least", page, len(list), least)
		}
		for _, s := range list {
			t.Run(fmt.Sprintf("%s:%d", filepath.Base(page), s.line), func(t *testing.T) {
				t.Parallel()
				s.run(t)
			})
		}
	}
}

// TestTheComparingPageHasAllOfIt: each key of a rule stands in some example, each kind of difference in its table.
func TestTheComparingPageHasAllOfIt(t *testing.T) {
	t.Parallel()
	const page = "../../docs/comparing.md"
	var rules strings.Builder
	for _, s := range sessions(t, page) {
		for _, step := range s.steps {
			if step.command == "cat rules.yaml" {
				rules.WriteString(step.output)
			}
		}
	}
	for field := range reflect.TypeFor[normalize.RuleConfig]().Fields() {
		key, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		if key != "" && !regexp.MustCompile(`[-{,] *`+key+`: `).MatchString(rules.String()) {
			t.Errorf("no example has a rule with %s", key)
		}
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []diff.Kind{
		diff.KindValue, diff.KindFormat, diff.KindType, diff.KindMissing, diff.KindExtra, diff.KindOrder, diff.KindLength, diff.KindContent, diff.KindFailed,
	} {
		if row := fmt.Sprintf("\n| `%s` | %d | ", kind, kind.Level()); !strings.Contains(string(text), row) {
			t.Errorf("the table of kinds has no row that begins %q", row)
		}
	}
}
