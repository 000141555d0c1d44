package web

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"shadowdiff/diff"
	"shadowdiff/multicast"
	"shadowdiff/store"
)

// The month that reads are measured on.
const (
	monthRoutes = 1_000
	monthFields = 200 // that differ, of each route
)

// month is a server over 1,000 routes with 200 differing fields each and 30 days of history, into which is written all the
// time.
func month(b *testing.B) *Server {
	b.Helper()
	cfg := store.DefaultConfig()
	cfg.Path = filepath.Join(b.TempDir(), "month.db")
	upstream := multicast.DefaultConfig()
	upstream.Primary, upstream.Secondary, upstream.Candidate = "http://127.0.0.1:1", "http://127.0.0.1:2", "http://127.0.0.1:3"
	proxy, err := multicast.New(upstream, multicast.Deps{Log: quiet(), Deliver: func() multicast.Deliver { return nil }})
	if err != nil {
		b.Fatal(err)
	}
	history(b, cfg, upstream.Candidate)
	db, run := openMonth(b, cfg, upstream.Candidate)
	instance := Instance{Targets: Targets{Primary: upstream.Primary}, Phase: PhaseServing}
	s := New(DefaultConfig(), Deps{Log: quiet(), DB: db, Proxy: proxy, Instance: func() Instance { return instance }, Judge: diff.DefaultConfig})
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{}, 2)
	go func() { _ = db.Run(ctx); ended <- struct{}{} }()
	go func() {
		for i := 0; ctx.Err() == nil; i++ {
			db.Record(run, differing(i%monthRoutes, i, 3, time.Now()))
		}
		ended <- struct{}{}
	}()
	b.Cleanup(func() {
		stop()
		<-ended
		<-ended
		_ = db.Close()
	})
	return s
}

func openMonth(b *testing.B, cfg store.Config, candidate string) (db *store.DB, run int64) {
	b.Helper()
	db, err := store.Open(cfg, store.Deps{Log: quiet(), Judge: diff.DefaultConfig()})
	if err != nil {
		b.Fatal(err)
	}
	started, err := db.StartRun("v2.3.1", store.Fingerprint{Candidate: candidate})
	if err != nil {
		b.Fatal(err)
	}
	return db, started.ID
}

