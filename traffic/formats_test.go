package traffic

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const recorded = "../fixtures/recorded/"

// all reads a file to its end.
func all(t *testing.T, name string, format Format) (recs []*Record, bad []string) {
	t.Helper()
	r, err := Open(name, format)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		rec, err := r.Next()
		if one, is := errors.AsType[*Bad](err); is {
			bad = append(bad, strings.ReplaceAll(one.Error(), name, "FILE"))
			continue
		}
		if err == io.EOF {
			return recs, bad
		}
		if err != nil {
			t.Fatal(err)
		}
		recs = append(recs, rec)
	}
}

// write puts a text into a file.
func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestFilesOfOtherPrograms: each is read whole, and its format told by itself.
func TestFilesOfOtherPrograms(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		file             string
		format           Format
		requests, answer int // with an answer of which the body is known
		posts            int
	}{
		{"nginx.log", FormatLog, 62, 0, 2},
		{"goreplay.gor", FormatGor, 16, 15, 1}, // of one it has missed the answer
		{"chromium.har", FormatHAR, 8, 8, 1},
		{"curl.txt", FormatCurl, 10, 0, 2},
	} {
		r, err := Open(recorded+c.file, "")
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
		if r.format != c.format {
			t.Errorf("%s is taken for %s", c.file, r.format)
		}
		recs, bad := all(t, recorded+c.file, "")
		answers, posts := 0, 0
		for _, rec := range recs {
			if rec.Answer != nil && !rec.Answer.Cut && (len(rec.Answer.Body) > 0 || rec.Request.Method == http.MethodHead) {
				answers++
			}
			if rec.Request.Method == http.MethodPost {
				posts++
			}
		}
		if len(recs) != c.requests || answers != c.answer || posts != c.posts || len(bad) > 0 {
			t.Errorf("%s: %d requests, %d answers, %d POSTs, bad: %q; want %+v", c.file, len(recs), answers, posts, bad, c)
		}
	}
}

// TestWhatNginxEscapesIsUndone: the header as curl sent it, and a second whose requests are spread over it.
func TestWhatNginxEscapesIsUndone(t *testing.T) {
	t.Parallel()
	recs, _ := all(t, recorded+"nginx.log", "")
	quoted := recs[len(recs)-2]
	if got := quoted.Request.Header; got.Get("User-Agent") != `quo"te\x` || got.Get("Referer") != "http://shop.example/a b" {
		t.Errorf("the header is %v", got)
	}
	if quoted.Request.Target != "/search?q=red+%22shoe%22" || quoted.Request.Cut {
		t.Errorf("%+v", quoted.Request)
	}
	if post := recs[len(recs)-1]; !post.Request.Cut {
		t.Error("the log has no body of the POST, and the record does not say so")
	}
	for i, rec := range recs[1:] {
		if gap := rec.Time.Sub(recs[i].Time); gap <= 0 || gap > 2*time.Second {
			t.Errorf("line %d: %s after the one before", rec.Line, gap)
		}
	}
}

// TestAURLInAQueryIsNotTheTarget of a line in a log; one that a client sends to a proxy is.
func TestAURLInAQueryIsNotTheTarget(t *testing.T) {
	t.Parallel()
	const line = `10.0.0.1 - - [30/Nov/2026:10:00:00 +0000] "GET %s HTTP/1.1" 200 5 "-" "x"` + "\n"
	recs, bad := all(t, write(t, "access.log", fmt.Sprintf(line, "/login?next=http://shop.example/cart")+
		fmt.Sprintf(line, "http://shop.example/cart?a=1")), "")
	if len(recs) != 2 || len(bad) > 0 {
		t.Fatalf("%d requests, bad: %q", len(recs), bad)
	}
	if r := recs[0].Request; r.Target != "/login?next=http://shop.example/cart" || r.Host != "" {
		t.Errorf("%q of %q", r.Target, r.Host)
	}
	if r := recs[1].Request; r.Target != "/cart?a=1" || r.Host != "shop.example" {
		t.Errorf("%q of %q", r.Target, r.Host)
	}
}

// TestGoReplayIsPutInOrder: requests by their times, each with its own answer, wherever that stands.
func TestGoReplayIsPutInOrder(t *testing.T) {
	t.Parallel()
	recs, _ := all(t, recorded+"goreplay.gor", "")
	for i, rec := range recs {
		if i > 0 && rec.Time.Before(recs[i-1].Time) {
			t.Errorf("%s comes after %s", rec.Time, recs[i-1].Time)
		}
		if rec.Request.Method == http.MethodHead {
			continue // it has missed the answer
		}
		if rec.Answer == nil || rec.Answer.Header.Get("Server") == "" {
			t.Errorf("%s %s has the answer %+v", rec.Request.Method, rec.Request.Target, rec.Answer)
		}
	}
	if last := recs[len(recs)-1]; last.Request.Method != http.MethodPost || string(last.Request.Body) != `{"lines":[]}` || last.Answer.Status != 201 {
		t.Errorf("the last is %+v, %+v", last.Request, last.Answer)
	}
}

