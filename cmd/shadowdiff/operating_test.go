package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestTheOperatingPageCanBeFollowed reads each configuration of the page, and runs each of its commands against a service.
func TestTheOperatingPageCanBeFollowed(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	page, dir := string(text), t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "token"), []byte("correct-horse\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "shadowdiff.yaml")
	configurations := regexp.MustCompile("(?s)```yaml\n(# shadowdiff.yaml\n.*?)```\n").FindAllStringSubmatch(page, -1)
	if len(configurations) < 3 {
		t.Errorf("%d configurations", len(configurations))
	}
	for i, m := range configurations {
		name := file
		if i > 0 { // the first is the one that the commands name
			name = filepath.Join(dir, fmt.Sprintf("%d.yaml", i))
		}
		if err := os.WriteFile(name, []byte(m[1]), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, faults := readConfig(name, nil, testEnvironment); len(faults) > 0 {
			t.Errorf("a configuration of the page: %s", strings.Join(lines(faults), "\n"))
		}
	}

	shop := answering(t, map[string]string{"/products/7": `{"id":7,"price":10}`})
	l := serveFile(t, fmt.Sprintf("primary: %[1]s\nsecondary: %[1]s\ncandidate: %[1]s\n", shop.URL))
	l.connect().get("/products/7")
	l.settled()
	l.flush()
	commands := regexp.MustCompile(`(?m)^ {4,}((?:shadowdiff|curl) .*)$`).FindAllStringSubmatch(page, -1)
	if len(commands) < 8 {
		t.Errorf("%d commands", len(commands))
	}
	places := strings.NewReplacer("http://127.0.0.1:8881", l.svc.AdminURL(), "curl ", "curl -sSf ", "shadowdiff serve", "shadowdiff check")
	for _, m := range commands {
		cmd := exec.Command("sh", "-c", places.Replace(m[1]))
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		want := 0
		if strings.Contains(m[1], " gate ") {
			want = exitUndecided // so few requests
		}
		if cmd.ProcessState.ExitCode() != want {
			t.Errorf("$ %s: %v\n%s", m[1], err, out)
		}
	}
	if l.svc.proxy.Shadowing().Enabled || l.svc.judging.Load().run.Name != "v2.3.1" {
		t.Error("a command of the page has not done what it says")
	}
	for _, name := range []string{"copy.db", "report.html"} {
		if about, err := os.Stat(filepath.Join(dir, name)); err != nil || about.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// allPages are those of the documentation.
func allPages(t *testing.T) []string {
	t.Helper()
	pages := []string{"../../README.md", "../../CONTRIBUTING.md"}
	for _, pattern := range []string{"../../docs/*.md", "../../docs/*/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) < 7 {
			t.Fatalf("%s: %d pages, %v", pattern, len(found), err)
		}
		pages = append(pages, found...)
	}
	return pages
}

// TestPagesLeadSomewhere: what a page of the documentation links to is there, and so is the heading.
func TestPagesLeadSomewhere(t *testing.T) {
	t.Parallel()
	headings := map[string]map[string]bool{}
	plain := regexp.MustCompile("[^a-z0-9 _-]")
	read := func(file string) string {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Errorf("%v", err)
		}
		headings[file] = map[string]bool{}
		for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(string(text), -1) {
			headings[file][strings.ReplaceAll(plain.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-")] = true
		}
		return string(text)
	}
	for _, page := range allPages(t) {
		for _, m := range regexp.MustCompile(`\]\(([^)#:\s]*)(?:#([^)\s]*))?\)`).FindAllStringSubmatch(read(page), -1) {
			file := page
			if m[1] != "" {
				file = filepath.Join(filepath.Dir(page), m[1])
			}
			if _, err := os.Stat(file); err != nil {
				t.Errorf("%s leads to %s: %v", page, m[1], err)
				continue
			}
			if m[2] == "" {
				continue
			}
			if headings[file] == nil {
				read(file)
			}
			if !headings[file][m[2]] {
				t.Errorf("%s leads to %s#%s, which has no such heading", page, m[1], m[2])
			}
		}
	}
}
