package recipes

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/rhysd/actionlint"
)

// The workflows, ours and the one to copy, pass the linter of their language.
func TestWorkflows(t *testing.T) {
	var files []string
	for _, pattern := range []string{"../../.github/workflows/*.yml", "../../deploy/github/*.yml"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: none, %v", pattern, err)
		}
		files = append(files, found...)
	}
	linter, err := actionlint.NewLinter(io.Discard, &actionlint.LinterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		faults, err := linter.Lint(file, text, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, fault := range faults {
			t.Errorf("%s:%d:%d: %s", file, fault.Line, fault.Column, fault.Message)
		}
	}
	if faults, err := linter.Lint("x.yml", []byte("on: push\njobs: {a: {runs-on: ubuntu-24.04, step: []}}\n"), nil); err != nil || len(faults) == 0 {
		t.Errorf("a misspelt key passes: %v", err)
	}
}
