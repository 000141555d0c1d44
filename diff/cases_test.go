package diff

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"shadowdiff/multicast"
	"shadowdiff/normalize"
)

// jsonCase is one line of fixtures/json/cases.jsonl: two answers and what is right to say of them, from public reports
// of what other comparers got wrong.
type jsonCase struct {
	ID               string
	Why              string
	Left, Right      *string
	LeftB64          string      `json:"left_b64"`
	RightB64         string      `json:"right_b64"`
	ContentType      string      `json:"content_type"`
	LeftContentType  string      `json:"left_content_type"`
	RightContentType string      `json:"right_content_type"`
	LeftHeaders      [][2]string `json:"left_headers"`
	RightHeaders     [][2]string `json:"right_headers"`
	LeftStatus       int         `json:"left_status"`
	RightStatus      int         `json:"right_status"`
	Secondary        *string
	Rules            []string
	Expect           struct {
		Equal      bool
		Diffs      []caseDiff
		AlsoOK     [][]caseDiff `json:"also_ok"`
		NoisePaths []string     `json:"noise_paths"`
	}
}

type caseDiff struct{ Path, Kind, Where string }

func readCases(t testing.TB) []jsonCase {
	t.Helper()
	file, err := os.Open("../fixtures/json/cases.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var cases []jsonCase
	for decoder := json.NewDecoder(file); ; {
		var c jsonCase
		if err := decoder.Decode(&c); err == io.EOF {
			return cases
		} else if err != nil {
			t.Fatal(err)
		}
		cases = append(cases, c)
	}
}

// laterRules are the cases whose rules this version does not have. The list can only become shorter.
var laterRules = strings.Fields(`
	array-unordered-rule-11 array-unordered-rule-12
	array-key-match-01 array-key-match-02 array-key-match-03 array-key-match-05 array-key-match-06 array-key-match-09
	array-key-match-10 array-key-match-13 array-key-match-14 array-key-match-15 array-key-match-16 array-key-match-17
	number-rule-01 number-rule-02 number-rule-04 number-rule-05 number-rule-06 number-rule-07 number-rule-09
	number-rule-12 number-rule-13 number-rule-14 number-rule-16 number-rule-17
	null-missing-empty-12 null-missing-empty-13 null-missing-empty-14 null-missing-empty-15 null-missing-empty-16
	timestamps-02 timestamps-03 timestamps-04 timestamps-06 timestamps-07 timestamps-08 timestamps-09 timestamps-10
	timestamps-11 timestamps-14 timestamps-15
	uuid-mask-03 uuid-mask-04 uuid-mask-06 uuid-mask-07 uuid-mask-10
	opaque-strings-03 opaque-strings-05 opaque-strings-08 opaque-strings-09 opaque-strings-11 opaque-strings-12
	path-rules-19 path-rules-20 path-rules-21 path-rules-23 path-rules-24 path-rules-25 path-rules-27 path-rules-28
`)

// laterCharsets are the cases with bodies in charsets that this version does not read. It too can only become shorter.
var laterCharsets = []string{"encoding-06"}

// caseRules are the rules of the other cases, as this version writes them.
var caseRules = map[string][]normalize.RuleConfig{
	"compare /tags as an unordered multiset": {{Sort: "body.tags"}},
	"compare /data as unordered":             {{Sort: "body.data"}},
	"compare /a as unordered":                {{Sort: "body.a"}},
	"compare the root array as unordered":    {{Sort: "body"}},
	"sort /l by k":                           {{Sort: "body.l"}},
	"drop /data/*/at":                        {{Drop: "body.data[].at"}},
	"drop /tok":                              {{Drop: "body.tok"}},
	"drop /lap":                              {{Drop: "body.lap"}},
	"drop /Run":                              {{Drop: "body.Run"}},
	"drop /beds/*/plot/wet":                  {{Drop: "body.beds[].plot.wet"}},
	"drop /items/0/s":                        {{Drop: "body.items[0].s"}},
	"drop /jobs/*/pid":                       {{Drop: "body.jobs[].pid"}},
	"drop /tmp":                              {{Drop: "body.tmp"}},
	"drop /hull/wax":                         {{Drop: "body.hull.wax"}},
	"drop /tide":                             {{Drop: "body.tide"}},
	"drop members whose name matches ^tmp- at any depth": {{Drop: "body.**.{/^tmp-/}"}},
	"drop members whose name matches (?i)time$":          {{Drop: "body.**.{/(?i)time$/}"}},
	"drop the member of /env named db.host":              {{Drop: `body.env["db.host"]`}},
	"drop /*/k":                                          {{Drop: "body.*.k"}, {Drop: "body[].k"}},
	"drop /a":                                            {{Drop: "body.a"}},
	"drop /meta":                                         {{Drop: "body.meta"}},
	"ignore header content-encoding":                     {{Drop: "header.content-encoding"}},
	"ignore header DATE":                                 {{Drop: "header.DATE"}},
	"a digest header (ETag, Content-MD5, Digest) follows the verdict of the body": nil, // always
}

func TestCasesFromPublicReports(t *testing.T) {
	cases := readCases(t)
	if len(cases) != 273 {
		t.Errorf("%d cases, want 273", len(cases))
	}
	for _, c := range cases {
		if slices.Contains(laterRules, c.ID) || slices.Contains(laterCharsets, c.ID) {
			continue
		}
		t.Run(c.ID, func(t *testing.T) {
			var cfg normalize.Config
			for _, text := range c.Rules {
				rules, ok := caseRules[text]
				if !ok {
					t.Fatalf("no rule for %q", text)
				}
				cfg.Rules = append(cfg.Rules, rules...)
			}
			n, err := normalize.New(cfg)
			if err != nil {
				t.Fatal(err)
			}
			left, right := c.left(), c.right()
			got := c.compare(n, left, right)
			if !c.expected(got) {
				t.Errorf("%s\nleft  %.300s\nright %.300s\nrules %q\ngot  %v\nwant %v or %v",
					c.Why, left.Body, right.Body, c.Rules, got, c.Expect.Diffs, c.Expect.AlsoOK)
			}
			if c.Secondary == nil {
				return
			}
			secondary := *left
			secondary.Body = []byte(*c.Secondary)
			var noise []string
			for _, d := range c.compare(n, left, &secondary) {
				noise = append(noise, d.Path)
			}
			slices.Sort(noise)
			slices.Sort(c.Expect.NoisePaths)
			if len(noise)+len(c.Expect.NoisePaths) > 0 && !slices.Equal(slices.Compact(noise), c.Expect.NoisePaths) {
				t.Errorf("noise at %q, want %q", noise, c.Expect.NoisePaths)
			}
		})
	}
}

func (c *jsonCase) left() *multicast.Response {
	return caseResponse(c.Left, c.LeftB64, c.ContentType+c.LeftContentType, c.LeftHeaders, c.LeftStatus)
}

func (c *jsonCase) right() *multicast.Response {
	return caseResponse(c.Right, c.RightB64, c.ContentType+c.RightContentType, c.RightHeaders, c.RightStatus)
}

func caseResponse(body *string, b64, contentType string, headers [][2]string, status int) *multicast.Response {
	r := &multicast.Response{Outcome: multicast.OutcomeOK, Status: 200, Header: http.Header{}}
	if status != 0 {
		r.Status = status
	}
	if body != nil {
		r.Body = []byte(*body)
	} else {
		r.Body, _ = base64.StdEncoding.DecodeString(b64)
	}
	for _, h := range headers {
		r.Header.Add(h[0], h[1])
	}
	if contentType == "" {
		contentType = "application/json"
	}
	if r.Header.Get("Content-Type") == "" {
		r.Header.Set("Content-Type", contentType)
	}
	return r
}

// compare lists the differences in the words of the cases, which are coarser. A content type given beside the headers
// tells how to read the body and is not compared.
func (c *jsonCase) compare(n *normalize.Normalizer, left, right *multicast.Response) []caseDiff {
	differences, _ := Compare(n.Document("GET /", multicast.Primary, left, nil), n.Document("GET /", multicast.Candidate, right, nil), DefaultLimits())
	var got []caseDiff
	for _, d := range differences {
		given := caseDiff{Kind: string(d.Kind)}
		switch d.Kind {
		case KindFormat, KindLength:
			given.Kind = "value"
		case KindContent:
			given.Kind = "type"
		}
		header, isHeader := strings.CutPrefix(d.Field, "header.")
		switch {
		case d.Field == "status":
			given.Where = "status"
		case strings.HasPrefix(d.Field, "cookie."):
			given.Where, given.Path = "header", "/set-cookie"
		case isHeader:
			if header == "content-type" && len(c.LeftHeaders)+len(c.RightHeaders) == 0 {
				continue
			}
			given.Where, given.Path = "header", "/"+header
		case d.LeftPointer != nil:
			given.Path = *d.LeftPointer
		default:
			given.Path = *d.RightPointer
		}
		got = append(got, given)
	}
	return got
}

// expected tells whether this list, in any order, is one of the right answers.
func (c *jsonCase) expected(got []caseDiff) bool {
	sorted := func(list []caseDiff) []caseDiff {
		list = slices.Clone(list)
		slices.SortFunc(list, func(a, b caseDiff) int {
			return strings.Compare(a.Where+"\x00"+a.Path+"\x00"+a.Kind, b.Where+"\x00"+b.Path+"\x00"+b.Kind)
		})
		return list
	}
	for _, want := range append([][]caseDiff{c.Expect.Diffs}, c.Expect.AlsoOK...) {
		if slices.Equal(sorted(got), sorted(want)) {
			return true
		}
	}
	return false
}
