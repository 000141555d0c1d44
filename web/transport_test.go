package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

// mortal answers like another handler until it is dead: then it breaks off in the middle of each answer.
func mortal(alive http.HandlerFunc) (handler http.HandlerFunc, dead *atomic.Bool) {
	dead = new(atomic.Bool)
	return func(w http.ResponseWriter, r *http.Request) {
		if !dead.Load() {
			alive(w, r)
			return
		}
		w.Header().Set("Content-Length", "100")
		_, _ = w.Write([]byte("{"))
		_ = http.NewResponseController(w).Flush() // without a byte it would be stale: a kept connection that ended
		panic(http.ErrAbortHandler)
	}, dead
}

// A candidate that fails once or twice on each of many routes is called different for all of them together, and from there
// it goes to each exchange that shows it.
func TestADeadCandidateOnManyRoutesIsSaid(t *testing.T) {
	candidate, dead := mortal(shop("1"))
	r := newRig(t, shop("1"), candidate, nil)
	path := func(i int) string { return fmt.Sprintf("/%c", 'a'+i%10) }
	for i := range 10 {
		r.ask(20, path(i))
	}
	dead.Store(true)
	for i := range 15 { // fewer than open the circuit
		r.ask(1, path(i))
	}

	var e equivalenceAnswer
	if err := json.Unmarshal([]byte(r.get("/api/v1/equivalence?confirmed=true")), &e); err != nil {
		t.Fatal(err)
	}
	if len(e.Differences) != 1 || e.Word != "different" {
		t.Fatalf("the verdict is %s with %+v", e.Word, e.Differences)
	}
	if f := e.Differences[0]; f.Route != "" || f.Field != "transport" || f.CandidateOnly != 15 || f.Compared != 215 || len(f.Samples) != 10 {
		t.Errorf("the difference is %+v", f)
	}
	const said = "transport on all routes together failed on the candidate&#39;s side alone in 15 of 215 requests"
	overview := r.get("/")
	mustHold(t, "overview", overview, "1 confirmed difference that noise", said, "all routes together", ">15 of 215</a>, control <a",
		`href="`+fieldPath("", "transport")+`"`)
	if strings.Contains(overview, `href="/fields/"`) || strings.Contains(overview, `href="/routes/"`) {
		t.Error("a link leads nowhere")
	}
	field := r.get(fieldPath("", "transport"))
	mustHold(t, "field", field, "all routes together", "Confirmed after ", ">215 requests</a> compared", ">15</a></b><span>candidate only", ">200</a></b><span>all agree",
		"15 kept of 15", "/a", "/j")
	if points := r.get(fieldPath("", "transport"), "HX-Request: true"); !strings.Contains(points, `<td class="n">215</td>`) && !strings.Contains(points, "data-series") {
		t.Errorf("no series:\n%s", excerpt(points))
	}
	mustHold(t, "sample", r.get(link(t, field, "/samples/")), "no answer", "transport")
	if a := r.do(http.MethodGet, fieldPath("", "body.price"), "", "Accept: text/html"); a.status != http.StatusNotFound {
		t.Errorf("another field of no route: %d", a.status)
	}
	if list := r.get("/api/v1/samples?field=transport"); strings.Count(list, `"exchange"`) != 15 {
		t.Errorf("samples of the field on all routes: %s", list)
	}
}

// When routes have become one, their addresses, which people have kept, lead to that; and the page says how many names
// there are.
func TestFormerNamesOfRoutesLeadOn(t *testing.T) {
	r := newRig(t, shop("1"), shop("2"), nil)
	r.ask(2, "/products/red-shoes")
	const before, now, price = "GET /products/red-shoes", "GET /products/{id}", "body.price"
	mustHold(t, "route", r.get(routePath(before)), before)
	if overview := r.get("/"); strings.Contains(overview, "route names") {
		t.Errorf("the state tells of names, though all is well:\n%s", excerpt(overview))
	}
	for i := range 300 {
		r.ask(1, fmt.Sprintf("/products/p-%d", i))
	}
	for from, to := range map[string]string{
		routePath(before): routePath(now), fieldPath(before, price): fieldPath(now, price), routePath(now): "", routePath("GET /nothing"): "",
	} {
		r.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		a := r.do(http.MethodGet, from, "")
		if (a.status == http.StatusFound) != (to != "") || a.header.Get("Location") != to {
			t.Errorf("%s: %d to %q, want %q", from, a.status, a.header.Get("Location"), to)
		}
		r.client.CheckRedirect = nil
	}
	escaped := "?route=" + strings.ReplaceAll(before, " ", "+")
	mustHold(t, "page", r.get(fieldPath(before, price)), now, price)
	mustHold(t, "equivalence", r.get("/api/v1/equivalence"+escaped), `"route":"`+now+`"`, `"compared":302`)
	mustHold(t, "window", r.get("/api/v1/equivalence"+escaped+"&since=1h"), `"route":"`+now+`"`, `"compared":302`)
	mustHold(t, "fields", r.get("/api/v1/fields"+escaped+"&field="+price), `"candidate_only":302`)
	mustHold(t, "samples", r.get("/api/v1/samples"+escaped+"&limit=1"), `"route":"`+now+`"`)
	mustHold(t, "overview", r.get("/"), "route names", "folded", "1 place of the paths had so many values")
	mustHold(t, "metrics", r.get("/metrics"), "shadowdiff_route_names 1\n", "shadowdiff_route_names_folded_total 1\n",
		"shadowdiff_route_names_other_total 0\n", "shadowdiff_samples_lost_total 0\n")
}
