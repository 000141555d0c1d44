package lock

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const holdEnv = "SHADOWDIFF_TEST_HOLD"

// TestMain is another process that takes a lock and holds it until its standard input ends.
func TestMain(m *testing.M) {
	path := os.Getenv(holdEnv)
	if path == "" {
		os.Exit(m.Run())
	}
	if _, err := Take(path); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("held")
	os.Stdin.Read(make([]byte, 1))
}

// hold has another process take a lock, and answers how to kill it.
func hold(t *testing.T, path string) (process int, kill func()) {
	t.Helper()
	other := exec.Command(os.Args[0])
	other.Env = append(os.Environ(), holdEnv+"="+path)
	stdin, err := other.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := other.StdoutPipe()
	if err == nil {
		err = other.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	kill = func() {
		other.Process.Kill()
		other.Wait()
		stdin.Close()
	}
	t.Cleanup(kill)
	said := make([]byte, 4)
	if _, err := stdout.Read(said); err != nil || string(said) != "held" {
		t.Fatalf("the other process says %q, %v", said, err)
	}
	return other.Process.Pid, kill
}

// Who has it is told, and it is free again when that process has ended, however.
func TestALockHeldByAnotherProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), ".lock")
	process, kill := hold(t, path)
	_, err := Take(path)
	if held, is := errors.AsType[*Held](err); !is || held.Process != fmt.Sprint(process) || !strings.Contains(err.Error(), fmt.Sprintf("in use by process %d", process)) {
		t.Fatalf("taken while process %d has it: %v", process, err)
	}
	kill()
	lock, err := Take(path)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(path); err != nil || strings.TrimSpace(string(text)) != fmt.Sprint(os.Getpid()) {
		t.Errorf("it names %q, %v", text, err)
	}
	for range 2 {
		if err := lock.Release(); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the file is gone: %v", err)
	}
}

// A lock whose file was removed is taken anew, unless another was quicker.
func TestALockIsRenewed(t *testing.T) {
	path := filepath.Join(t.TempDir(), ".lock")
	lock, err := Take(path)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release()
	remove := func() {
		t.Helper()
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	remove()
	if err := lock.Renew(); err != nil {
		t.Fatal(err)
	}
	if _, err := Take(path); err == nil {
		t.Error("what was renewed keeps nobody away")
	}
	remove()
	_, kill := hold(t, path)
	if _, is := errors.AsType[*Held](lock.Renew()); !is {
		t.Error("renewed though another has it")
	}
	kill()
	if err := lock.Renew(); err != nil {
		t.Error(err)
	}
}

// What is given back is free at once, though a process that was begun meanwhile has the file open.
func TestReleasedThoughAChildHasTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	l, err := Take(path)
	if err != nil {
		t.Fatal(err)
	}
	child := exec.Command("cat")
	child.ExtraFiles = []*os.File{l.file}
	stdin, err := child.StdinPipe()
	if err == nil {
		err = child.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer child.Wait()
	defer stdin.Close()
	if err := l.Release(); err != nil {
		t.Fatal(err)
	}
	again, err := Take(path)
	if err != nil {
		t.Fatalf("after it was given back: %v", err)
	}
	if err := again.Release(); err != nil {
		t.Error(err)
	}
}
