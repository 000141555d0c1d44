package normalize

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"shadowdiff/multicast"
)

// publicCase is one pair of bodies from a public bug report of a comparer.
type publicCase struct {
	ID           string      `json:"id"`
	Why          string      `json:"why"`
	Left         *string     `json:"left"`
	Right        *string     `json:"right"`
	LeftBytes    []byte      `json:"left_b64"`
	RightBytes   []byte      `json:"right_b64"`
	ContentType  string      `json:"content_type"`
	LeftType     string      `json:"left_content_type"`
	RightType    string      `json:"right_content_type"`
	LeftHeaders  [][2]string `json:"left_headers"`
	RightHeaders [][2]string `json:"right_headers"`
	LeftStatus   int         `json:"left_status"`
	RightStatus  int         `json:"right_status"`
	Rules        []string    `json:"rules"`
	Expect       struct {
		Equal  bool    `json:"equal"`
		AlsoOK [][]any `json:"also_ok"`
	} `json:"expect"`
}

func (c *publicCase) responses() (left, right *multicast.Response) {
	side := func(text *string, raw []byte, media string, headers [][2]string, status int) *multicast.Response {
		resp := &multicast.Response{Status: status, Header: http.Header{}, Body: raw}
		if text != nil {
			resp.Body = []byte(*text)
		}
		if media == "" {
			media = c.ContentType
		}
		if media == "" {
			media = "application/json"
		}
		for _, h := range headers {
			resp.Header.Add(h[0], h[1])
		}
		if resp.Header.Get("Content-Type") == "" {
			resp.Header.Set("Content-Type", media)
		}
		return resp
	}
	left = side(c.Left, c.LeftBytes, c.LeftType, c.LeftHeaders, c.LeftStatus)
	return left, side(c.Right, c.RightBytes, c.RightType, c.RightHeaders, c.RightStatus)
}

// config reads the rules that are of this package's kinds; false means that there are others.
func (c *publicCase) config() (Config, bool) {
	unordered := regexp.MustCompile(`^compare (.*) as (?:an )?unordered(?: multiset)?$`)
	dropped := regexp.MustCompile(`^drop (/.*)$`)
	ignored := regexp.MustCompile(`^ignore header (.*)$`)
	var cfg Config
	for _, rule := range c.Rules {
		if m := unordered.FindStringSubmatch(rule); m != nil {
			cfg.Rules = append(cfg.Rules, RuleConfig{Sort: caseField(strings.TrimPrefix(m[1], "the root array"))})
		} else if m := dropped.FindStringSubmatch(rule); m != nil {
			cfg.Rules = append(cfg.Rules, RuleConfig{Drop: caseField(m[1])})
		} else if m := ignored.FindStringSubmatch(rule); m != nil {
			cfg.Headers.Ignore = append(cfg.Headers.Ignore, m[1])
		} else if rule == "drop members whose name matches ^tmp- at any depth" {
			cfg.Rules = append(cfg.Rules, RuleConfig{Drop: "body.**.{/^tmp-/}"})
		} else if rule == "drop members whose name matches (?i)time$" {
			cfg.Rules = append(cfg.Rules, RuleConfig{Drop: "body.**.{/(?i)time$/}"})
		} else if rule == "drop the member of /env named db.host" {
			cfg.Rules = append(cfg.Rules, RuleConfig{Drop: `body.env["db.host"]`})
		} else if !strings.HasPrefix(rule, "a digest header") {
			return cfg, false
		}
	}
	return cfg, true
}

// caseField turns a pointer with wildcards, in which * is an element and a number an index, into a field.
func caseField(pointer string) string {
	field := "body"
	for step := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		switch {
		case step == "":
		case step == "*":
			field += "[]"
		case isInteger(step):
			field += "[" + step + "]"
		default:
			field += "." + step
		}
	}
	return field
}

// sameDocument is whether two documents have no difference at all.
func sameDocument(a, b *Document) bool {
	body := bytes.Equal(a.Body.Bytes, b.Body.Bytes)
	if a.Body.Kind == JSON && b.Body.Kind == JSON {
		body = a.Body.Root.Equal(b.Body.Root)
	}
	headers := func(d *Document) []Header {
		var out []Header
		for _, h := range d.Headers {
			if !d.Body.Changed || h.Name != "etag" {
				out = append(out, h)
			}
		}
		return out
	}
	return body && a.Status == b.Status && reflect.DeepEqual(headers(a), headers(b)) && reflect.DeepEqual(a.Cookies, b.Cookies)
}

func TestPublicCases(t *testing.T) {
	f, err := os.Open("../fixtures/json/cases.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 8<<20)
	tried := 0
	for lines.Scan() {
		var c publicCase
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		cfg, ours := c.config()
		if !ours {
			continue
		}
		tried++
		n, err := New(cfg)
		if err != nil {
			t.Fatalf("%s: %v", c.ID, err)
		}
		left, right := c.responses()
		a, b := n.Document("", multicast.Primary, left, nil), n.Document("", multicast.Candidate, right, nil)
		if len(c.LeftHeaders)+len(c.RightHeaders) == 0 {
			a.Headers, b.Headers = nil, nil // the case is about bodies
		}
		equal := sameDocument(a, b)
		fits := equal == c.Expect.Equal
		for _, also := range c.Expect.AlsoOK {
			fits = fits || equal == (len(also) == 0)
		}
		if !fits {
			t.Errorf("%s: equal %t: %s", c.ID, equal, c.Why)
		}
	}
	if err := lines.Err(); err != nil || tried < 180 {
		t.Errorf("%d cases, %v", tried, err)
	}
}
