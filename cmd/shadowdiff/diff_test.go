package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The exit code is what scripts go by: 0 equal, 1 different, 2 trouble, in text and in JSON.
func TestDiffExitCodes(t *testing.T) {
	dir := t.TempDir()
	file := func(name, body string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	a, b := file("a.json", `{"a":1,"b":2}`), file("b.json", `{"b":2,"a":2}`)
	same, rules := file("same.json", `{"b":2.0,"a":1}`), file("rules.yaml", "- drop: body.a\n")
	for _, test := range []struct {
		args []string
		want int
	}{
		{[]string{a, same}, 0},
		{[]string{a, b}, 1},
		{[]string{"-rules", rules, a, b}, 0},
		{[]string{"-secondary", b, a, b}, 1}, // noise differs all the same
		{[]string{"-secondary", b, a, same}, 0},
		{[]string{a, "-"}, 1},
		{[]string{"-h"}, 0},
		{[]string{a}, 2},
		{[]string{a, filepath.Join(dir, "none")}, 2},
		{[]string{"-http", a, b}, 2},
		{[]string{"-rules", a, a, b}, 2},
	} {
		for _, form := range []string{"-json=false", "-json"} {
			var out, errs strings.Builder
			std := stdio{in: strings.NewReader("hello"), out: &out, err: &errs}
			if got := runDiff(append([]string{form}, test.args...), std); got != test.want {
				t.Errorf("%v %v: exit code %d, want %d\n%s%s", form, test.args, got, test.want, &out, &errs)
			}
			if (test.want == 2) != (errs.Len() > 0) {
				t.Errorf("%v: said %q", test.args, &errs)
			}
			if strings.Contains(out.String(), "\x1b") {
				t.Errorf("colours where there is no terminal: %q", &out)
			}
		}
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestDiffThatCannotWriteIsTrouble(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.json")
	if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, form := range []string{"-json=false", "-json"} {
		var errs strings.Builder
		code := runDiff([]string{form, path, path}, stdio{in: strings.NewReader(""), out: fullDisk{}, err: &errs})
		if code != exitTrouble || !strings.Contains(errs.String(), "write the answer: no space left") {
			t.Errorf("exit code %d: %s", code, &errs)
		}
	}
}

// FuzzParseResponse: whatever a file holds, it is a whole response or an error.
func FuzzParseResponse(f *testing.F) {
	for _, seed := range []string{
		"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nhello",
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X\r\n\r\n1;a=b\r\nx\r\n0\r\nX: 1\r\n\r\n",
		"HTTP/2 200 \ncontent-length: 3\n\nab",
		"HTTP/1.1 101 Switching Protocols\r\n\r\n",
		"HTTP/1.1 103 Early Hints\r\nLink: a",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
		"", "\n", "{}",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data string) {
		r, _, err := parseResponse([]byte(data))
		if err != nil {
			return
		}
		if r.Status < 100 || r.Status > 999 || int64(len(r.Body)) != r.Size || len(r.Body) > len(data) {
			t.Errorf("%q: status %d, size %d of %d", data, r.Status, r.Size, len(r.Body))
		}
	})
}
