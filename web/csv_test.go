package web

import (
	"encoding/csv"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// The table has what the list has, row by row.
func TestFieldsAsATable(t *testing.T) {
	r := newRig(t, shop("1"), shop("2"), nil)
	r.ask(40, "/products/1")
	r.ask(3, "/orders/1")
	a := r.do(http.MethodGet, "/api/v1/fields?format=csv", "")
	if a.header.Get("Content-Type") != "text/csv; charset=utf-8; header=present" || a.header.Get("Content-Disposition") != "attachment; filename*=UTF-8''shadowdiff-run-1-fields.csv" {
		t.Errorf("%v", a.header)
	}
	rows, err := csv.NewReader(strings.NewReader(a.body)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(a.body, "\r\n") != len(rows) || strings.Join(rows[0], ",") != fieldColumns {
		t.Errorf("%d lines end in CR LF of %d, and the first is %q", strings.Count(a.body, "\r\n"), len(rows), rows[0])
	}
	var items list[map[string]any]
	decode(t, r.get("/api/v1/fields?limit=1000"), &items)
	if len(rows)-1 != len(items.Items) || len(items.Items) < 4 {
		t.Fatalf("%d rows, %d items", len(rows)-1, len(items.Items))
	}
	for i, item := range items.Items {
		row := rows[i+1]
		for column, name := range rows[0] {
			if got, want := row[column], asCell(t, item[name]); got != want {
				t.Errorf("row %d: %s is %q, in the list %q", i, name, got, want)
			}
		}
	}
	part := r.do(http.MethodGet, "/api/v1/fields?format=csv&limit=1&confirmed=true", "")
	link := part.header.Get("Link")
	if strings.Count(part.body, "\r\n") != 2 || !strings.HasPrefix(link, "</api/v1/fields?") || !strings.HasSuffix(link, `>; rel="next"`) {
		t.Fatalf("a page: %q %q", link, part.body)
	}
	second := r.get(strings.TrimSuffix(link[1:], `>; rel="next"`))
	if strings.Count(second, "\r\n") != 2 || second == part.body {
		t.Errorf("the next page: %q", second)
	}
}

func asCell(t *testing.T, v any) string {
	t.Helper()
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	default:
		text, err := encode(v)
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(text))
	}
}

// A spreadsheet takes no name for a formula, and who takes one apostrophe away has the name.
func TestNoCellIsAFormula(t *testing.T) {
	for text, cell := range map[string]string{
		"GET /a":                            `"GET /a"`,
		`=HYPERLINK("http://evil","click")`: `"'=HYPERLINK(""http://evil"",""click"")"`,
		"+1":                                `"'+1"`,
		"-1":                                `"'-1"`,
		"@SUM(A1)":                          `"'@SUM(A1)"`,
		"\t=1":                              "\"'\t=1\"",
		"\r\n=1":                            "\"'\r\n=1\"",
		"＝1":                                `"'＝1"`,
		"'quoted":                           `"''quoted"`,
		"a,b\n\"c\"":                        "\"a,b\n\"\"c\"\"\"",
		"":                                  `""`,
	} {
		if got := string(appendCell(nil, text)); got != cell {
			t.Errorf("%q is written %s, want %s", text, got, cell)
		}
	}
}

// FuzzCell: a cell is one cell whatever it holds, begins no formula, and gives the text back.
func FuzzCell(f *testing.F) {
	for _, seed := range []string{"", "=1+1", "'", "\"", "\",\"", "\r", "＋x", "\xff", "a\nb"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		line := string(appendCell(nil, text)) + ",end"
		rows, err := csv.NewReader(strings.NewReader(line)).ReadAll()
		if err != nil || len(rows) != 1 || len(rows[0]) != 2 || rows[0][1] != "end" {
			t.Fatalf("%q is written %q, read %q, %v", text, line, rows, err)
		}
		inner := strings.ReplaceAll(line[1:len(line)-len(`",end`)], `""`, `"`)
		first := []rune(inner + " ")[0]
		if slices.Contains([]rune("=+-@\t\r\n＝＋－＠"), first) {
			t.Errorf("%q is written %q, which begins a formula", text, line)
		}
		if back := strings.TrimPrefix(inner, "'"); back != text {
			t.Errorf("%q comes back as %q", text, back)
		}
	})
}
