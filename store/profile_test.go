package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"shadowdiff/diff"
	"shadowdiff/multicast"
	"shadowdiff/normalize"
)

// profiler compares exchanges of the story as the service does.
func profiler(t testing.TB, db *DB, names *normalize.Names) *diff.Comparer {
	t.Helper()
	rules, err := normalize.New(normalize.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	c := diff.NewComparer(rules, names, diff.DefaultLimits())
	c.Profile(db.Redactor)
	return c
}

// bought is an exchange whose candidate has another price.
func bought(target string, price, trial int) *multicast.Exchange {
	ex := exchange("", noon)
	ex.Request.Target = target
	for role := range ex.Responses {
		p := price
		if multicast.Role(role) == multicast.Candidate {
			p = trial
		}
		ex.Responses[role].Body = fmt.Appendf(nil, `{"price":%d,"password":"s3cret-%d"}`, p, role)
		ex.Responses[role].Size = int64(len(ex.Responses[role].Body))
	}
	return ex
}

// told is a profile's candidate values on one line.
func told(f *diff.FieldProfile) string {
	var list []string
	for _, v := range f.Roles[multicast.Candidate].Values.List() {
		list = append(list, fmt.Sprintf("%s×%d", v.Text, v.Count))
	}
	return strings.Join(list, " ")
}

func TestProfilesSurviveARestart(t *testing.T) {
	cfg := testConfig(t)
	db := openStore(t, cfg, Deps{})
	run := startRun(t, db, candidateV1)
	c := profiler(t, db, new(normalize.Names))
	for i := range 40 {
		db.Record(run.ID, c.Compare(bought("/shop?currency=EUR", 10, 11+i%2)))
		db.Record(run.ID, c.Compare(bought("/shop?currency=USD", 10, 10)))
	}
	closeStore(t, db)

	db = openStore(t, cfg, Deps{})
	run = startRun(t, db, candidateV1)
	for range 10 {
		db.Record(run.ID, c.Compare(bought("/shop?currency=EUR", 10, 11)))
	}
	f, err := db.Profile(t.Context(), run.ID, "GET /shop", "body.price")
	if err != nil {
		t.Fatal(err)
	}
	if f.Exchanges != 50 || told(f) != "11×30 12×20" {
		t.Errorf("%d exchanges, candidate %s", f.Exchanges, told(f))
	}
	a, err := db.Attributes(t.Context(), 0, "GET /shop")
	if err != nil {
		t.Fatal(err)
	}
	if s := a.Separating("body.price").Sentence; s != "All 50 have `currency=EUR`; none of the 40 others." {
		t.Error(s)
	}

	// Another run begins; the one before is read from the disk once the memory has let it go.
	startRun(t, db, Fingerprint{Candidate: "http://other:1"})
	if _, err := db.Profile(t.Context(), 0, "GET /shop", "body.price"); !errors.Is(err, ErrNotFound) {
		t.Errorf("the new run: %v", err)
	}
	closeStore(t, db)
	db = openStore(t, cfg, Deps{})
	startRun(t, db, Fingerprint{Candidate: "http://other:1"})
	if f, err = db.Profile(t.Context(), run.ID, "GET /shop", "body.price"); err != nil || told(f) != "11×30 12×20" {
		t.Errorf("from the disk: %v, %v", f, err)
	}
	if a, err = db.Attributes(t.Context(), run.ID, "GET /shop"); err != nil || a.Compared != 90 {
		t.Errorf("from the disk: %+v, %v", a, err)
	}
}

func TestProfilesOfRoutesThatFoldAddUp(t *testing.T) {
	cfg, names := testConfig(t), new(normalize.Names)
	db := openStore(t, cfg, Deps{Names: names})
	run := startRun(t, db, candidateV1)
	c := profiler(t, db, names)
	const products = 400
	for i := range products {
		db.Record(run.ID, c.Compare(bought(fmt.Sprintf("/products/shoe-number-%c%c", 'a'+i/20, 'a'+i%20), 10, 11)))
		if i%100 == 99 {
			flush(t, db)
		}
	}
	flush(t, db)
	route := names.Current("GET /products/shoe-number-aa")
	if !strings.HasSuffix(route, "{id}") {
		t.Fatalf("nothing has folded: %s", route)
	}
	var sum int64
	for _, r := range db.Snapshot().Tallies.Routes {
		f, err := db.Profile(t.Context(), 0, r.Route, "body.price")
		if err != nil {
			t.Fatalf("%s: %v", r.Route, err)
		}
		sum += f.Exchanges
	}
	if sum != products {
		t.Errorf("%d of %d exchanges", sum, products)
	}
	var rows, routes int
	row := db.file.read.QueryRowContext(t.Context(), `SELECT (SELECT count(*) FROM profile WHERE field = 'body.price'), (SELECT count(*) FROM attribute)`)
	if err := row.Scan(&rows, &routes); err != nil {
		t.Fatal(err)
	}
	if n := len(db.Snapshot().Tallies.Routes); rows != n || routes != n {
		t.Errorf("%d and %d rows of %d routes", rows, routes, n)
	}
}

// Rows that cannot be read cost what is in them and no more.
func TestDamagedProfilesBeginAnew(t *testing.T) {
	cfg := testConfig(t)
	db := openStore(t, cfg, Deps{})
	run := startRun(t, db, candidateV1)
	c := profiler(t, db, new(normalize.Names))
	db.Record(run.ID, c.Compare(bought("/shop", 10, 11)))
	db.Record(run.ID, c.Compare(bought("/other", 10, 11)))
	flush(t, db)
	if _, err := db.file.write.ExecContext(t.Context(), `UPDATE profile SET blob = x'01ffff' WHERE route = 'GET /shop'`); err != nil {
		t.Fatal(err)
	}
	if _, err := db.file.write.ExecContext(t.Context(), `UPDATE attribute SET blob = x'63' WHERE route = 'GET /shop'`); err != nil {
		t.Fatal(err)
	}
	closeStore(t, db)
	var log bytes.Buffer
	db = openStore(t, cfg, Deps{Log: slog.New(slog.NewTextHandler(&log, nil))})
	startRun(t, db, candidateV1)
	if n := strings.Count(log.String(), "begin anew"); n != 1 {
		t.Errorf("logged %d times:\n%s", n, log.String())
	}
	if _, err := db.Profile(t.Context(), 0, "GET /shop", "body.price"); !errors.Is(err, ErrNotFound) {
		t.Errorf("the damaged one: %v", err)
	}
	if f, err := db.Profile(t.Context(), 0, "GET /other", "body.price"); err != nil || f.Exchanges != 1 {
		t.Errorf("the other one: %v, %v", f, err)
	}
	if n := db.Snapshot().Tallies.Total.Compared; n != 2 {
		t.Errorf("%d compared", n)
	}
}

// Rows are written at leisure: not with every flush, and few with one.
func TestProfilesAreWrittenAtLeisure(t *testing.T) {
	db := openStore(t, testConfig(t), Deps{})
	run := startRun(t, db, candidateV1)
	c := profiler(t, db, new(normalize.Names))
	for i := range 3 * profileFlush {
		ex := bought("/", 10, 11)
		ex.Route, ex.Configured = fmt.Sprint("route ", i), true
		db.Record(run.ID, c.Compare(ex))
	}
	count := func() (n int) {
		if err := db.file.read.QueryRowContext(t.Context(), `SELECT count(*) FROM attribute`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	ledger := db.ledgers.current()
	for i := 1; ledger.profiles.pending(); i++ {
		if err := db.Flush(context.Background()); err != nil {
			t.Fatal(err)
		}
		if n := count(); n != min(i, 3)*profileFlush {
			t.Errorf("after %d flushes %d rows", i, n)
		}
	}
	again := bought("/", 10, 11)
	again.Route, again.Configured = "route 0", true
	db.Record(run.ID, c.Compare(again))
	if err := db.Flush(context.Background()); err != nil {
		t.Fatal(err)
	}
	if !ledger.profiles.pending() {
		t.Error("a row is written again before its time")
	}
	flush(t, db)
	if ledger.profiles.pending() {
		t.Error("the last flush leaves something behind")
	}
}

// pending tells whether something is not on the disk.
func (p *profileLedger) pending() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.profiles.Pending() || p.attributes.Pending()
}

// secret is planted wherever something may be redacted.
const secret = "s3cr3t-Pl4nted"

// planted is an exchange with the secret in every place that is redacted, all of which differ.
func planted(i, role int) multicast.Response {
	value := fmt.Sprintf("%s-%d-%d", secret, i, role)
	body := fmt.Sprintf(`{"password":%q,"user":{"Password":%q,"n":%d},"list":[{"password":%q}],"event":"{\"password\":\"%s\"}",`+
		`"text":"password: %s","xml":"<password>%s</password>","url":"https://a/?token=%s&x=%d","env":{"password":%q`, value, value, i*3+role, value, value, value, value, value, role, value)
	for k := range 70 {
		body += fmt.Sprintf(`,"name%c%c":%d`, 'a'+k/26, 'a'+k%26, role)
	}
	body += `},"card":{"number":"` + value + `"}}`
	return multicast.Response{
		Outcome: multicast.OutcomeOK, Status: 200 + role, Size: int64(len(body)), Body: []byte(body), Duration: time.Millisecond,
		Header: map[string][]string{
			"Content-Type": {"application/json"}, "Set-Cookie": {"sid=" + value + "; Path=/" + fmt.Sprint(role)}, "X-Secret": {value},
			"Location": {"/next?token=" + value}, "Authorization": {value},
		},
	}
}

func TestNoSecretIsKept(t *testing.T) {
	cfg := testConfig(t)
	cfg.Redact = append(cfg.Redact, "header.x-secret", "body.card.number", "cookie.sid", "header.x-org")
	db := openStore(t, cfg, Deps{})
	run := startRun(t, db, candidateV1)
	c := profiler(t, db, new(normalize.Names))
	for i := range 100 {
		ex := exchange("", noon)
		value := fmt.Sprintf("%s-%d", secret, i%3)
		ex.Request.Target = "/shop?token=" + value + "&api_key=" + value + "&next=%2Fx%3Ftoken%3D" + value + "&session_id=" + value + "&plain=1"
		ex.Request.Header = map[string][]string{
			"Authorization": {"Bearer " + value}, "Cookie": {"sid=" + value}, "X-Org": {value}, "X-Api-Key": {value}, "Referer": {"/?token=" + value},
			"X-Back": {"/x?token=" + value}, "X-Plain": {"kept"}, "Proxy-Authorization": {value},
		}
		for role := range ex.Responses {
			ex.Responses[role] = planted(i, role)
		}
		if i%4 == 1 {
			for role := range ex.Responses {
				value := fmt.Sprintf("%s-%d-%d", secret, i, role)
				ex.Responses[role].Header = map[string][]string{"Content-Type": {"application/xml"}}
				ex.Responses[role].Body = fmt.Appendf(nil, `<u><n:password xmlns:n="x">%s</n:password><a b="%d">x</a></u>`, value, role)
			}
		}
		if i%4 == 2 {
			for role := range ex.Responses {
				ex.Responses[role].Header = map[string][]string{"Content-Type": {"text/plain"}}
				ex.Responses[role].Body = fmt.Appendf(nil, "password: %s-%d", secret, role)
			}
		}
		if i%4 == 3 {
			for role := range ex.Responses {
				ex.Responses[role].Header = map[string][]string{"Content-Type": {"application/x-www-form-urlencoded"}}
				ex.Responses[role].Body = fmt.Appendf(nil, "user[password]=%s-%d&a=%d", secret, role, role)
			}
		}
		db.Record(run.ID, c.Compare(ex))
	}
	l := db.ledgers.current()
	dump := fmt.Sprintf("%+v", l.profiles.attributes.Route("GET /shop"))
	for _, at := range l.profiles.profiles.All() {
		f, err := db.Profile(t.Context(), 0, at.Route, at.Field)
		if err != nil {
			t.Fatal(err)
		}
		blob, _ := f.MarshalBinary()
		dump += string(blob)
		values, _ := json.Marshal(f.Roles[2].Values.List())
		dump += string(values)
	}
	if i := strings.Index(dump, secret); i >= 0 {
		t.Errorf("in memory: …%q", dump[max(i-200, 0):i+40])
	}
	if !strings.Contains(dump, "kept") {
		t.Error("nothing is kept at all")
	}
	for _, field := range []string{"body.user.n", "header.location", "status", "body.a", "body.u.a[].@b"} {
		if f, err := db.Profile(t.Context(), 0, "GET /shop", field); err == nil {
			t.Logf("%s: %d exchanges, %d withheld, %s", field, f.Exchanges, f.Withheld, told(f))
		}
	}
	if f, err := db.Profile(t.Context(), 0, "GET /shop", "body.user.n"); err != nil || len(f.Roles[2].Values.List()) != 16 {
		t.Errorf("what is no secret is not kept: %v, %v", f, err)
	}
	if f, err := db.Profile(t.Context(), 0, "GET /shop", "body.password"); err != nil || f.Withheld != f.Exchanges || f.Exchanges == 0 {
		t.Errorf("a secret field: %+v, %v", f, err)
	}
	closeStore(t, db)
	for _, suffix := range []string{"", "-wal"} {
		disk, err := os.ReadFile(cfg.Path + suffix)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		if i := bytes.Index(disk, []byte(secret)); i >= 0 {
			t.Errorf("on the disk: …%q", disk[max(i-100, 0):i+40])
		}
	}
}

// A place that is redacted from now on is not shown any more, and gone from the disk with the next writing.
func TestRedactingMoreForgets(t *testing.T) {
	cfg := testConfig(t)
	db := openStore(t, cfg, Deps{})
	run := startRun(t, db, candidateV1)
	c := profiler(t, db, new(normalize.Names))
	for range 10 {
		db.Record(run.ID, c.Compare(bought("/shop?currency=EUR", 10, 1234567)))
	}
	flush(t, db)
	cfg.Redact = append(cfg.Redact, "body.price", "query.currency")
	if err := db.Reconfigure(cfg, diff.DefaultConfig(), 0); err != nil {
		t.Fatal(err)
	}
	f, err := db.Profile(t.Context(), 0, "GET /shop", "body.price")
	if err != nil || told(f) != "" || f.Withheld != 10 {
		t.Errorf("%+v, %v", f, err)
	}
	flush(t, db)
	var left int
	row := db.file.read.QueryRowContext(t.Context(), `SELECT (SELECT count(*) FROM profile WHERE instr(blob, '1234567')) + (SELECT count(*) FROM attribute WHERE instr(blob, 'EUR'))`)
	if err := row.Scan(&left); err != nil || left != 0 {
		t.Errorf("%d rows with what is redacted, %v", left, err)
	}
}

// As BenchmarkRecord, with the values of three fields and a request of some headers and parameters.
func BenchmarkRecordProfiles(b *testing.B) {
	db, run := benchStore(b)
	c := profiler(b, db, new(normalize.Names))
	ex := exchange("", noon)
	ex.Request.Target = "/products/17?currency=EUR&page=2&sort=price"
	ex.Request.Header = map[string][]string{
		"Accept": {"application/json"}, "Accept-Language": {"de-DE,de;q=0.9"}, "User-Agent": {"okhttp/4.12.0"}, "X-Tenant": {"acme"},
		"X-Request-Id": {"7"}, "Authorization": {"Bearer x"}, "Cookie": {"a=b"}, "Cache-Control": {"no-cache"},
	}
	for role, body := range []string{
		`{"generated_at":"2026-11-30T10:00:00Z","price":10,"tags":["a"]}`, `{"generated_at":"2026-11-30T10:00:01Z","price":10,"tags":["a","b"]}`,
		`{"generated_at":"2026-11-30T10:00:02Z","price":12,"tags":["a"]}`,
	} {
		ex.Responses[role].Body, ex.Responses[role].Size = []byte(body), int64(len(body))
	}
	compared := c.Compare(ex)
	if len(compared.Values) < 3 {
		b.Fatalf("%+v", compared.Values)
	}
	b.ReportAllocs()
	for b.Loop() {
		db.Record(run, compared)
	}
}

// The keys of a large object fold in a field's name: what is redacted is known by those that were sent.
func TestSamplesRedactWhatHasFolded(t *testing.T) {
	db := openStore(t, testConfig(t), Deps{})
	run := startRun(t, db, candidateV1)
	ex := exchange("", noon)
	for role := range ex.Responses {
		ex.Responses[role] = planted(1, role)
		delete(ex.Responses[role].Header, "X-Secret") // which this configuration does not redact
	}
	db.Record(run.ID, profiler(t, db, new(normalize.Names)).Compare(ex))
	flush(t, db)
	s, err := db.Sample(t.Context(), db.Snapshot().SampleIDs("", "body.env.{}")[0])
	if err != nil {
		t.Fatal(err)
	}
	folded := 0
	for _, d := range append(s.Candidate, s.Control...) {
		if d.Field != "body.env.{}" {
			continue
		}
		folded++
		if strings.Contains(string(d.Left+d.Right), secret) {
			t.Errorf("%s shows %s against %s", *d.LeftPointer, d.Left, d.Right)
		}
	}
	if folded < 100 {
		t.Errorf("%d differences in the large object", folded)
	}
}

// A run of the second schema goes on without profiles of what was, and has those of what comes.
func TestSecondSchemaTakesProfiles(t *testing.T) {
	cfg, names := testConfig(t), new(normalize.Names)
	openSchema(t, cfg.Path, "schema2.sql", "0001_first.sql", "0002_route_fold.sql")
	db := openStore(t, cfg, Deps{Names: names})
	run := startRun(t, db, candidateV1)
	if _, err := db.Attributes(t.Context(), run.ID, "GET /a"); !errors.Is(err, ErrNotFound) {
		t.Errorf("of what was: %v", err)
	}
	ex := bought("/a?currency=EUR", 10, 11)
	ex.Route, ex.Configured = "GET /a", true
	db.Record(run.ID, profiler(t, db, names).Compare(ex))
	closeStore(t, db)
	db = openStore(t, cfg, Deps{})
	startRun(t, db, candidateV1)
	if f, err := db.Profile(t.Context(), run.ID, "GET /a", "body.price"); err != nil || told(f) != "11×1" {
		t.Errorf("of what came: %v, %v", f, err)
	}
	if n := db.Snapshot().Tallies.Total.Compared; n != 31 {
		t.Errorf("%d compared", n)
	}
}
