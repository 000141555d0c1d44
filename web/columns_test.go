package web

import (
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"shadowdiff/diff"
	"shadowdiff/multicast"
	"shadowdiff/store"
)

// manyRoutes is a snapshot with so many routes, each compared as often as its number says.
func manyRoutes(n int) *store.Snapshot {
	v := &diff.Verdict{Budget: .001, Alpha: .05, Word: diff.Undecided}
	for i := range n {
		name := fmt.Sprintf("GET /r%04d", i)
		word := []diff.Word{diff.Undecided, diff.Different, diff.Equivalent}[i%3]
		v.Routes = append(v.Routes, &diff.Verdict{Route: &name, Compared: int64(i + 1), RawRate: float64(i%7) / 100, Word: word, Budget: .001})
		v.Compared += int64(i + 1)
		if i%10 == 0 {
			v.Differences = append(v.Differences, diff.Finding{Route: name, Field: fmt.Sprintf("body.f%d", i), Compared: int64(i + 1), Confirmed: true})
		}
	}
	return &store.Snapshot{Tallies: &diff.Tallies{}, Verdict: v}
}

func overviewAt(t *testing.T, snap *store.Snapshot, query string) *overviewPage {
	t.Helper()
	q, err := readQuery(httptest.NewRequest(http.MethodGet, "/?"+query, nil), overviewParameters[:]...)
	if err != nil {
		t.Fatal(err)
	}
	page, err := overviewOf(q, "/base", snap, multicast.Counts{})
	if err != nil {
		t.Fatal(err)
	}
	return page
}

// Pages that follow one another by their links hold each route once, in the order that is asked for.
func TestRoutesAreTurnedOver(t *testing.T) {
	snap := manyRoutes(250)
	for _, order := range []string{"", "sort=name", "sort=name&order=desc", "sort=compared", "sort=compared&order=asc", "sort=raw", "verdict=different"} {
		var rows []routeRow
		query, pages := order, 0
		for more := true; more; pages++ {
			page := overviewAt(t, snap, query)
			rows = append(rows, page.Routes.Rows...)
			if got := page.Routes.Pager.To; got != int64(len(rows)) {
				t.Fatalf("%s: %d rows are shown up to %d", query, len(rows), got)
			}
			next := page.Routes.Pager.After
			if more = next != ""; more {
				path, _, _ := strings.Cut(next, "#routes")
				query = strings.TrimPrefix(path, "/base/?")
			}
		}
		want := map[bool]int{false: 250, true: 83}[strings.HasPrefix(order, "verdict")]
		names := map[string]bool{}
		for _, row := range rows {
			names[row.Route] = true
		}
		if len(rows) != want || len(names) != want || pages != (want+99)/100 {
			t.Errorf("%q: %d rows of %d routes on %d pages, want %d", order, len(rows), len(names), pages, want)
		}
		sorted := slices.IsSortedFunc(rows, func(a, b routeRow) int {
			switch order {
			case "sort=name":
				return strings.Compare(a.Route, b.Route)
			case "sort=name&order=desc":
				return strings.Compare(b.Route, a.Route)
			case "sort=compared":
				return int(b.Compared - a.Compared)
			case "sort=compared&order=asc":
				return int(a.Compared - b.Compared)
			}
			return 0
		})
		if !sorted {
			t.Errorf("%q is in another order", order)
		}
	}
}

