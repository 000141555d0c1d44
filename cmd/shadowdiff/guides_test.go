package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// blocks are those of a page in one language, without their fences.
func blocks(t *testing.T, page, language string) (list []string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```$").FindAllStringSubmatch(string(text), -1) {
		list = append(list, m[1])
	}
	return list
}

// TestTheGuidesCanBeFollowed reads each configuration of these pages, and runs each command, beside a service and a database
// that is not in use.
func TestTheGuidesCanBeFollowed(t *testing.T) {
	t.Parallel()
	shop := answering(t, map[string]string{"/products/7": `{"id":7}`})
	l := serveFile(t, fmt.Sprintf("primary: %[1]s\nsecondary: %[1]s\ncandidate: %[1]s\n", shop.URL))
	places := strings.NewReplacer("http://127.0.0.1:8881", l.svc.AdminURL(), "curl ", "curl -sSf ", "shadowdiff serve", "shadowdiff check")
	for page, least := range map[string][2]int{ // configurations, commands
		"privacy": {1, 4}, "troubleshooting": {2, 7}, "checklist": {1, 5}, "deploying": {1, 3},
		"mirroring": {1, 4}, "from-diffy": {1, 1}, "configuration": {0, 1},
	} {
		file := "../../docs/" + page + ".md"
		configurations, commands := blocks(t, file, "yaml"), blocks(t, file, "sh")
		for _, text := range configurations {
			name := filepath.Join(t.TempDir(), "shadowdiff.yaml")
			write(t, name, text)
			if _, faults := readConfig(name, nil, testEnvironment); len(faults) > 0 {
				t.Errorf("a configuration of %s: %s", page, strings.Join(lines(faults), "\n"))
			}
		}
		ran := 0
		for line := range strings.Lines(strings.Join(commands, "")) {
			ran++
			dir := filepath.Dir(stockedDatabase(t))
			if len(configurations) > 0 {
				write(t, filepath.Join(dir, "shadowdiff.yaml"), configurations[0])
			}
			cmd := exec.Command("sh", "-c", places.Replace(line))
			cmd.Dir = dir
			want := exitOK
			if strings.Contains(line, " gate ") {
				want = exitUndecided // so few requests
			}
			if out, err := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != want {
				t.Errorf("%s: $ %s%v\n%s", page, line, err, out)
			}
		}
		if len(configurations) < least[0] || ran < least[1] {
			t.Errorf("%s: %d configurations and %d commands", page, len(configurations), ran)
		}
	}
}

// freeAddresses are so many of loopback that nobody listens on. Where the system has more of loopback than 127.0.0.1, they
// are on another: there nobody's connection can take the port of a service while it starts anew.
func freeAddresses(t *testing.T, n int) (list []string) {
	t.Helper()
	for range n {
		l, err := net.Listen("tcp", "127.0.0.9:0")
		if err != nil {
			l, err = net.Listen("tcp", "127.0.0.1:0")
		}
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close() // together, so that they are n different ones
		list = append(list, l.Addr().String())
	}
	return list
}

// TestTheQuickStart runs the page from its second block to its last in one shell, as somebody does who copies them. Only the
// ports are others, and the binary of shadowdiff is that of the test.
func TestTheQuickStart(t *testing.T) {
	t.Parallel()
	const page = "../../docs/quick-start.md"
	commands, configurations := blocks(t, page, "sh"), blocks(t, page, "yaml")
	if len(commands) < 8 || len(configurations) != 1 || commands[0] != "make build\ngo build -o bin/ ./fixtures/upstream ./fixtures/traffic\n" {
		t.Fatalf("%d blocks of commands, %d configurations; the first: %s", len(commands), len(configurations), commands[0])
	}
	dir := t.TempDir()
	build := exec.Command("go", "build", "-o", filepath.Join(dir, "bin")+"/", "./fixtures/upstream", "./fixtures/traffic")
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	binary, err := exec.LookPath("shadowdiff")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(binary, filepath.Join(dir, "bin", "shadowdiff")); err != nil {
		t.Fatal(err)
	}
	at := freeAddresses(t, 5)
	places := strings.NewReplacer("127.0.0.1:9001", at[0], "127.0.0.1:9002", at[1], "127.0.0.1:9003", at[2],
		"127.0.0.1:8880", at[3], "127.0.0.1:8881", at[4])
	config := places.Replace(configurations[0]) + "web: {listen: \"" + at[4] + "\"}\n"
	write(t, filepath.Join(dir, "quick-start.yaml"), config)
	script := "trap 'kill $(jobs -p) 2>/dev/null' EXIT TERM\n" + places.Replace(strings.Join(commands[1:], ""))
	script = regexp.MustCompile(`(?m)^bin/shadowdiff gate.*$`).ReplaceAllString(script, "$0 -url http://"+at[4]+`; echo "exit code $?"`)
	script = strings.ReplaceAll(script, "bin/shadowdiff health", "bin/shadowdiff health -url http://"+at[4])
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", script)
	cmd.Dir = dir
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v", err)
	}
	rest, last := string(out), ""
	for _, want := range []string{
		"quick-start.yaml: ok", "DIFFERENT: run ", "exit code 1\n", `"name":"mended"`, "UNDECIDED: run mended", "body.promoted",
		"exit code 3\n", `"items":[{`, `present: body.promoted\n`, `"begun":true`, "EQUIVALENT: run ", "exit code 0\n", "deleted: ",
	} {
		_, after, found := strings.Cut(rest, want)
		if !found {
			t.Fatalf("after %q it does not say %q:\n%s", last, want, out)
		}
		rest, last = after, want
	}
	if _, err := os.Stat(filepath.Join(dir, "quick-start.db")); err == nil {
		t.Error("the database is left")
	}
}
