package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain lets this test binary stand for the command: a process that is started under the name shadowdiff, by a story
// or by a test, runs the command and no tests.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"shadowdiff": func() { main() },
	})
}

// TestStories runs every story in testdata/script; `go doc github.com/rogpeppe/go-internal/testscript` tells how they are
// written.
func TestStories(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
	})
}

// shadowdiff is the command as a process of its own, in a folder of its own.
func shadowdiff(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	binary, err := exec.LookPath("shadowdiff") // where TestMain has put it
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, args...)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "HOME="+filepath.Join(cmd.Dir, "home"))
	return cmd
}