// A search leaves what has the text in its name, or in that of a field that leans, and every count says so.
func TestSearchLeavesWhatIsNamedSo(t *testing.T) {
	snap := manyRoutes(250)
	page := overviewAt(t, snap, "q=F10&sort=name")
	if page.All != 250 || page.Deciding != 25 {
		t.Errorf("totals of %d and %d change with a search", page.All, page.Deciding)
	}
	if page.Confirmed.Pager.Count != 2 || page.Routes.Pager.Count != 2 || page.Routes.Rows[0].Route != "GET /r0010" { // body.f10 and body.f100
		t.Errorf("found %d fields and %d routes", page.Confirmed.Pager.Count, page.Routes.Pager.Count)
	}
	if last := overviewAt(t, snap, "page=999"); last.Routes.Pager.From != 201 {
		t.Errorf("a page beyond the last begins at %d", last.Routes.Pager.From)
	}
	for _, bad := range []string{"sort=nme", "order=up", "page=0", "verdict=diferent", "by=worst"} {
		q, err := readQuery(httptest.NewRequest(http.MethodGet, "/?"+bad, nil), overviewParameters[:]...)
		if err == nil {
			_, err = overviewOf(q, "", snap, multicast.Counts{})
		}
		if err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}

// A column's head leads to its order, and from there to the other direction; it says which it is.
func TestHeadsTurnTheOrderRound(t *testing.T) {
	snap := manyRoutes(5)
	head := overviewAt(t, snap, "q=r").Routes.Head("compared", "Compared", "n")
	if head.Sorted != "" || head.Href != "/base/?q=r&sort=compared#routes" {
		t.Errorf("%+v", head)
	}
	head = overviewAt(t, snap, "sort=compared").Routes.Head("compared", "Compared", "n")
	if head.Sorted != "descending" || head.Href != "/base/?order=asc&sort=compared#routes" {
		t.Errorf("%+v", head)
	}
	head = overviewAt(t, snap, "sort=compared&order=asc").Routes.Head("compared", "Compared", "n")
	if head.Sorted != "ascending" || head.Href != "/base/?sort=compared#routes" {
		t.Errorf("%+v", head)
	}
}

// Put together again, the places of a field are its name.
func TestFieldsStandBelowTheirPlaces(t *testing.T) {
	for field, want := range map[string][]string{
		"status":                   {"status"},
		"body.items[].price":       {"body", ".items[]", ".price"},
		`body["a.b"]["x [y]"].z`:   {"body", `["a.b"]`, `["x [y]"]`, ".z"},
		"body[][].n":               {"body[][]", ".n"},
		`body["quote\".here"].n[]`: {"body", `["quote\".here"]`, ".n[]"},
	} {
		if got := segmentsOf(field); !slices.Equal(got, want) || strings.Join(got, "") != field {
			t.Errorf("%s: %q", field, got)
		}
	}
	rows := []*fieldRow{{}, {}, {}}
	all := []*diff.Finding{{Field: "body.a.x", Confirmed: true}, {Field: "body.a.y"}, {Field: "body.b"}}
	for i, f := range all {
		rows[i].Field = f.Field
	}
	var got []string
	for _, b := range treeOf(rows, all) {
		got = append(got, fmt.Sprint(b.Depth, b.Name, b.Below, b.Confirmed, b.Field != nil))
	}
	want := []string{"0 body 3 1 false", "1 .a 2 1 false", "2 .x 0 0 true", "2 .y 0 0 true", "1 .b 0 0 true"}
	for i := range want {
		want[i] = strings.ReplaceAll(want[i], " ", "")
		got[i] = strings.ReplaceAll(got[i], " ", "")
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// What the overview and a route say is what the API says, and every link on them leads somewhere.
func TestPagesAgreeWithTheAPI(t *testing.T) {
	r := newRig(t, shop("1"), shop("2"), nil)
	r.ask(40, "/products/1")
	r.ask(20, "/users/7")
	var routes list[struct {
		Route, Page   string
		Compared      int64
		CandidateOnly int64 `json:"candidate_only"`
		Both          int64
	}]
	decode(t, r.get("/api/v1/routes"), &routes)
	overview := r.get("/")
	for _, route := range routes.Items {
		row := regexp.MustCompile(`(?s)<tr data-row>\n<td class="name"><a class="cover" href="` + regexp.QuoteMeta(route.Page) + `".*?</tr>`).FindString(overview)
		if !strings.Contains(row, `">`+count(route.Compared)+`</a>`) {
			t.Errorf("%s: compared %d by the API; on the page:\n%s", route.Route, route.Compared, row)
		}
		page := r.get(route.Page)
		mustHold(t, route.Route, page, things(route.Compared, "request")+"</a> compared",
			count(route.CandidateOnly)+"</a></b><span>candidate only", count(route.Both)+"</a></b><span>both differ")
	}
	links := map[string]bool{}
	for _, at := range []string{"/", routes.Items[0].Page, routes.Items[0].Page + "?view=tree"} {
		for _, m := range regexp.MustCompile(`<main.*</main>`).FindAllString(strings.ReplaceAll(r.get(at), "\n", " "), 1) {
			for _, found := range regexp.MustCompile(`href="(/[^"#]*)`).FindAllStringSubmatch(m, -1) {
				links[html.UnescapeString(found[1])] = true
			}
		}
	}
	if len(links) < 20 {
		t.Fatalf("only %d links", len(links))
	}
	for at := range links {
		if a := r.do(http.MethodGet, at, "", "Accept: text/html"); a.status != http.StatusOK {
			t.Errorf("%s: %d", at, a.status)
		}
	}
}

// A page of an earlier run tells of that run, its chart ends where the run did, and its links keep to it.
func TestAnEarlierRunIsStillThere(t *testing.T) {
	r := newRig(t, shop("1"), shop("2"), nil)
	r.ask(40, "/products/1")
	first := r.db.Snapshot().Run
	r.begin("v2.4.0", "other")
	r.ask(30, "/products/2")
	page := r.get(fmt.Sprintf("/?run=%d", first.ID))
	mustHold(t, "earlier", page, ">40 of 40</a>, control ", fmt.Sprintf("run=%d", first.ID))
	if strings.Contains(page, `id="state"`) {
		t.Error("the present state stands on the page of a run that is over")
	}
	route := r.get(routePath("GET /products/{id}") + fmt.Sprintf("?run=%d", first.ID))
	mustHold(t, "route of the earlier run", route, "40 requests</a> compared")
	now := r.get("/")
	mustHold(t, "now", now, ">30 of 30</a>, control ", "&#34;name&#34;:&#34;v2.4.0&#34;")
}
