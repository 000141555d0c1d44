package monitoring

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
)

type datasource struct{ Type, UID string }

type dashboard struct {
	Title, UID string
	Panels     []struct {
		ID          int
		Type, Title string
		GridPos     struct{ X, Y, W, H int }
		Datasource  *datasource
		Targets     []struct {
			RefID, Expr string
			Datasource  datasource
		}
	}
	Templating struct {
		List []struct {
			Name, Type string
			Query      json.RawMessage
			Datasource *datasource
		}
	}
	Annotations struct {
		List []struct {
			Name, Expr string
			Datasource datasource
		}
	}
}

func readDashboard(t *testing.T) dashboard {
	t.Helper()
	text, err := os.ReadFile(root + "/deploy/grafana/shadowdiff.json")
	if err != nil {
		t.Fatal(err)
	}
	var d dashboard
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// plain puts values in the place of Grafana's variables.
func plain(expr string) string {
	expr = strings.ReplaceAll(expr, "$__rate_interval", "5m")
	return regexp.MustCompile(`\$[a-z]+`).ReplaceAllString(expr, ".*")
}

// Every panel asks for what the product tells, of the data source that is chosen.
func TestTheDashboardIsOfWhatIsTold(t *testing.T) {
	s, d, exprs := scraped(t), readDashboard(t), 0
	chosen := datasource{"prometheus", "${datasource}"}
	for _, p := range d.Panels {
		if p.Type == "row" {
			continue
		}
		if p.Datasource == nil || *p.Datasource != chosen || len(p.Targets) == 0 {
			t.Errorf("%s: %+v, %d targets", p.Title, p.Datasource, len(p.Targets))
		}
		refs := map[string]bool{}
		for _, target := range p.Targets {
			exprs++
			if target.Datasource != chosen || refs[target.RefID] {
				t.Errorf("%s %s: %+v", p.Title, target.RefID, target.Datasource)
			}
			refs[target.RefID] = true
			for _, wrong := range s.check(plain(target.Expr)) {
				t.Errorf("%s %s: %s", p.Title, target.RefID, wrong)
			}
		}
	}
	for _, a := range d.Annotations.List {
		if a.Datasource != chosen {
			t.Errorf("%s: %+v", a.Name, a.Datasource)
		}
		for _, wrong := range s.check(plain(a.Expr)) {
			t.Errorf("%s: %s", a.Name, wrong)
		}
	}
	if exprs < 30 {
		t.Errorf("%d expressions", exprs)
	}
}

// The variables that panels use are there, and ask for labels that are there.
func TestTheDashboardsVariables(t *testing.T) {
	s, d := scraped(t), readDashboard(t)
	has := map[string]bool{"__rate_interval": true}
	asks := regexp.MustCompile(`^label_values\((.*), ([a-z]+)\)$`)
	for _, v := range d.Templating.List {
		has[v.Name] = true
		if v.Type != "query" {
			continue
		}
		var query struct{ Query string }
		if err := json.Unmarshal(v.Query, &query); err != nil {
			t.Fatal(err)
		}
		m := asks.FindStringSubmatch(query.Query)
		if m == nil || v.Datasource == nil || v.Datasource.UID != "${datasource}" {
			t.Errorf("%s asks %q of %+v", v.Name, query.Query, v.Datasource)
			continue
		}
		wrong := s.check(plain(m[1]))
		if len(wrong) > 0 || !s["shadowdiff_run_info"][m[2]] {
			t.Errorf("%s asks %q: %q", v.Name, query.Query, wrong)
		}
	}
	if !has["datasource"] || !has["run"] {
		t.Errorf("variables %v", has)
	}
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			for _, v := range regexp.MustCompile(`\$([a-z_]+)`).FindAllStringSubmatch(target.Expr, -1) {
				if !has[v[1]] {
					t.Errorf("%s: no variable %s", p.Title, v[1])
				}
			}
		}
	}
}

// Panels have numbers of their own, stand within the 24 columns, and none covers another.
func TestTheDashboardsLayout(t *testing.T) {
	d := readDashboard(t)
	ids, taken := map[int]bool{}, map[[2]int]string{}
	for _, p := range d.Panels {
		if ids[p.ID] || p.ID == 0 || p.Title == "" {
			t.Errorf("%q has the number %d", p.Title, p.ID)
		}
		ids[p.ID] = true
		g := p.GridPos
		if g.X < 0 || g.W < 1 || g.H < 1 || g.X+g.W > 24 {
			t.Errorf("%s stands at %+v", p.Title, g)
		}
		for x := g.X; x < g.X+g.W; x++ {
			for y := g.Y; y < g.Y+g.H; y++ {
				if other := taken[[2]int{x, y}]; other != "" {
					t.Fatalf("%s covers %s", p.Title, other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
	}
	if d.Title == "" || d.UID == "" || len(d.Panels) < 20 {
		t.Errorf("%q has %d panels", d.Title, len(d.Panels))
	}
}
