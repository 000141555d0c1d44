package store

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"shadowdiff/diff"
	"shadowdiff/multicast"

	"github.com/google/go-cmp/cmp"
)

// A stored exchange comes back as it was, byte for byte where it is not to be redacted, and after the memory that it
// was recorded from was given to somebody else.
func TestSampleComesBackByteForByte(t *testing.T) {
	db := openStore(t, testConfig(t), Deps{})
	run := startRun(t, db, candidateV1)
	c := compared("GET /products/{id}", noon, field("body.price", 1, 0), field("header.x-odd", 0, 4))
	c.Sizes = &[3]int64{multicast.Primary: 12, multicast.Secondary: 0, multicast.Candidate: -1}
	pointer := "/price"
	c.Candidate[0].LeftPointer = &pointer
	c.Control[0].Left, c.Control[0].Note = "\"caf\xe9\"", "not UTF-8"
	ex := c.Exchange
	ex.Request.Method, ex.Request.Body = "POST", []byte("{\"q\":\"\xff\"}")
	ex.Request.Header = http.Header{"Content-Type": {"application/json"}, "X-Odd": {"caf\xe9", "<&>"}}
	ex.Responses[multicast.Candidate] = multicast.Response{Outcome: multicast.OutcomeTimeout, Detail: "no head", Duration: time.Second}
	ex.Responses[multicast.Secondary] = multicast.Response{
		Outcome: multicast.OutcomeOK, Status: 200, Size: 9 << 20, Over: true, Hash: sha256.Sum256([]byte("x")),
		Header: http.Header{"Content-Type": {"text/plain"}},
	}
	want := *copyExchange(c)
	db.Record(run.ID, c)
	for i := range ex.Request.Body {
		ex.Request.Body[i] = '!'
	}
	for i := range ex.Responses[0].Body {
		ex.Responses[0].Body[i] = '!'
	}
	ex.Request.Header["X-Odd"][0] = "!"
	flush(t, db)

	got, err := db.Sample(context.Background(), db.Snapshot().SampleIDs("GET /products/{id}", "body.price")[0])
	if err != nil {
		t.Fatal(err)
	}
	expect := &Sample{
		ID: 1, Run: run.ID, Exchange: ex.ID, Time: noon, Route: "GET /products/{id}", Result: diff.Both,
		Fields: []string{"body.price", "header.x-odd"}, Request: want.exchange.Request, Responses: want.exchange.Responses,
		BodyCut: [3]bool{multicast.Secondary: true}, RequestSize: int64(len(want.exchange.Request.Body)), Decoded: *c.Sizes, Candidate: want.candidate, Control: want.control,
	}
	if d := cmp.Diff(expect, got); d != "" {
		t.Errorf("stored (-as it was +as it came back):\n%s", d)
	}
	if _, err := db.Sample(context.Background(), 4711); !errors.Is(err, ErrNotFound) {
		t.Errorf("a sample that does not exist: %v", err)
	}
}

