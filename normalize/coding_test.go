package normalize

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"

	"shadowdiff/multicast"
)

// encode applies one content coding; "raw" is deflate without zlib's frame.
func encode(t testing.TB, coding string, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	var w interface {
		Write([]byte) (int, error)
		Close() error
	}
	var err error
	switch coding {
	case "gzip", "x-gzip":
		w = gzip.NewWriter(&b)
	case "deflate":
		w = zlib.NewWriter(&b)
	case "raw":
		w, err = flate.NewWriter(&b, 5)
	case "br":
		w = brotli.NewWriter(&b)
	case "zstd":
		w, err = zstd.NewWriter(&b, zstd.WithEncoderConcurrency(1))
	default:
		t.Fatalf("no coding %s", coding)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func codedResponse(coding string, body []byte) *multicast.Response {
	return &multicast.Response{Status: 200, Header: http.Header{"Content-Encoding": {coding}}, Body: body}
}

func TestCodingsAreUndone(t *testing.T) {
	n := mustNew(t)
	plain := []byte(`{"a":[` + strings.Repeat(`"text that repeats",`, 2000) + `1]}`)
	want := mustParse(t, string(plain))
	for round := range 3 { // readers are used again
		for _, tc := range []struct{ coding, as string }{
			{"gzip", "gzip"},
			{"x-gzip", "X-GZip"},
			{"deflate", "deflate"},
			{"raw", "deflate"},
			{"br", "br"},
			{"zstd", "zstd"},
			{"gzip", "identity, gzip"},
		} {
			d := n.Document("", multicast.Primary, codedResponse(tc.as, encode(t, tc.coding, plain)), nil)
			if d.Body.Kind != JSON || !d.Body.Root.Equal(want) || string(d.Body.Bytes) != string(plain) || d.Body.Note != "" {
				t.Errorf("round %d, %s: kind %d, %q", round, tc.as, d.Body.Kind, d.Body.Note)
			}
		}
	}
	twice := encode(t, "br", encode(t, "gzip", encode(t, "zstd", plain)))
	resp := codedResponse("zstd", twice)
	resp.Header.Add("Content-Encoding", "gzip, br")
	if d := n.Document("", multicast.Primary, resp, nil); d.Body.Kind != JSON {
		t.Errorf("stacked: kind %d, %q", d.Body.Kind, d.Body.Note)
	}
	two := append(encode(t, "gzip", []byte("[1,")), encode(t, "gzip", []byte("2]"))...)
	if d := n.Document("", multicast.Primary, codedResponse("gzip", two), nil); string(d.Body.Bytes) != "[1,2]" {
		t.Errorf("two members: %q", d.Body.Bytes)
	}
}

// mustLimit is a Normalizer with another limit on decoded bodies.
func mustLimit(t testing.TB, limit int64) *Normalizer {
	t.Helper()
	n, err := New(Config{MaxDecoded: limit})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// What cannot be undone is binary, as sent, and says why.
func TestCodingsThatCannotBeUndone(t *testing.T) {
	const limit = 1 << 16
	n := mustLimit(t, limit)
	plain := []byte(`{"a":1}`)
	for _, tc := range []struct {
		coding string
		body   []byte
		note   string
	}{
		{"gzip", plain, "not decoded: gzip: "},
		{"gzip", encode(t, "gzip", plain)[:15], "not decoded: gzip: unexpected EOF"},
		{"deflate", []byte{0x78, 0x9c, 1, 2, 3}, "not decoded: deflate: "},
		{"deflate", append(encode(t, "deflate", plain), "tail"...), "not decoded: deflate: 4 bytes follow its end"},
		{"br", append(encode(t, "br", plain), "tail"...), "not decoded: br: "},
		{"br", []byte("\xff\xff\xff"), "not decoded: br: "},
		{"zstd", []byte("nothing"), "not decoded: zstd: "},
		{"zstd", append(encode(t, "zstd", plain), "tail"...), "not decoded: zstd: "},
		{"compress", plain, "not decoded: compress: an unknown coding"},
		{"gzip, gzip, gzip, gzip, gzip", plain, "not decoded: 5 content codings, at most 4 are undone"},
		{"gzip", encode(t, "gzip", bytes.Repeat([]byte("0"), limit+1)), "not decoded: gzip: it decodes to over the limit"},
		{"zstd", encode(t, "zstd", bytes.Repeat([]byte("0"), limit+1)), "not decoded: zstd: it decodes to over the limit"},
		{"br", encode(t, "br", bytes.Repeat([]byte("0"), limit+1)), "not decoded: br: it decodes to over the limit"},
		{"deflate", encode(t, "deflate", bytes.Repeat([]byte("0"), limit+1)), "not decoded: deflate: it decodes to over the limit"},
	} {
		b := n.Document("", multicast.Primary, codedResponse(tc.coding, tc.body), nil).Body
		if b.Kind != Binary || !strings.HasPrefix(b.Note, tc.note) || !bytes.Equal(b.Bytes, tc.body) || b.Size != int64(len(tc.body)) {
			t.Errorf("%s: kind %d, note %q", tc.coding, b.Kind, b.Note)
		}
	}
	exact := encode(t, "gzip", bytes.Repeat([]byte("0"), limit))
	if b := n.Document("", multicast.Primary, codedResponse("gzip", exact), nil).Body; b.Size != limit {
		t.Errorf("a body of just the limit: %d, %q", b.Size, b.Note)
	}
	if b := n.Document("", multicast.Primary, codedResponse("gzip", encode(t, "gzip", nil)), nil).Body; b.Kind != Empty {
		t.Errorf("nothing, zipped: kind %d", b.Kind)
	}
}

// Memory is reserved before it is taken and never beyond the limit, and a refusal leaves nothing to judge.
func TestDecodingReserves(t *testing.T) {
	bomb := encode(t, "gzip", make([]byte, 4<<20))
	const limit = 1 << 16
	n := mustLimit(t, limit)
	var taken int64
	b := n.Document("", multicast.Primary, codedResponse("gzip", bomb), func(n int64) bool { taken += n; return true }).Body
	if taken > limit+1 || b.Kind != Binary {
		t.Errorf("a bomb took %d bytes", taken)
	}
	b = n.Document("", multicast.Primary, codedResponse("gzip", bomb), func(int64) bool { return false }).Body
	if !b.Refused || b.Kind != Digest || b.Size != int64(len(bomb)) || b.Note == "" {
		t.Errorf("refused: %+v", b)
	}
	large := codedResponse("identity", []byte("["+strings.Repeat("1,", 400_000)+"1]"))
	b = n.Document("", multicast.Primary, large, func(int64) bool { return false }).Body
	if !b.Refused || b.Kind != Digest {
		t.Errorf("refused while parsing: kind %d", b.Kind)
	}
}

// One Normalizer serves many comparers.
func TestManyAtOnce(t *testing.T) {
	n := mustNew(t, RuleConfig{Drop: "body.**.drop"}, RuleConfig{Sort: "body.list"})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			coding := []string{"gzip", "deflate", "br", "zstd"}[i%4]
			for j := range 12 {
				left := fmt.Sprintf(`{"list":[1,%d,{"a":%d}],"drop":%d}`, i, j, i)
				right := fmt.Sprintf(`{"drop":null,"list":[{"drop":1,"a":%d},%d,1]}`, j, i)
				a := n.Document("", multicast.Primary, codedResponse(coding, encode(t, coding, []byte(left))), nil)
				b := n.Document("", multicast.Primary, codedResponse("identity", []byte(right)), nil)
				if !a.Body.Root.Equal(b.Body.Root) {
					t.Errorf("%s differs from %s", left, right)
				}
			}
		})
	}
	wg.Wait()
}