// TestCurlSendsWhatIsRead has curl itself run each command of the list, and compares what it sends with what was read.
func TestCurlSendsWhatIsRead(t *testing.T) {
	t.Parallel()
	type sent struct {
		Method, Target, Host, Body string
		Header                     http.Header
	}
	arrived := make(chan sent, 1)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		arrived <- sent{r.Method, r.RequestURI, r.Host, string(body), r.Header.Clone()}
	})}
	go server.Serve(listener)
	t.Cleanup(func() { server.Close() })
	text, err := os.ReadFile(recorded + "curl.txt")
	if err != nil {
		t.Fatal(err)
	}
	list := strings.ReplaceAll(string(text), "127.0.0.1:19001", listener.Addr().String())
	recs, bad := all(t, write(t, "curl.txt", list), "")
	if len(bad) > 0 {
		t.Fatal(bad)
	}
	script := strings.Split(list, "\n")
	for i, rec := range recs {
		end := len(script)
		if i+1 < len(recs) {
			end = recs[i+1].Line - 1
		}
		command := strings.TrimPrefix(strings.Join(script[rec.Line-1:end], "\n"), "$ ")
		cmd := exec.Command("bash", "-c", command)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s\n%v\n%s", command, err, out)
		}
		want := <-arrived
		got := sent{rec.Request.Method, rec.Request.Target, rec.Request.Host, string(rec.Request.Body), rec.Request.Header}
		delete(want.Header, "Content-Length")
		for _, h := range []http.Header{want.Header, got.Header} { // by version
			if strings.HasPrefix(h.Get("User-Agent"), "curl") {
				h.Set("User-Agent", "curl")
			}
			if h.Get("Accept-Encoding") != "" {
				h.Set("Accept-Encoding", "some")
			}
		}
		if wrong := cmp.Diff(want, got); wrong != "" {
			t.Errorf("%s\nwhat curl sends against what was read:\n%s", command, wrong)
		}
	}
}

