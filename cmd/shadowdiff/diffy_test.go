package main

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"
)

// Who comes from Diffy and gives its flags is told what serves instead, and the page says the same of each.
func TestFlagsOfDiffy(t *testing.T) {
	page, err := os.ReadFile("../../docs/from-diffy.md")
	if err != nil {
		t.Fatal(err)
	}
	onPage := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| (`-[^|]+)\\|").FindAllStringSubmatch(string(page), -1) {
		for _, name := range regexp.MustCompile("`-([^`]+)`").FindAllStringSubmatch(row[1], -1) {
			onPage[name[1]] = true
		}
	}
	delete(onPage, "candidate") // the same here
	for name, instead := range diffyFlags() {
		if !onPage[name] {
			t.Errorf("docs/from-diffy.md lacks -%s", name)
		}
		delete(onPage, name)
		var stdout, stderr bytes.Buffer
		code := run([]string{"serve", "-" + name + "=localhost:9000"}, stdio{in: strings.NewReader(""), out: &stdout, err: &stderr})
		if want := "shadowdiff serve: -" + name + " is Diffy's: " + instead + "\n"; code != exitTrouble || stderr.String() != want {
			t.Errorf("-%s: %d, %q", name, code, stderr.String())
		}
	}
	for name := range onPage {
		t.Errorf("docs/from-diffy.md has -%s, of which serve knows nothing", name)
	}
}