func FuzzDecode(f *testing.F) {
	for _, coding := range []string{"gzip", "deflate", "raw", "br", "zstd"} {
		as := strings.Replace(coding, "raw", "deflate", 1)
		f.Add(as, encode(f, coding, []byte(`{"a":[1,2,3]}`)))
		f.Add(as+", gzip", encode(f, "gzip", encode(f, coding, bytes.Repeat([]byte("x"), 5000))))
	}
	f.Add("gzip", []byte("plain"))
	const limit = 4096
	n, err := New(Config{MaxDecoded: limit})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, coding string, body []byte) {
		if len(body) == 0 {
			return
		}
		var taken int64
		b := n.Document("", multicast.Primary, codedResponse(coding, body), func(n int64) bool { taken += n; return true }).Body
		if taken > maxCodings*(limit+firstStep) {
			t.Errorf("%d bytes were reserved", taken)
		}
		if b.Note == "" && coding != "" && len(contentCodings(http.Header{"Content-Encoding": {coding}})) > 0 && b.Size > limit {
			t.Errorf("%d bytes decoded", b.Size)
		}
		if strings.HasPrefix(b.Note, "not decoded") && (b.Kind != Binary || !bytes.Equal(b.Bytes, body)) {
			t.Errorf("%q is not as sent", b.Note)
		}
	})
}
