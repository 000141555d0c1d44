package traffic

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fuzzFormat reads anything as one format: it ends, and what it takes for a request can be written and read again.
func fuzzFormat(f *testing.F, format Format, seeds ...string) {
	for _, name := range seeds {
		text, err := os.ReadFile(recorded + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
		f.Add(text[:len(text)/2])
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := newReader("f", bytes.NewReader(text), format)
		if err != nil {
			return
		}
		defer r.Close()
		for n := 0; ; n++ {
			rec, err := r.Next()
			if err == io.EOF {
				return
			}
			if n > len(text)+2 {
				t.Fatal("it has more requests than bytes")
			}
			if bad, is := errors.AsType[*Bad](err); is {
				if bad.Why == "" {
					t.Fatal("a bad line without a reason")
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, err := http.NewRequest(rec.Request.Method, "http://a", nil); err != nil {
				t.Fatalf("%q: %v", rec.Request.Method, err)
			}
			again(t, rec)
		}
	})
}

// again writes a record down and reads it.
func again(t *testing.T, rec *Record) {
	t.Helper()
	var line bytes.Buffer
	if err := appendRecord(&line, rec); err != nil {
		return // a time that JSON cannot have
	}
	if got := bytes.Count(line.Bytes(), []byte("\n")); got != 1 {
		t.Fatalf("a record of %d lines", got)
	}
	read, err := parseRecord(line.Bytes())
	if err != nil {
		t.Fatalf("%s: %v", line.Bytes(), err)
	}
	if read.Request.Method != rec.Request.Method || read.Request.Host != rec.Request.Host || !bytes.Equal(read.Request.Body, rec.Request.Body) {
		t.Fatalf("written and read: %s", cmp.Diff(rec, read))
	}
}

func FuzzHAR(f *testing.F)       { fuzzFormat(f, FormatHAR, "chromium.har") }
func FuzzGoReplay(f *testing.F)  { fuzzFormat(f, FormatGor, "goreplay.gor") }
func FuzzAccessLog(f *testing.F) { fuzzFormat(f, FormatLog, "nginx.log") }
func FuzzCurl(f *testing.F)      { fuzzFormat(f, FormatCurl, "curl.txt") }
func FuzzRecording(f *testing.F) {
	f.Add([]byte("{\"recording\":1}\n{\"request\":{\"method\":\"GET\",\"target\":\"/\",\"body_base64\":\"AP8=\"}}\n"))
	fuzzFormat(f, FormatNDJSON)
}
