package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestTheCIPageCanBeFollowed runs the page's commands against a service that has a run of that name, and reads what it writes.
func TestTheCIPageCanBeFollowed(t *testing.T) {
	t.Parallel()
	const page = "../../docs/ci.md"
	shop := answering(t, map[string]string{"/products/7": `{"id":7}`})
	l := serveFile(t, fmt.Sprintf("primary: %[1]s\nsecondary: %[1]s\ncandidate: %[1]s\nrun: v2.3.1\n", shop.URL))
	places := strings.NewReplacer("http://shadowdiff:8881", l.svc.AdminURL(), "http://127.0.0.1:8881", l.svc.AdminURL(), "-wait 30m", "-wait 0")
	dir := t.TempDir()
	ask := func(command string) (out string, code int) {
		cmd := exec.Command("sh", "-c", places.Replace(command))
		cmd.Dir = dir
		said, _ := cmd.CombinedOutput()
		return string(said), cmd.ProcessState.ExitCode()
	}
	commands := blocks(t, page, "sh")
	if len(commands) != 1 {
		t.Fatalf("%d commands", len(commands))
	}
	if out, code := ask(commands[0]); code != exitUndecided {
		t.Errorf("exit code %d: %s", code, out)
	}
	for _, name := range []string{"shadowdiff.xml", "shadowdiff.html"} {
		if about, err := os.Stat(filepath.Join(dir, name)); err != nil || about.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	out, _ := ask(strings.TrimSpace(commands[0]) + " -json")
	for _, key := range keysOf(strings.Join(blocks(t, page, "json"), "")) {
		if !strings.Contains(out, key) {
			t.Errorf("no %s in %s", key, out)
		}
	}
	for _, s := range sessions(t, page) {
		for _, step := range s.steps {
			if out, _ := ask(step.command); out != step.output {
				t.Errorf("$ %s\nprints %q, on the page %q", step.command, out, step.output)
			}
		}
	}
	for name, text := range map[string]string{
		"webhook-url": "https://hooks.example.com/1\n", "webhook-secret": "correct horse battery staple\n",
		"shadowdiff.yaml": "primary: http://127.0.0.1:9001\n" + strings.Join(blocks(t, page, "yaml"), ""),
	} {
		write(t, filepath.Join(dir, name), text)
	}
	if _, faults := readConfig(filepath.Join(dir, "shadowdiff.yaml"), nil, testEnvironment); len(faults) > 0 {
		t.Error(strings.Join(lines(faults), "\n"))
	}
}