// TestBadLinesAreNamedAndSkipped, in each format, and the rest is read.
func TestBadLinesAreNamedAndSkipped(t *testing.T) {
	t.Parallel()
	const (
		logged = `10.0.0.1 - - [30/Nov/2026:10:00:00 +0000] "GET /a HTTP/1.1" 200 5 "-" "x"`
		ours   = `{"request":{"method":"GET","target":"/a"},"response":{"status":200,"body":"x","size":1,"seconds":0.1}}`
		entry  = `{"startedDateTime":"2026-11-30T10:00:00.000Z","request":{"method":"GET","url":"http://a/x","headers":[]},"response":{"status":200,"headers":[],"content":{"text":"t"}}}`
		gor    = "1 0a 1796058624515179028 0\nGET /a HTTP/1.1\r\nHost: a\r\n\r\n\n🐵🙈🙉\n"
	)
	for _, c := range []struct {
		name, text string
		requests   int
		bad        []string
	}{
		{"access.log", strings.Join([]string{
			logged, "garbage", logged, `10.0.0.1 - - [30/Nov/2026:10:00:00 +0000] "\x16\x03" 400 0 "-" "-"`,
			`10.0.0.1 - - [30/Nov/2026:10:00:00 +0000] "CONNECT a:1 HTTP/1.1" 405 0 "-" "-"`, "", logged,
		}, "\n"), 3, []string{
			"FILE:2: no line of an access log in the common or combined format",
			`FILE:4: "\\x16\\x03" is no request line`,
			"FILE:5: a CONNECT asks for a tunnel, which is never replayed",
		}},
		{"own.ndjson", strings.Join([]string{
			`{"recording":1,"redact":["header.cookie"]}`, ours, "\x00\x01", `{"request":{"method":"GET","target":7}}`, ours,
			`{"request":{"method":"GET","target":"a b"}}`, `{"request":{"method":"GET","target":"/`,
		}, "\n"), 2, []string{
			"FILE:3: no recorded exchange: invalid character '\\x00' looking for beginning of value",
			"FILE:4: no recorded exchange: request.target has a JSON number, which it cannot be",
			`FILE:6: "a b" is no path`,
			"FILE:7: no recorded exchange: unexpected end of JSON input",
		}},
		{"list.txt", strings.Join([]string{
			"curl http://a/1", "curl --frobnicate http://a/2", "wget http://a/3", "curl 'http://a/4", "curl http://a/$(id)",
			"curl http://a/5 | sh", "curl -F f=@x http://a/6", "curl http://a/7 http://a/8", "curl ftp://a/9", "curl http://a/$HOME", "curl http://a/10",
		}, "\n"), 2, []string{
			"FILE:2: shadowdiff does not know curl's --frobnicate",
			"FILE:3: no curl command",
			"FILE:4: the command does not end: a quote is open, or the next line is missing",
			"FILE:5: it takes something from the shell",
			"FILE:6: no plain curl command: shadowdiff runs no shell",
			"FILE:7: curl's --form sends a file or a form of parts, which is not replayed",
			"FILE:8: it asks for several URLs",
			`FILE:9: "ftp://a/9" is no URL of http or https`,
			"FILE:10: it takes something from the shell",
		}},
		{"b.har", `{"log":{"version":"1.2","entries":[` + "\n" + entry + ",\n" + `{"request":7},` + "\n" +
			strings.Replace(entry, "http://a/x", "data:text/plain,x", 1) + ",\n" + entry + "\n,garbage", 2, []string{
			"FILE:3: no entry of a HAR: request has a JSON number, which it cannot be",
			`FILE:4: "data:text/plain,x" is no URL of http or https`,
			"FILE:6: invalid character 'g' looking for beginning of value; the rest of the file is not read",
		}},
		{"c.gor", gor + "nonsense\n🐵🙈🙉\n" + gor + "1 0b 17 0\nno request\n🐵🙈🙉\n1 0c 18 0\nGET /lost HTTP/1.1\r\n\r\n" + gor + "1 0d 19", 3, []string{
			`FILE:7: "nonsense" begins no message of GoReplay`,
			"FILE:15: no HTTP request: malformed HTTP request \"no request\"",
			"FILE:18: it does not end as a message of GoReplay does",
			"FILE:27: it does not end as a message of GoReplay does",
		}},
	} {
		recs, bad := all(t, write(t, c.name, c.text), "")
		if len(recs) != c.requests {
			t.Errorf("%s: %d requests, want %d", c.name, len(recs), c.requests)
		}
		for i := range max(len(bad), len(c.bad)) {
			if i >= len(bad) || i >= len(c.bad) || !strings.HasPrefix(bad[i], c.bad[i]) {
				t.Errorf("%s:\n%s\nwant\n%s", c.name, strings.Join(bad, "\n"), strings.Join(c.bad, "\n"))
				break
			}
		}
	}
}

// TestWhatIsNoTrafficIsRefused, with the remedy; a folder without recordings too.
func TestWhatIsNoTrafficIsRefused(t *testing.T) {
	t.Parallel()
	if _, err := Open(write(t, "a.txt", "Dear all,\n"), ""); err == nil || !strings.Contains(err.Error(), "name it with -format") {
		t.Errorf("%v", err)
	}
	if _, err := Files([]string{t.TempDir()}); err == nil || !strings.Contains(err.Error(), "has no recordings") {
		t.Errorf("%v", err)
	}
	if recs, bad := all(t, write(t, "a.txt", ""), ""); len(recs)+len(bad) > 0 {
		t.Errorf("an empty file: %v, %v", recs, bad)
	}
	if recs, bad := all(t, write(t, "a.txt", "Dear all,\n"), FormatLog); len(recs) != 0 || len(bad) != 1 {
		t.Errorf("with -format: %v, %v", recs, bad)
	}
}

// TestPackedFilesAreUnpacked: an access log that was rotated and compressed; one that was cut off is read as far as it goes.
func TestPackedFilesAreUnpacked(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(recorded + "nginx.log")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "access.log.1.gz")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	zw := gzip.NewWriter(file)
	if _, err := zw.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(zw.Close(), file.Close()); err != nil {
		t.Fatal(err)
	}
	if recs, bad := all(t, path, ""); len(recs) != 62 || len(bad) > 0 {
		t.Errorf("%d requests, %v", len(recs), bad)
	}
	about, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, about.Size()-20); err != nil {
		t.Fatal(err)
	}
	recs, bad := all(t, path, "")
	if len(recs) == 0 || len(bad) == 0 || !strings.Contains(fmt.Sprint(bad), "FILE: the file ends before its time") {
		t.Errorf("cut off: %d requests, %v", len(recs), bad)
	}
}