// What was decoded to be compared is decoded to be kept as well.
func TestBodiesAreDecodedAsFarAsTheyWereCompared(t *testing.T) {
	db := openStore(t, testConfig(t), Deps{MaxDecoded: 16 << 20})
	run := startRun(t, db, candidateV1)
	c := compared("GET /reports/{id}", noon, field("body", 1, 0))
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	fmt.Fprintf(w, `{"password":"s3cret","text":%q}`, strings.Repeat("x", 9<<20))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	c.Exchange.Responses[multicast.Primary].Header = http.Header{"Content-Encoding": {"gzip"}}
	c.Exchange.Responses[multicast.Primary].Body = packed.Bytes()
	db.Record(run.ID, c)
	flush(t, db)
	got, err := db.Sample(context.Background(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if body, want := got.Responses[multicast.Primary].Body, `{"password":"[redacted]","text":"xxx`; !bytes.HasPrefix(body, []byte(want)) {
		t.Errorf("the stored body begins with %.60s", body)
	}
}

// An excerpt from the middle of a secret, whose name it does not show, is held against its own side's redacted body.
func TestExcerptsAreHeldAgainstTheirOwnSide(t *testing.T) {
	db := openStore(t, testConfig(t), Deps{})
	run := startRun(t, db, candidateV1)
	c := compared("GET /text", noon, field("body", 1, 0))
	c.Exchange.Responses[multicast.Primary].Body = []byte("a long line of text")
	c.Exchange.Responses[multicast.Candidate].Body = []byte("password: a long s3cret")
	c.Candidate[0].Field, c.Candidate[0].Left, c.Candidate[0].Right = "body", `"…line of text"`, `"…long s3cret"`
	db.Record(run.ID, c)
	flush(t, db)
	got, err := db.Sample(context.Background(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if d := got.Candidate[0]; d.Left != `"…line of text"` || d.Right != `"[redacted]"` {
		t.Errorf("%s against %s", d.Left, d.Right)
	}
}

// A body longer than what is kept is cut, and says so.
func TestLongBodiesAreCut(t *testing.T) {
	db := openStore(t, testConfig(t), Deps{})
	run := startRun(t, db, candidateV1)
	c := compared("GET /images/{id}", noon, field("body", 1, 0))
	c.Exchange.Responses[multicast.Primary].Header = http.Header{"Content-Type": {"image/png"}}
	c.Exchange.Responses[multicast.Primary].Body = bytes.Repeat([]byte{0x89}, keptBody+1)
	c.Exchange.Responses[multicast.Candidate].Header = http.Header{"Content-Type": {"image/png"}}
	c.Exchange.Responses[multicast.Candidate].Body = bytes.Repeat([]byte{0x88}, copiedBody+1)
	db.Record(run.ID, c)
	flush(t, db)
	got, err := db.Sample(context.Background(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(got.Responses[multicast.Primary].Body); n != keptBody || !got.BodyCut[multicast.Primary] {
		t.Errorf("kept %d bytes, cut: %v", n, got.BodyCut)
	}
	if n := len(got.Responses[multicast.Candidate].Body); n != 0 || !got.BodyCut[multicast.Candidate] {
		t.Errorf("kept %d bytes of a body too long to copy, cut: %v", n, got.BodyCut)
	}
	if got.BodyCut[multicast.Secondary] || !bytes.HasPrefix(got.Responses[multicast.Secondary].Body, []byte(`{"who":"secondary"`)) {
		t.Errorf("the body between them: %q", got.Responses[multicast.Secondary].Body)
	}
}

// What is to be redacted never reaches the disk: not the database, not its log, not compressed either, since the
// stored exchange is searched as well.
func TestSecretsNeverReachTheDisk(t *testing.T) {
	const secret = "hunter2-hunter2-hunter2"
	cfg := testConfig(t)
	db := openStore(t, cfg, Deps{})
	run := startRun(t, db, candidateV1)
	c := compared("POST /login", noon, field("body.user", 4, 0), field("body.user.password", 1, 1), field("header.set-cookie", 1, 0))
	c.Candidate[0].Left = diff.Excerpt(`{"name":"eve","password":"` + secret + `"}`)
	c.Candidate[1].Left, c.Candidate[1].Right = `"`+secret+`"`, `"`+secret+`2"`
	c.Candidate[2].Left = `"sid=` + secret + `"`
	c.Control[0].Left = `"` + secret + `"`
	ex := c.Exchange
	ex.Request = multicast.Request{
		Method: "POST", Target: "/login?token=" + secret + "&lang=de", Host: "shop.example",
		Header: http.Header{"Authorization": {"Bearer " + secret}, "Cookie": {"sid=" + secret}, "Content-Type": {"application/json"}},
		Body:   []byte(`{"name":"eve","password":"` + secret + `"}`),
	}
	for i := range ex.Responses {
		ex.Responses[i].Header = http.Header{"Set-Cookie": {"sid=" + secret}, "Content-Type": {"application/json"}}
		ex.Responses[i].Body = []byte(`{"user":{"name":"eve","password":"` + secret + `","old":[{"password":"` + secret + `"}]}}`)
	}
	db.Record(run.ID, c)
	flush(t, db)

	sample, err := db.Sample(context.Background(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if text := fmt.Sprintf("%+v %q", *sample, [][]byte{
		sample.Request.Body, sample.Responses[0].Body, sample.Responses[1].Body,
		sample.Responses[2].Body,
	}); strings.Contains(text, secret) || !strings.Contains(text, "eve") {
		t.Errorf("stored: %s", text)
	}
	if sample.Redactions == 0 {
		t.Error("no redaction was counted")
	}
	raw := readFiles(t, cfg.Path)
	if !bytes.Contains(raw, []byte("POST /login")) {
		t.Fatal("the search does not look where the sample is")
	}
	if bytes.Contains(raw, []byte(secret)) {
		t.Error("the secret is on the disk")
	}
}

// readFiles returns the bytes of the database and all files beside it.
func readFiles(t *testing.T, path string) []byte {
	t.Helper()
	var all []byte
	for _, suffix := range []string{"", "-wal", "-shm"} {
		b, err := os.ReadFile(path + suffix)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		all = append(all, b...)
	}
	return all
}

// A field that differs in every exchange keeps its first ones, its most telling ones and its latest ones; an exchange
// that stands nowhere any more is removed.
func TestReservoirKeepsFirstTellingAndLatest(t *testing.T) {
	cfg := testConfig(t)
	cfg.SamplesPerField = 10 // 2 first, 4 telling, 4 latest
	db := openStore(t, cfg, Deps{})
	run := startRun(t, db, candidateV1)
	const route = "GET /users/{id}"
	at := func(i int) time.Time { return noon.Add(time.Duration(i) * time.Second) }
	for i := range 1000 {
		c := compared(route, at(i), field("body.seen", 1, 1))
		if i == 500 || i == 700 { // the candidate alone, in one of them with another field
			c = compared(route, at(i), field("body.seen", 1, 0))
		}
		db.Record(run.ID, c)
		if i%50 == 0 {
			flush(t, db)
		}
	}
	flush(t, db)
	list, next, err := db.Samples(context.Background(), Filter{Field: "body.seen"})
	if err != nil || next != "" {
		t.Fatal(next, err)
	}
	var seconds []int
	for _, s := range list {
		seconds = append(seconds, int(s.Time.Sub(noon)/time.Second))
	}
	if want := []int{996, 986, 976, 966, 700, 500, 5, 4, 1, 0}; !slices.Equal(seconds, want) {
		t.Errorf("kept the exchanges of seconds %v, want %v", seconds, want)
	}
	if ids := db.Snapshot().SampleIDs(route, "body.seen"); ids[0] != list[4].ID || ids[1] != list[5].ID {
		t.Errorf("most telling first: %v, want %d and %d first", ids, list[4].ID, list[5].ID)
	}
	var places int
	if err := db.file.read.QueryRow(`SELECT count(*) FROM sample_field`).Scan(&places); err != nil || places != 10 {
		t.Errorf("%d places are on the disk, %v", places, err)
	}
}

// One exchange is stored once for all of its fields, and exchanges in which nothing differs are kept too, a few.
func TestFieldsShareAnExchange(t *testing.T) {
	db := openStore(t, testConfig(t), Deps{})
	run := startRun(t, db, candidateV1)
	for i := range 30 {
		at := noon.Add(time.Duration(i) * time.Millisecond)
		db.Record(run.ID, compared("GET /a", at, field("body.x", 1, 0), field("body.y", 2, 0), field("body.z", 4, 1)))
		db.Record(run.ID, compared("GET /b", at))
	}
	flush(t, db)
	differing, _, err := db.Samples(context.Background(), Filter{Route: "GET /a"})
	if err != nil || len(differing) != 13 { // 4 first, 8 telling, and one of the latest so far
		t.Errorf("kept %d exchanges for three fields, %v", len(differing), err)
	}
	equal, _, err := db.Samples(context.Background(), Filter{Route: "GET /b"})
	if err != nil || len(equal) != agreeingKept {
		t.Errorf("kept %d equal exchanges, %v", len(equal), err)
	}
	if ids := db.Snapshot().SampleIDs("GET /b", ""); len(ids) != agreeingKept {
		t.Errorf("equal exchanges are shown as %v", ids)
	}
}

// Where a field always differs on both sides, the exchanges in which the candidate does at more places are those that tell.
func TestMorePlacesAreTelling(t *testing.T) {
	cfg := testConfig(t)
	cfg.SamplesPerField = 10
	db := openStore(t, cfg, Deps{})
	run := startRun(t, db, candidateV1)
	for i := range 600 {
		f := field("body.text", 1, 1)
		f.CandidatePlaces, f.ControlPlaces, f.Drift = 1, 1, int8(i%2)
		switch i {
		case 300, 400:
			f.CandidatePlaces = 2
		case 350:
			f.ControlPlaces = 2
		}
		db.Record(run.ID, compared("GET /a", noon.Add(time.Duration(i)*time.Second), f))
	}
	flush(t, db)
	ids := db.Snapshot().SampleIDs("GET /a", "body.text")
	for n, second := range []int{300, 400} {
		sample, err := db.Sample(context.Background(), ids[1-n])
		if err != nil {
			t.Fatal(err)
		}
		if want := noon.Add(time.Duration(second) * time.Second); !sample.Time.Equal(want) {
			t.Errorf("among the first two is the exchange of %v, want that of %v", sample.Time, want)
		}
	}
}

// A field that only drifts, as a body's size does, has samples too.
func TestDriftHasSamples(t *testing.T) {
	db := openStore(t, testConfig(t), Deps{})
	run := startRun(t, db, candidateV1)
	db.Record(run.ID, compared("GET /a", noon, diff.FieldComparison{Field: "size", Drift: 1}))
	flush(t, db)
	ids := db.Snapshot().SampleIDs("GET /a", "size")
	items, _, err := db.Samples(context.Background(), Filter{Field: "size"})
	if err != nil || len(ids) != 1 || len(items) != 1 || items[0].ID != ids[0] {
		t.Errorf("samples %v, listed %d, %v", ids, len(items), err)
	}
}

// What is offered first as proof is still kept after everything that merely came later has displaced what it could, and
// it proves the gravest of what was seen, whatever kind of difference it is.
func TestTheFirstProofStays(t *testing.T) {
	noise := func(f diff.FieldComparison) []diff.FieldComparison {
		return []diff.FieldComparison{f, field("body.noise", 1, 1)}
	}
	drift := func(name string, level diff.Level) diff.FieldComparison {
		f := field(name, level, level)
		f.Drift = -1
		return f
	}
	for name, fields := range map[string][]diff.FieldComparison{
		"value": noise(field("body.x", 1, 0)), "type": noise(field("body.x", 3, 1)), "presence": noise(field("body.x", 4, 0)),
		"drift of a noisy field": noise(drift("body.x", 1)), "drift of a size": noise(drift("body.x", 0)),
	} {
		t.Run(name, func(t *testing.T) {
			db := openStore(t, testConfig(t), Deps{})
			run := startRun(t, db, candidateV1)
			at := noon
			for i := range 40 {
				db.Record(run.ID, compared("GET /a", at, field("body.x", 1, 1), field("body.noise", 1, 1)))
				db.Record(run.ID, compared("GET /a", at, fields...))
				if i == 20 {
					flush(t, db)
				}
				at = at.Add(latestEvery)
			}
			flush(t, db)
			first := db.Snapshot().SampleIDs("GET /a", "body.x")[0]
			for range 40 {
				db.Record(run.ID, compared("GET /a", at, fields...))
				flush(t, db)
				at = at.Add(latestEvery)
			}
			sample, err := db.Sample(context.Background(), first)
			if err != nil {
				t.Fatal(err)
			}
			if now := db.Snapshot().SampleIDs("GET /a", "body.x")[0]; now != first {
				t.Errorf("sample %d was offered first, now it is %d", first, now)
			}
			if n := len(sample.Candidate); fields[0].Candidate > 0 && (n == 0 || sample.Candidate[0].Kind.Level() != fields[0].Candidate) {
				t.Errorf("what is offered first shows %+v", sample.Candidate)
			}
		})
	}
}

// Copies that wait for the writer are bounded; what is lost is counted, and the counts themselves are not touched.
func TestPendingSamplesAreBounded(t *testing.T) {
	cfg := testConfig(t)
	cfg.SamplesPerField = 100
	db := openStore(t, cfg, Deps{})
	run := startRun(t, db, candidateV1)
	for i := range 20 {
		c := compared("GET /large", noon.Add(time.Duration(i)*time.Second), field("body", 1, 0))
		for role := range c.Exchange.Responses {
			c.Exchange.Responses[role].Body = make([]byte, 1<<20)
		}
		db.Record(run.ID, c)
	}
	if held := db.budget.held.Load(); held > pendingBytes || held < 12<<20 {
		t.Errorf("%d bytes are pending", held)
	}
	if lost := db.Health().SamplesLost; lost != 15 {
		t.Errorf("%d samples of 20 are lost; five of 3 MiB fit in 16 MiB", lost)
	}
	flush(t, db)
	if held := db.budget.held.Load(); held != 0 {
		t.Errorf("%d bytes are held after all is written", held)
	}
	if n := db.Snapshot().Tallies.Total.Compared; n != 20 {
		t.Errorf("%d of 20 counted", n)
	}
}

// Recording what is not kept copies nothing.
func TestRejectedExchangesAreNotCopied(t *testing.T) {
	db := openStore(t, testConfig(t), Deps{})
	run := startRun(t, db, candidateV1)
	c := compared("GET /a", noon, field("body.x", 1, 1), field("body.y", 1, 0))
	for range 100 {
		db.Record(run.ID, c)
	}
	if n := testing.AllocsPerRun(1000, func() { db.Record(run.ID, c) }); n > 1 {
		t.Errorf("%.1f allocations a record", n)
	}
}