// history writes thirty days and lays them together as the sweep would have by now: 16 days, 13 days of hours, and a day of
// minutes, of which every third has traffic.
func history(b *testing.B, cfg store.Config, candidate string) {
	b.Helper()
	db, run := openMonth(b, cfg, candidate)
	now := time.Now().Truncate(time.Minute)
	turn, steps := 0, 0
	pass := func(from, to, step time.Duration, routes, fields int) {
		for ago := from; ago > to; ago -= step {
			for range routes {
				turn++
				db.Record(run, differing(turn%monthRoutes, turn/monthRoutes*fields, fields, now.Add(-ago)))
			}
			if steps++; steps%30 > 0 { // each flush judges all
				continue
			}
			if err := db.Flush(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	}
	const day = 24 * time.Hour
	pass(30*day, 14*day, 8*time.Hour, monthRoutes, 2)
	pass(14*day, day, time.Hour, monthRoutes/4, 4)
	pass(day, 0, 3*time.Minute, monthRoutes/4, 3)
	for route := range monthRoutes { // so that each of its fields has differed
		for first := 0; first < monthFields; first += 40 {
			db.Record(run, differing(route, first, 40, now))
		}
	}
	if err := db.Flush(b.Context()); err != nil { // Close gives the last flush no more than some seconds
		b.Fatal(err)
	}
	if err := db.Close(); err != nil {
		b.Fatal(err)
	}
	layTogether(b, cfg.Path, now.Add(-day).Truncate(time.Hour))
}

// layTogether makes hours of the minutes before a moment, and days of those that are two weeks old.
func layTogether(b *testing.B, path string, whole time.Time) {
	b.Helper()
	file, err := sql.Open("sqlite", path)
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	const counts = `sum(candidate_only), sum(control_only), sum(both_sides)`
	const all = `sum(compared), sum(unknown), sum(failed), sum(raw), sum(noise), ` + counts
	for _, table := range []struct{ name, rows, key string }{
		{"field_series", `?1, begin / ?1 * ?1, name, ` + counts, "name"},
		{"route_series", `?1, begin / ?1 * ?1, name, ` + all, "name"},
		{"run_series", `run, ?1, begin / ?1 * ?1, ` + all, "run"},
	} {
		for _, age := range []struct{ span, before int64 }{
			{86400, whole.Add(-13 * 24 * time.Hour).Truncate(24 * time.Hour).Unix()}, {3600, whole.Unix()},
		} {
			for _, text := range []string{
				`INSERT INTO ` + table.name + ` SELECT ` + table.rows + ` FROM ` + table.name +
					` WHERE span = 60 AND begin < ?2 GROUP BY begin / ?1, ` + table.key,
				`DELETE FROM ` + table.name + ` WHERE ?1 > span AND span = 60 AND begin < ?2`,
			} {
				if _, err := file.Exec(text, age.span, age.before); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
}

// differing is a request of a route in which so many fields differ, from the first on. The route has its name given: 1,000
// places that are alike would be learnt to be one.
func differing(route, first, count int, at time.Time) *diff.Comparison {
	c := &diff.Comparison{
		Route: fmt.Sprintf("GET /service-%d/{id}/items", route), Time: at, Result: diff.Both, Raw: true, Noise: true, Given: true,
		CandidateUp: first%7 == 0, Fields: make([]diff.FieldComparison, count), Values: make([]diff.FieldValues, count),
	}
	for i := range c.Fields {
		f := &c.Fields[i]
		f.Field = fmt.Sprintf("body.items[].attribute_%d", (first+i)%monthFields)
		f.Candidate, f.Control = 1, 1
		switch (route + first + i) % 5 {
		case 0:
			f.Control = 0
		case 1:
			f.Candidate = 0
		}
		c.Values[i] = diff.FieldValues{Field: f.Field, Candidate: f.Candidate, Control: f.Control, Places: [][3]diff.SeenValue{
			{seenNumber(first), seenNumber(first + int(f.Control)), seenNumber(first + 2*int(f.Candidate))},
		}}
	}
	return c
}

func seenNumber(n int) diff.SeenValue {
	return diff.SeenValue{Shape: "number", Text: strconv.Itoa(n), Length: -1, Number: float64(n), IsNumber: true}
}

// answered asks for an address over HTTP, as a browser does, and returns the body.
func answered(b *testing.B, at string) []byte {
	b.Helper()
	resp, err := http.Get(at)
	if err != nil {
		b.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		b.Fatalf("%s: %d %s (%v)", at, resp.StatusCode, body, err)
	}
	return body
}

// reads measures answers by their paths.
func reads(b *testing.B, origin string, paths []struct{ name, path string }) {
	for _, read := range paths {
		b.Run(read.name, func(b *testing.B) {
			size := 0
			for b.Loop() {
				size = len(answered(b, origin+read.path))
			}
			b.ReportMetric(float64(size)/1024, "KiB")
			b.ReportMetric(b.Elapsed().Seconds()*1000/float64(b.N), "ms/op")
		})
	}
}

// BenchmarkReads reads what pages and scripts read. Each is to take less than 50 ms.
func BenchmarkReads(b *testing.B) {
	s := month(b)
	admin := httptest.NewServer(s.Handler())
	b.Cleanup(admin.Close)
	route := url.QueryEscape("GET /service-500/{id}/items")
	field := url.QueryEscape("body.items[].attribute_100")
	var middle list[fieldItem]
	if err := json.Unmarshal(answered(b, admin.URL+"/api/v1/fields?limit=1&route="+route), &middle); err != nil || middle.Next == nil {
		b.Fatal(err)
	}
	reads(b, admin.URL, []struct{ name, path string }{
		{"overview", "/"},
		{"equivalence", "/api/v1/equivalence"},
		{"equivalence of a route", "/api/v1/equivalence?route=" + route},
		{"equivalence, 1,000 differences", "/api/v1/equivalence?limit=1000"},
		{"window of an hour", "/api/v1/equivalence?since=1h"},
		{"window of a month", "/api/v1/equivalence?since=720h"},
		{"window of a month, one route", "/api/v1/equivalence?since=720h&route=" + route},
		{"routes", "/api/v1/routes"},
		{"routes, all 1,000", "/api/v1/routes?limit=1000"},
		{"routes by noise", "/api/v1/routes?sort=noise"},
		{"routes that are different", "/api/v1/routes?verdict=different"},
		{"fields", "/api/v1/fields"},
		{"fields, 1,000 in the middle", "/api/v1/fields?limit=1000&cursor=" + *middle.Next},
		{"fields of a route", "/api/v1/fields?route=" + route},
		{"fields by excess", "/api/v1/fields?sort=excess"},
		{"fields of one name", "/api/v1/fields?limit=1000&field=" + field},
		{"fields that are confirmed", "/api/v1/fields?confirmed=true"},
		{"fields of an hour", "/api/v1/fields?since=1h"},
		{"fields of a month", "/api/v1/fields?since=720h"},
		{"fields of a month, one route", "/api/v1/fields?since=720h&route=" + route},
		{"profile", "/api/v1/profile?route=" + route + "&field=" + url.QueryEscape("body.items[].attribute_0")},
		{"series", "/api/v1/series"},
		{"series of a route", "/api/v1/series?route=" + route},
		{"series of a field", "/api/v1/series?route=" + route + "&field=" + field},
		{"series of a field everywhere", "/api/v1/series?field=" + field},
		{"samples", "/api/v1/samples"},
		{"samples of a field", "/api/v1/samples?field=" + field},
		{"activity", "/api/v1/activity"},
		{"gate", "/api/v1/gate?pass=equivalent,different,undecided"},
		{"page of a route", routePath("GET /service-500/{id}/items")},
		{"page of a field", fieldPath("GET /service-500/{id}/items", "body.items[].attribute_100")},
		{"page of a field with a profile", fieldPath("GET /service-500/{id}/items", "body.items[].attribute_0")},
		{"page of all fields", "/fields"},
		{"page of all samples", "/samples"},
		{"page of the runs", "/runs"},
		{"page of the rules", "/rules"},
		{"page of the settings", "/settings"},
		{"page of the activity", "/activity"},
	})
}

// BenchmarkFirstAnswers reads pages of what was served, compared and kept. Each is to take less than 100 ms.
func BenchmarkFirstAnswers(b *testing.B) {
	much := func(price string) http.HandlerFunc {
		small := shop(price)
		var large bytes.Buffer
		large.WriteString(`{"items":[`)
		for i := range 6_500 {
			fmt.Fprintf(&large, `{"id":%d,"name":"the item of number %d","price":%d.50,"tags":["red","green","blue"],"stock":{"here":%d,"there":[1,2,3]}},`+"\n", i, i, i%97, i)
		}
		fmt.Fprintf(&large, `{"id":-1,"price":%s}]}`, price)
		return func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/exports/1" {
				small(w, r)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(large.Bytes())
		}
	}
	r := newRig(b, much("1"), much("2"), nil)
	for range 400 {
		r.ask(50, "/products/1?currency=EUR")
	}
	r.ask(3, "/exports/1")
	sample := func(route string) string {
		var got list[struct{ ID int64 }]
		if err := json.Unmarshal(answered(b, r.admin.URL+"/api/v1/samples?limit=1&route="+url.QueryEscape(route)), &got); err != nil || len(got.Items) == 0 {
			b.Fatalf("no sample of %s (%v)", route, err)
		}
		return fmt.Sprintf("/samples/%d", got.Items[0].ID)
	}
	const route = "GET /products/{id}"
	reads(b, r.admin.URL, []struct{ name, path string }{
		{"overview", "/"},
		{"route", routePath(route)},
		{"field", fieldPath(route, "body.price")},
		{"noisy field", fieldPath(route, "body.served")},
		{"samples of a field", "/samples?field=body.price"},
		{"sample", sample(route)},
		{"sample of 900 KiB", sample("GET /exports/{id}")},
		{"rules with suggestions", "/rules"},
	})
}
