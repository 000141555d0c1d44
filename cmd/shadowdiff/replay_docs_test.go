package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestTheReplayPageIsFollowed runs every command of the page as it is written, in a folder that has what they name.
func TestTheReplayPageIsFollowed(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/replay.md")
	if err != nil {
		t.Fatal(err)
	}
	shop := threeShops(t)
	places := strings.NewReplacer("http://127.0.0.1:9001", shop[0], "http://127.0.0.1:9002", shop[1], "http://127.0.0.1:9003", shop[2])
	var records, replays []string
	_, rest, _ := strings.Cut(string(text), "```yaml\n")
	yaml, _, _ := strings.Cut(rest, "```")
	for line := range strings.Lines(string(text)) {
		switch {
		case strings.HasPrefix(line, "shadowdiff record "):
			records = append(records, places.Replace(strings.TrimSpace(line)))
		case strings.HasPrefix(line, "shadowdiff replay "):
			replays = append(replays, places.Replace(strings.TrimSpace(line)))
		}
	}
	if len(records) != 1 || len(replays) < 4 || !strings.Contains(yaml, "dir: recordings") {
		t.Fatalf("%q, %q, %q", records, replays, yaml)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "shadowdiff.yaml")
	if err := os.WriteFile(file, []byte(places.Replace("primary: http://127.0.0.1:9001\nsecondary: http://127.0.0.1:9002\ncandidate: http://127.0.0.1:9003\n")+yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, faults := readConfig(file, nil, testEnvironment); len(faults) > 0 {
		t.Fatal(lines(faults))
	}
	if err := os.WriteFile(filepath.Join(dir, "access.log"), []byte(logOf(10, 0)), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := shadowdiff(t, append(strings.Fields(records[0])[1:], "-listen", "127.0.0.1:0", "-sample", "100%")...)
	cmd.Dir = dir
	record := start(t, cmd, (*exec.Cmd).StderrPipe)
	clients := ""
	record.await("its address", func(line string) bool {
		var entry struct{ Msg, Clients string }
		json.Unmarshal([]byte(line), &entry) // lines that are no entry are not the one awaited
		clients = entry.Clients
		return entry.Msg == "recording"
	})
	for i := range 30 {
		res, err := http.Get(fmt.Sprintf("%s/products/%d", clients, 1001+i))
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
	}
	record.signal(os.Interrupt)
	code := record.wait()
	for _, logged := range []string{`"msg":"stopping"`, `"written":30`, `"msg":"stopped"`} {
		if code != exitOK || !strings.Contains(record.written(), logged) {
			t.Fatalf("exit code %d, no %s: %s", code, logged, record.written())
		}
	}
	for i, command := range replays {
		cmd := shadowdiff(t)
		cmd.Path, cmd.Args = "/bin/sh", []string{"sh", "-c", command}
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "TOKEN=t")
		out, _ := cmd.CombinedOutput()
		none := strings.Contains(string(out), "hold no request that may be asked") // no path of the shop begins with /api
		if code := cmd.ProcessState.ExitCode(); code == exitTrouble && !none || !none && !strings.Contains(string(out), "Asked 30 of 30 requests") {
			t.Errorf("%d: $ %s\nexit code %d\n%s", i, command, code, out)
		}
	}
}
