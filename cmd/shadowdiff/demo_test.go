package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"shadowdiff/diff"
	"shadowdiff/fixtures"
)

// buildCommand builds the command without the race detector: at a tenth of the speed the demo's crowd could not keep its
// rate. Its flags are those of the tests without it, so that nothing has to be compiled once more for it.
func buildCommand(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "shadowdiff")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, ".")
	build.Env = append(os.Environ(), "GOFLAGS=")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return binary
}

// demoJSON runs the demo to its end. Its folder of counts must be gone afterwards.
func demoJSON(t *testing.T, binary string, args ...string) *diff.Verdict {
	t.Helper()
	temp := t.TempDir()
	cmd := exec.CommandContext(t.Context(), binary, append([]string{"demo", "-json"}, args...)...)
	cmd.Env = append(os.Environ(), "TMPDIR="+temp)
	var out, status bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &status
	if err := cmd.Run(); err != nil {
		t.Fatalf("demo: %v\n%s", err, &status)
	}
	t.Logf("%s", &status)
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	var v diff.Verdict
	dec := json.NewDecoder(&out)
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("standard output: %v", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		t.Errorf("more than one JSON text on standard output")
	}
	return &v
}

// confirmed lists the differences that stand, as effects are written.
func confirmed(v *diff.Verdict) []string {
	var list []string
	for _, f := range v.Differences {
		if f.Confirmed {
			list = append(list, fixtures.Effect{Route: f.Route, Field: f.Field, Test: f.Kind.String()}.String())
		}
	}
	slices.Sort(list)
	return list
}

// The verdict is known beforehand: every fault is confirmed, with all that it moves, and no noise is. Both runs are in
// one test, since neither should be disturbed by the other.
func TestDemoFindsTheFaultsAndNothingElse(t *testing.T) {
	binary := buildCommand(t)
	var declared []string
	for _, fault := range fixtures.Faults() {
		for _, effect := range fault.Effects {
			declared = append(declared, effect.String())
		}
	}
	slices.Sort(declared)

	v := demoJSON(t, binary, "-for", "30s")
	if v.Word != diff.Different {
		t.Errorf("with faults the verdict is %q: %q", v.Word, v.Reasons)
	}
	if got := confirmed(v); !slices.Equal(got, declared) {
		t.Errorf("confirmed:\n  %s\ndeclared:\n  %s", strings.Join(got, "\n  "), strings.Join(declared, "\n  "))
	}

	v = demoJSON(t, binary, "-for", "30s", "-clean")
	if got := confirmed(v); len(got) > 0 {
		t.Errorf("a clean candidate, but confirmed:\n  %s", strings.Join(got, "\n  "))
	}
	if v.Word != diff.Undecided || !strings.Contains(strings.Join(v.Reasons, "\n"), "promoted") {
		t.Errorf("a clean candidate is %q: %q", v.Word, v.Reasons)
	}
}

// Without -for the demo runs until it is interrupted, with the dashboard open meanwhile, and then says what it found.
func TestDemoEndsWithTheVerdictWhenInterrupted(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), buildCommand(t), "demo")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	out := io.TeeReader(stdout, &text)
	dashboard := readAddress(t, out, &text, "dashboard")
	res, err := http.Get(dashboard)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Errorf("dashboard: %s", res.Status)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, out); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("interrupted: %v", err)
	}
	if !strings.Contains(text.String(), "compared requests.") || !strings.Contains(text.String(), "of the candidate") {
		t.Errorf("no verdict:\n%s", &text)
	}
}

// However the demo is left, its folder of counts goes with it.
func TestDemoLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(p *os.Process, out io.Closer) error{
		"its terminal is closed": func(p *os.Process, _ io.Closer) error { return p.Signal(syscall.SIGHUP) },
		"nobody reads it":        func(_ *os.Process, out io.Closer) error { return out.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := shadowdiff(t, "demo", "-for", "2s")
			temp := t.TempDir()
			cmd.Env = append(cmd.Env, "TMPDIR="+temp)
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			var text bytes.Buffer
			readAddress(t, io.TeeReader(out, &text), &text, "dashboard")
			if err := leave(cmd.Process, out); err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, out)
			if err := cmd.Wait(); cmd.ProcessState == nil {
				t.Fatal(err)
			}
			if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

// readAddress reads until the line of that label is whole.
func readAddress(t *testing.T, r io.Reader, text *bytes.Buffer, label string) string {
	t.Helper()
	line := regexp.MustCompile(label + ` +(http://\S+)\n`)
	for buf := make([]byte, 512); ; {
		if m := line.FindSubmatch(text.Bytes()); m != nil {
			return string(m[1])
		}
		if _, err := r.Read(buf); err != nil {
			t.Fatalf("no %s address: %v\n%s", label, err, text)
		}
	}
}

func TestDemoRefusesWhatItDoesNotKnow(t *testing.T) {
	for _, args := range [][]string{{"-fro", "30s"}, {"-for", "-1s"}, {"now"}} {
		var out, problems bytes.Buffer
		if code := runDemo(args, stdio{out: &out, err: &problems}); code != exitTrouble || out.Len() > 0 || problems.Len() == 0 {
			t.Errorf("%q: exit %d, %q, %q", args, code, &out, &problems)
		}
	}
	var help, problems bytes.Buffer
	if code := runDemo([]string{"-h"}, stdio{out: &help, err: &problems}); code != exitOK || !strings.Contains(help.String(), "-clean") {
		t.Errorf("help: exit %d, %q", code, &help)
	}
}
