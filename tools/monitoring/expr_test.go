package monitoring

import (
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
)

// check returns what is wrong with an expression: it is no PromQL, or names a metric or a label that nobody tells.
func (s scrape) check(expr string) (wrong []string) {
	parsed, err := parser.NewParser(parser.Options{}).ParseExpr(expr)
	if err != nil {
		return []string{err.Error()}
	}
	known := map[string]bool{} // labels of any metric in it
	parser.Inspect(parsed, func(node parser.Node, _ []parser.Node) error {
		if v, ok := node.(*parser.VectorSelector); ok {
			wrong = append(wrong, s.selector(v, known)...)
		}
		return nil
	})
	parser.Inspect(parsed, func(node parser.Node, _ []parser.Node) error {
		for _, label := range grouping(node) {
			if !known[label] {
				wrong = append(wrong, fmt.Sprintf("no metric in it has the label %s", label))
			}
		}
		return nil
	})
	return wrong
}

// selector looks for one metric and the labels by which it is selected.
func (s scrape) selector(v *parser.VectorSelector, known map[string]bool) (wrong []string) {
	labels, ok := s[v.Name]
	if !ok {
		return []string{fmt.Sprintf("no metric %q", v.Name)}
	}
	for label := range labels {
		known[label] = true
	}
	for _, m := range v.LabelMatchers {
		if m.Name != "__name__" && !labels[m.Name] {
			wrong = append(wrong, fmt.Sprintf("%s has no label %s", v.Name, m.Name))
		}
	}
	return wrong
}

func grouping(node parser.Node) []string {
	switch n := node.(type) {
	case *parser.AggregateExpr:
		return n.Grouping
	case *parser.BinaryExpr:
		if n.VectorMatching != nil {
			return append(n.VectorMatching.MatchingLabels, n.VectorMatching.Include...)
		}
	}
	return nil
}

// The check itself finds what it is for.
func TestTheCheckFindsFaults(t *testing.T) {
	s := parseScrape("# HELP a x\na{role=\"x, y=\\\"\",code=\"200\"} 1\nb 2e+09\n")
	for expr, want := range map[string]string{
		`sum by (role) (rate(a{code="200"}[5m]))`: "",
		`sum by (job) (a) / on (job) b`:           "",
		`sum by (rule) (a)`:                       "no metric in it has the label rule",
		`a{cod="200"}`:                            "a has no label cod",
		`c`:                                       `no metric "c"`,
		`sum(a`:                                   "parse error",
		`a * on (jobs) b`:                         "no metric in it has the label jobs",
	} {
		if wrong := strings.Join(s.check(expr), "; "); wrong != want && (want == "" || !strings.Contains(wrong, want)) {
			t.Errorf("%s: %q, want %q", expr, wrong, want)
		}
	}
}
