package main

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// A process that stands back has the policy for it in each of its threads.
func TestStandBack(t *testing.T) {
	u := testUpstream(t)
	if err := standBack(u.PID()); err != nil {
		t.Fatal(err)
	}
	tasks := "/proc/" + strconv.Itoa(u.PID()) + "/task"
	threads, err := os.ReadDir(tasks)
	if err != nil {
		t.Fatal(err)
	}
	for _, thread := range threads {
		stat, err := os.ReadFile(tasks + "/" + thread.Name() + "/stat")
		if err != nil {
			t.Fatal(err)
		}
		_, after, _ := strings.Cut(string(stat), ") ") // the name may hold anything
		if policy := strings.Fields(after)[38]; policy != strconv.Itoa(idle) {
			t.Errorf("thread %s has policy %s", thread.Name(), policy)
		}
	}
	if err := standBack(-1); err == nil {
		t.Error("nobody can stand back")
	}
}

// A witness either watches, or says what it lacks.
func TestWitness(t *testing.T) {
	w, err := newWitness()
	if err != nil {
		if !errors.Is(err, syscall.EPERM) {
			t.Fatal(err)
		}
		return
	}
	w.note(hole{})
	if got := w.take(); len(got) == 0 {
		t.Error("a hole is lost")
	}
	w.stop()
	if w.take(); len(w.take()) != 0 {
		t.Error("a hole is told twice")
	}
}
