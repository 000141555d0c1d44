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

// caseRules are the cases' rules, which are in plain words there, as a rules file has them; "" is what holds without one.
var caseRules = map[string]string{
	"compare /tags as an unordered multiset": `[{sort: body.tags}]`,
	"compare /data as unordered":             `[{sort: body.data}]`,
	"compare /a as unordered":                `[{sort: body.a}]`,
	"compare the root array as unordered":    `[{sort: body}]`,
	"sort /l by k":                           `[{sort: body.l}]`,

	"match elements of /items by id":         `[{pair: body.items, by: id}]`,
	"match elements of /items by key":        `[{pair: body.items, by: key}]`,
	"match elements of /items by (ns, name)": `[{pair: body.items, by: [ns, name]}]`,

	"drop /data/*/at":       `[{drop: "body.data[].at"}]`,
	"drop /tok":             `[{drop: body.tok}]`,
	"drop /lap":             `[{drop: body.lap}]`,
	"drop /Run":             `[{drop: body.Run}]`,
	"drop /beds/*/plot/wet": `[{drop: "body.beds[].plot.wet"}]`,
	"drop /items/0/s":       `[{drop: "body.items[0].s"}]`,
	"drop /jobs/*/pid":      `[{drop: "body.jobs[].pid"}]`,
	"drop /tmp":             `[{drop: body.tmp}]`,
	"drop /hull/wax":        `[{drop: body.hull.wax}]`,
	"drop /tide":            `[{drop: body.tide}]`,
	"drop members whose name matches ^tmp- at any depth": `[{drop: "body.**.{/^tmp-/}"}]`,
	"drop members whose name matches (?i)time$":          `[{drop: "body.**.{/(?i)time$/}"}]`,
	"drop the member of /env named db.host":              `[{drop: 'body.env["db.host"]'}]`,
	"drop /*/k":                                          `[{drop: "body.*.k"}, {drop: "body[].k"}]`,
	"drop /a":                                            `[{drop: body.a}]`,
	"drop /x":                                            `[{drop: body.x}]`,
	"drop /meta":                                         `[{drop: body.meta}]`,

	"numbers under /tags may differ by up to 0.3":       `[{tolerate: body.tags, within: 0.3}]`,
	"numbers at /t may differ by up to 0.01":            `[{tolerate: body.t, within: 0.01}]`,
	"numbers at /t may differ by up to 0.1 (inclusive)": `[{tolerate: body.t, within: 0.1}]`,
	"numbers at /id may differ by up to 0.5":            `[{tolerate: body.id, within: 0.5}]`,
	"numbers at /t may differ by up to 1%":              `[{tolerate: body.t, within: 1%}]`,
	"numbers at /a may differ by up to 0.05":            `[{tolerate: body.a, within: 0.05}]`,

	"round /p to 0 decimals": `[{round: body.p, to: 0}]`,
	"round /k to 2 decimals": `[{round: body.k, to: 2}]`,
	"round /* to 6 decimals": `[{round: body, to: 6}]`,
	"round /v to 6 decimals": `[{round: body.v, to: 6}]`,
	"round /p to 2 decimals, halves away from zero, on the decimal text": `[{round: body.p, to: 2}]`,

	"treat null as missing":                `[{absent: body, when: null}]`,
	"treat null object members as missing": `[{absent: body, when: null}]`,

	"compare /at as an instant in time":                     `[{coerce: body.at, to: time}]`,
	"mask RFC 3339 timestamps in strings":                   `[{mask: body, pattern: '\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)', with: <time>}]`,
	"mask UUIDs in string values":                           `[{mask: body, pattern: '(?i)\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b', with: <uuid>}]`,
	"mask UUIDs in object keys under /by":                   `[{mask_keys: body.by, pattern: '(?i)\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b', with: <uuid>}]`,
	"lowercase strings at /city":                            `[{lower: body.city}]`,
	"lowercase strings at /s":                               `[{lower: body.s}]`,
	"lowercase all string values":                           `[{lower: body}]`,
	"rename user_name to userName":                          `[{rename: body.user_name, to: userName}]`,
	"in every element rename ID to id":                      `[{rename: "body[].ID", to: id}]`,
	"at /b compare base64-decoded bytes":                    `[{parse: body.b, as: base64}]`,
	"parse the string at /p as JSON and compare the values": `[{parse: body.p, as: json}]`,
	"ignore the order of query parameters in URLs at /next": `[{parse: body.next, as: url}]`,
	"at /token compare the JWT payload without iat and exp": `[{parse: body.token, as: jwt}, {drop: body.token.payload.iat}, {drop: body.token.payload.exp}]`,

	"ignore header content-encoding": `[{drop: header.content-encoding}]`,
	"ignore header DATE":             `[{drop: header.DATE}]`,
	"a digest header (ETag, Content-MD5, Digest) follows the verdict of the body": "",
}

// otherwise are the cases in which this comparison says more than was thought right there, with the reason.
var otherwise = map[string]struct {
	why  string
	want caseDiff
}{
	"opaque-strings-12":  {"a parsed query is compared as values, and says that it is the order which differs", caseDiff{"/next", "order", ""}},
	"non-json-bodies-06": {"HTML is compared as a tree, and says which elements stand in another order", caseDiff{"/html/head/meta", "order", ""}},
}

func TestCasesFromPublicReports(t *testing.T) {
	cases := readCases(t)
	if len(cases) != 273 {
		t.Errorf("%d cases, want 273", len(cases))
	}
	for _, c := range cases {
		t.Run(c.ID, func(t *testing.T) {
			var cfg normalize.Config
			for _, text := range c.Rules {
				file, ok := caseRules[text]
				if !ok {
					t.Fatalf("no rule for %q", text)
				}
				cfg.Rules = append(cfg.Rules, rulesOf(t, file)...)
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
	if finer, ok := otherwise[c.ID]; ok {
		return slices.Equal(got, []caseDiff{finer.want})
	}
	for _, want := range append([][]caseDiff{c.Expect.Diffs}, c.Expect.AlsoOK...) {
		if slices.Equal(sorted(got), sorted(want)) {
			return true
		}
	}
	return false
}
