package multicast

import (
	"io"
	"net/http"
	"testing"
)

// TestAnswersOfDifferentDataAreNotCompared: two that tell of different data make an exchange unknown, whoever they are. An
// answer that tells of none is compared.
func TestAnswersOfDifferentDataAreNotCompared(t *testing.T) {
	of := func(role Role) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if version := r.URL.Query().Get(role.String()); version != "" {
				w.Header().Set("X-Data-Version", version)
			}
			_, _ = io.WriteString(w, "x")
		}
	}
	s := newStage(t, map[Role]http.HandlerFunc{Primary: of(Primary), Secondary: of(Secondary), Candidate: of(Candidate)}, func(cfg *Config) {
		cfg.Lineage = []string{"x-snapshot", "x-data-version"}
	})
	unknown := int64(0)
	for _, c := range []struct {
		query string
		want  Reason
	}{
		{"primary=7&secondary=7&candidate=7", ""},
		{"primary=7&secondary=7&candidate=8", ReasonLineage},
		{"primary=7&secondary=8&candidate=7", ReasonLineage},
		{"primary=6&secondary=7&candidate=7", ReasonLineage},
		{"primary=7&secondary=7", ""},
		{"secondary=7&candidate=8", ReasonLineage},
		{"", ""},
	} {
		res, err := http.Get("http://" + s.addr + "/?" + c.query)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, res.Body)
		res.Body.Close()
		if ex := <-s.exchanges; ex.Unknown != c.want {
			t.Errorf("%q: unknown for %q, want %q", c.query, ex.Unknown, c.want)
		}
		if c.want != "" {
			unknown++
		}
	}
	s.counts(Counts{Requests: 7, Exchanged: 7, Compared: 7 - unknown, Unknown: map[Reason]int64{ReasonLineage: unknown}})
}
