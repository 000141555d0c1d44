package main

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const exampleFile = "../../docs/shadowdiff.example.yaml"

// TestTheExampleIsTheDefault: apart from the three addresses, the documented example says what holds without it.
func TestTheExampleIsTheDefault(t *testing.T) {
	t.Parallel()
	got, faults := readConfig(exampleFile, nil, testEnvironment)
	if len(faults) > 0 {
		t.Fatal(strings.Join(lines(faults), "\n"))
	}
	want := defaultConfig()
	want.Primary, want.Secondary, want.Candidate = "http://127.0.0.1:9001", "http://127.0.0.1:9002", "http://127.0.0.1:9003"
	if diff := cmp.Diff(want, got, cmp.FilterValues(bothEmpty, cmp.Ignore())); diff != "" {
		t.Errorf("default against example:\n%s", diff)
	}
}

// bothEmpty takes a list or table that is not there for one without entries.
func bothEmpty(a, b any) bool {
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	if !x.IsValid() || !y.IsValid() || x.Type() != y.Type() {
		return false
	}
	return (x.Kind() == reflect.Slice || x.Kind() == reflect.Map) && x.Len() == 0 && y.Len() == 0
}

// TestEveryKeyIsDocumented: the example has each key at least in a comment, and docs/configuration.md explains it.
func TestEveryKeyIsDocumented(t *testing.T) {
	t.Parallel()
	for _, file := range []string{exampleFile, "../../docs/configuration.md"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range configKeys() {
			name := path[strings.LastIndex(path, ".")+1:]
			if !regexp.MustCompile(`\b` + name + `\b`).Match(text) {
				t.Errorf("%s does not mention %s", file, path)
			}
		}
	}
}
