package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"shadowdiff/multicast"
)

// TestAGoodFileTakesEffectOnOpenConnections changes one thing after another under one client's connection.
func TestAGoodFileTakesEffectOnOpenConnections(t *testing.T) {
	t.Parallel()
	primary, other := newPeer(t, "primary", nil), newPeer(t, "other", nil)
	secondary, candidate, next := newPeer(t, "secondary", nil), newPeer(t, "candidate", nil), newPeer(t, "next", nil)
	begin := addresses(primary, secondary, candidate)
	l := serveFile(t, begin)
	c := l.connect()
	post := func() {
		t.Helper()
		if got, err := c.try("POST /quote HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nok"); err != nil || got != "200 primary" {
			t.Fatalf("POST: %q, %v", got, err)
		}
	}
	get := func() {
		t.Helper()
		if got := c.get("/a"); got != "200 primary" {
			t.Fatalf("the client got %q", got)
		}
	}
	for _, step := range []struct {
		text    string // beside the addresses
		changed string
		ask     func()
		skipped multicast.Reason // why the request is no exchange; empty: it is one
	}{
		{"", "", get, ""},
		{"sample: 0%\n", "sample: 0% (was 100%)", get, multicast.ReasonNotSampled},
		{"sample: 0%\nroutes: [{match: /a, sample: 100%}]\n", "routes", get, ""},
		{"routes: [{match: /a, shadow: false}]\n", "sample: 100% (was 0%), routes", get, multicast.ReasonRoute},
		{"", "routes", post, multicast.ReasonMethod},
		{"methods: [POST]\n", "methods", post, ""},
		{"methods: [POST]\nshadow: {max_request_body: 1B}\n", "shadow.max_request_body: 1B (was 256KiB)", post, multicast.ReasonBodyTooLarge},
		{"dispatch: start\n", "methods, dispatch: start (was head), shadow.max_request_body: 256KiB (was 1B)", get, ""},
		{"sample_by: header.User\nsample: 0%\n", "sample: 0% (was 100%), sample_by: header.User (was none), dispatch: head (was start)", get, multicast.ReasonNotSampled},
	} {
		if done := l.reload(begin + step.text); strings.Join(done.Changed, ", ") != step.changed {
			t.Errorf("%q: changed %q, want %q", step.text, strings.Join(done.Changed, ", "), step.changed)
		}
		before := l.settled()
		step.ask()
		after := l.settled()
		if step.skipped != "" && after.Skipped[step.skipped] != before.Skipped[step.skipped]+1 ||
			step.skipped == "" && after.Compared != before.Compared+1 {
			t.Errorf("%q: %+v", step.text, after)
		}
	}

	l.reload(strings.Replace(begin, candidate.URL, next.URL, 1) +
		"trusted_proxies: [127.0.0.1]\nshadow: {set_headers: {X-Env: shadow}, candidate: {host: target}}\n")
	asked := candidate.asked.Load()
	c.get("/b", "X-Forwarded-For: 192.0.2.1")
	l.settled()
	r := next.seen()
	if r == nil || candidate.asked.Load() != asked || r.Header.Get("X-Env") != "shadow" || "http://"+r.Host != next.URL ||
		r.Header.Get("X-Forwarded-For") != "192.0.2.1, 127.0.0.1" {
		t.Errorf("the next candidate was asked %+v", r)
	}
	l.reload(strings.Replace(begin, primary.URL, other.URL, 1) + "upstream: {head_timeout: 30s}\n")
	if got := c.get("/c"); got != "200 other" {
		t.Errorf("the other primary answered %q", got)
	}
	l.reload(strings.Join(slices.DeleteFunc(strings.SplitAfter(begin, "\n"), func(line string) bool {
		return strings.HasPrefix(line, "candidate")
	}), ""))
	before := l.settled()
	get()
	if after := l.settled(); after.Skipped[multicast.ReasonDisabled] != before.Skipped[multicast.ReasonDisabled]+1 {
		t.Errorf("without a candidate: %+v", after)
	}
	if page := l.page("/"); !strings.Contains(page, "no candidate: a plain proxy") {
		t.Error("the page does not say that there is no candidate")
	}
}

// TestAnotherCandidateOrOtherRulesBeginARun, and nothing else does.
func TestAnotherCandidateOrOtherRulesBeginARun(t *testing.T) {
	t.Parallel()
	primary, secondary, candidate, next := newPeer(t, "p", nil), newPeer(t, "s", nil), newPeer(t, "c", nil), newPeer(t, "n", nil)
	begin := addresses(primary, secondary, candidate)
	l := serveFile(t, begin)
	c := l.connect()
	another := strings.Replace(begin, candidate.URL, next.URL, 1)
	run := int64(1)
	for _, step := range []struct {
		text   string
		begins bool
	}{
		{begin + "sample: 50%\nverdict: {budget: 5%}\nshadow: {timeout: 1s}\nstore: {keep_samples: 1h}\n", false},
		{begin + "rules: [{drop: body.at}]\n", true},
		{begin + "rules: [{drop: body.at}, {drop: body.at}]\n", false}, // the same, compiled
		{begin + "rules: [{drop: body.at}]\nheaders: {ignore: [X-Lane]}\n", true},
		{another + "rules: [{drop: body.at}]\nheaders: {ignore: [X-Lane]}\n", true},
		{begin, true}, // as the first run, which is over
	} {
		l.reload(step.text)
		if step.begins {
			run++
		}
		c.get("/a")
		l.settled()
		if got := l.svc.db.Snapshot().Run.ID; got != run {
			t.Fatalf("run %d after %q, want %d", got, step.text, run)
		}
	}
	l.eventually("the last run shows its own request alone", func() bool { return l.svc.db.Snapshot().Tallies.Total.Compared == 1 })
}

// TestABudgetJudgesThePast: what was counted before the reload is judged by it.
func TestABudgetJudgesThePast(t *testing.T) {
	t.Parallel()
	p := newPeer(t, "same", nil)
	l := serveFile(t, addresses(p, p, p))
	c := l.connect()
	for range 200 {
		c.get("/a")
	}
	l.settled()
	l.eventually("all are shown", func() bool { return l.svc.db.Snapshot().Verdict.Compared == 200 })
	if word := l.svc.db.Snapshot().Verdict.Word; word != "undecided" {
		t.Fatalf("the verdict is %s", word)
	}
	l.reload(addresses(p, p, p) + "verdict: {budget: 10%, min_compared: 100}\n")
	l.eventually("the past is judged anew", func() bool { return l.svc.db.Snapshot().Verdict.Word == "equivalent" })
	if got := l.svc.db.Snapshot().Verdict.Compared; got != 200 {
		t.Errorf("%d compared", got)
	}
}

// TestABadFileChangesNothing: each fault is told with its place, by the API, in the log and on the page, and the file before
// it stays in force until a good one comes.
func TestABadFileChangesNothing(t *testing.T) {
	t.Parallel()
	primary, secondary, candidate := newPeer(t, "primary", nil), newPeer(t, "secondary", nil), newPeer(t, "candidate", nil)
	begin := addresses(primary, secondary, candidate)
	l := serveFile(t, begin)
	c := l.connect()
	c.get("/a")
	mustSay := func(path string, texts ...string) {
		t.Helper()
		page := l.page(path)
		for _, text := range texts {
			if !strings.Contains(page, text) {
				t.Errorf("%s does not say %q:\n%s", path, text, page)
			}
		}
	}
	mustSay("/metrics", "shadowdiff_config_last_reload_successful 1\n", "shadowdiff_config_last_reload_success_timestamp_seconds ")

	got := l.refused("primary: " + primary.URL + "\ncandidate: ftp://there\nsampel: 5%\nshadow: {timeout: five}\nrules:\n  - drop: nowhere\n")
	want := []string{
		`2:1: candidate: must begin with http://, https:// or h2c://, is "ftp://there"`, `3:1: unknown key "sampel"; did you mean "sample"?`,
		`4:19: shadow.timeout: must be a duration such as 250ms, 5s, 10m or 7d, is "five"`, "6:5: rules[0].drop: *",
	}
	if !slices.EqualFunc(got, want, func(got, want string) bool { return glob(want).MatchString(got) }) {
		t.Errorf("faults:\n%s", strings.Join(got, "\n"))
	}
	for _, fault := range got {
		if !strings.Contains(l.log.String(), strings.ReplaceAll(l.file+":"+fault, `"`, `\"`)) {
			t.Errorf("the log does not tell %q", fault)
		}
	}
	mustSay("/metrics", "shadowdiff_config_last_reload_successful 0\n")
	mustSay("/", "was not taken", "4:19: shadow.timeout")
	mustSay("/api/v1/reload", `"successful":false`, `"line":4,"column":19`)
	for _, text := range []string{"primary: [", "- a\n", "\x00"} {
		if faults := l.refused(text); len(faults) != 1 {
			t.Errorf("%q: %q", text, faults)
		}
	}
	if err := os.Remove(l.file); err != nil {
		t.Fatal(err)
	}
	if status, answer := l.ask(http.MethodPost, "/api/v1/reload", ""); status != 422 || !strings.Contains(answer, "no such file") {
		t.Errorf("without the file: %d %s", status, answer)
	}
	if got := c.get("/a"); got != "200 primary" {
		t.Errorf("the client got %q", got)
	}
	if n := l.settled().Compared; n != 2 || candidate.asked.Load() != 2 {
		t.Errorf("%d compared, %d asked", n, candidate.asked.Load())
	}
	l.reload(begin)
	mustSay("/metrics", "shadowdiff_config_last_reload_successful 1\n")
	if page := l.page("/"); strings.Contains(page, "was not taken") {
		t.Error("the page still tells of the bad file")
	}
	activity, err := l.svc.db.Activity(context.Background(), 10)
	if err != nil || len(activity) != 7 || activity[0].Detail != "nothing has changed" || !strings.HasPrefix(activity[5].Detail, "not taken: 4 faults, the first ") {
		t.Errorf("activity: %+v, %v", activity, err)
	}
}

// TestWhatNeedsARestartIsNamed: a file in which such a key is another is not taken at all.
func TestWhatNeedsARestartIsNamed(t *testing.T) {
	t.Parallel()
	p := newPeer(t, "primary", nil)
	begin := addresses(p, p, p)
	l := serveFile(t, begin+"web: {token: s3cret}\n")
	l.svc.source.flags = nil // the file alone says it all from now on
	status, answer := l.ask(http.MethodPost, "/api/v1/reload", "")
	if status != http.StatusUnauthorized {
		t.Fatalf("without the token: %d %s", status, answer)
	}
	l.write(begin + "listen: 127.0.0.1:1\nsample: 5%\nserver:\n  drain: 1s\nstore: {path: other.db, keep_samples: 1h}\n" +
		"web: {listen: \"127.0.0.1:2\", token: hidden, read_only: true}\ntls: {cert: a.pem, key: b.pem}\n")
	done := l.svc.reload(t.Context(), "test")
	if done.Good || len(done.Faults) != 1 || !strings.Contains(done.Faults[0].Message, "tls.cert: a.pem: no such file") {
		t.Errorf("%+v", done)
	}
	cert, key := newCertificate(t, "shop.example")
	l.write(begin + "listen: 127.0.0.1:1\nsample: 5%\nserver:\n  drain: 1s\nstore: {path: other.db, keep_samples: 1h}\n" +
		"web: {listen: \"127.0.0.1:2\", token: hidden, read_only: true}\ntls: {cert: " + cert + ", key: " + key + "}\n")
	done = l.svc.reload(t.Context(), "test")
	var got []string
	for _, f := range done.Faults {
		got = append(got, strings.TrimPrefix(f.String(), l.file+":"))
	}
	const so = ": takes effect at a restart only"
	want := []string{
		"4:1: listen" + so, "7:3: server.drain" + so, "8:9: store.path" + so, "9:7: web.listen" + so, "9:30: web.token" + so,
		"9:45: web.read_only" + so, "10:1: tls: whether clients come over TLS takes effect at a restart only",
	}
	if !slices.Equal(got, want) {
		t.Errorf("faults:\n%s", strings.Join(got, "\n"))
	}
	if l.svc.proxy.Shadowing().Sample != multicast.Whole || l.svc.cfg.Load().Web.Token != "s3cret" || l.svc.cfg.Load().Store.KeepSamples != 7*24*time.Hour {
		t.Error("a part of the file was taken")
	}
	if strings.Contains(l.log.String(), "hidden") || strings.Contains(l.log.String(), "s3cret") {
		t.Error("the log tells a token")
	}
}

// TestWithoutAFileThereIsNothingToReload, and that is said.
func TestWithoutAFileThereIsNothingToReload(t *testing.T) {
	t.Parallel()
	l := serveFile(t, addresses(newPeer(t, "p", nil), newPeer(t, "s", nil), newPeer(t, "c", nil)))
	l.svc.source.file = ""
	if status, answer := l.ask(http.MethodPost, "/api/v1/reload", ""); status != http.StatusConflict || !strings.Contains(answer, "started without -config") {
		t.Errorf("%d %s", status, answer)
	}
	l.svc.Hangup()
	l.eventually("the log says it", func() bool { return strings.Contains(l.log.String(), "started without -config") })
}

// TestTheSwitchAndTheRateOutliveAReload, and the page says so.
func TestTheSwitchAndTheRateOutliveAReload(t *testing.T) {
	t.Parallel()
	p := newPeer(t, "primary", nil)
	l := serveFile(t, addresses(p, p, p)+"sample: 50%\n")
	if status, answer := l.ask(http.MethodPut, "/api/v1/shadowing", `{"enabled": false, "sample": "2.5%"}`); status != 200 {
		t.Fatalf("%d %s", status, answer)
	}
	l.reload(addresses(p, p, p) + "sample: 75%\n")
	if now := l.svc.proxy.Shadowing(); now.Enabled || now.Sample != 2500 {
		t.Errorf("after the reload: %+v", now)
	}
	l.connect().get("/a")
	if c := l.settled(); c.Skipped[multicast.ReasonDisabled] != 1 {
		t.Errorf("%+v", c)
	}
	if page := l.page("/"); !strings.Contains(page, "kept over restarts and reloads") {
		t.Error("the page does not say it")
	}
}

// TestReloadWhileShadowsHangAndThePrimaryStreams: neither is disturbed, and each exchange ends where it began.
func TestReloadWhileShadowsHangAndThePrimaryStreams(t *testing.T) {
	t.Parallel()
	more, release := make(chan string), make(chan struct{})
	primary := newPeer(t, "primary", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/stream" {
			return
		}
		passOn(w, r, more)
	})
	other := newPeer(t, "other", nil)
	hang := func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}
	secondary, candidate := newPeer(t, "secondary", hang), newPeer(t, "candidate", hang)
	next := newPeer(t, "next", nil)
	begin := addresses(primary, secondary, candidate)
	l := serveFile(t, begin+"shadow: {timeout: 60s, concurrency: 4}\n")
	c := l.connect()
	if _, err := io.WriteString(c.conn, "GET /stream HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	give(t, more, "one ")
	l.eventually("the shadows are asked", func() bool { return secondary.asked.Load() == 1 && candidate.asked.Load() == 1 })
	run := l.svc.judging.Load().run.ID
	l.reload(strings.NewReplacer(primary.URL, other.URL, candidate.URL, next.URL).Replace(begin) + "shadow: {timeout: 1ms}\n")
	give(t, more, "two ")
	if got := l.connect().get("/"); got != "200 other" {
		t.Errorf("a new client got %q", got)
	}
	l.reload(begin + "shadow: {timeout: 60s, concurrency: 2}\n")
	give(t, more, "three")
	close(more)
	res, err := http.ReadResponse(c.r, nil)
	if err != nil {
		t.Fatal(err)
	}
	if body, err := io.ReadAll(res.Body); err != nil || string(body) != "one two three" {
		t.Errorf("the stream was %q, %v", body, err)
	}
	close(release)
	counts := l.settled()
	if counts.Exchanged != 2 || counts.Compared+sum(counts.Unknown) != 2 || counts.Compared == 0 {
		t.Errorf("%+v", counts)
	}
	if now := l.svc.judging.Load().run.ID; now != run+2 {
		t.Errorf("run %d, began in %d", now, run)
	}
	if got := c.get("/"); got != "200 " {
		t.Errorf("the connection goes on with %q", got)
	}
}

// TestReloadsAtFullSpeed: under traffic on connections that are never opened again nothing is lost, whoever reloads.
func TestReloadsAtFullSpeed(t *testing.T) {
	t.Parallel()
	primary, secondary, one, two := newPeer(t, "p", nil), newPeer(t, "s", nil), newPeer(t, "1", nil), newPeer(t, "2", nil)
	texts := []string{
		addresses(primary, secondary, one), addresses(primary, secondary, two) + "shadow: {concurrency: 3, queue: 0}\n",
		addresses(primary, secondary, one) + "sample: 33%\nrules: [{drop: body}]\n", addresses(primary, secondary, two) + "dispatch: start\n",
	}
	l := serveFile(t, texts[0])
	const clients = 4
	var asked [clients]int64
	var crowd sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	for i := range clients {
		c := l.connect()
		crowd.Go(func() {
			for ; ctx.Err() == nil; asked[i]++ {
				if got, err := c.try("GET /a HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil || got != "200 p" {
					t.Errorf("after %d requests: %q, %v", asked[i], got, err)
					return
				}
			}
		})
	}
	var reloaders sync.WaitGroup
	for i := range 3 { // at once: each is whole
		reloaders.Go(func() {
			for n := range 8 {
				if done := l.svc.reload(ctx, fmt.Sprint("reloader ", i)); !done.Good {
					t.Errorf("reload %d: %+v", n, done.Faults)
				}
			}
		})
	}
	var before int64
	for n := range 16 {
		l.replace(texts[n%len(texts)])
		l.svc.reload(ctx, "test")
		now := l.svc.proxy.Counts().Requests
		if now < before {
			t.Errorf("the requests fell from %d to %d", before, now)
		}
		before = now
		l.eventually("more requests", func() bool { return l.svc.proxy.Counts().Requests > now+10 })
	}
	reloaders.Wait()
	stop()
	crowd.Wait()
	counts := l.settled()
	var total int64
	for _, n := range asked {
		total += n
	}
	if counts.Requests != total {
		t.Errorf("%d requests were counted of %d", counts.Requests, total)
	}
	addsUp(t, counts)
	if stray := l.svc.db.Health().Stray; stray != 0 {
		t.Errorf("%d comparisons were of no run", stray)
	}
}

// TestAnExchangeIsCountedInItsRun: one candidate always differs and the other never does, so that one exchange in the
// wrong run would be seen.
func TestAnExchangeIsCountedInItsRun(t *testing.T) {
	t.Parallel()
	same, different := newPeer(t, "same", nil), newPeer(t, "different", nil)
	texts := [...]string{addresses(same, same, same), addresses(same, same, different)}
	l := serveFile(t, texts[0])
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var crowd sync.WaitGroup
	for range 4 {
		c := l.connect()
		crowd.Go(func() {
			for ctx.Err() == nil {
				if got, err := c.try("GET /a HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil || got != "200 same" {
					t.Errorf("%q, %v", got, err)
					return
				}
			}
		})
	}
	for n := range 10 {
		if n > 0 {
			l.reload(texts[n%2])
		}
		run := l.svc.judging.Load().run.ID
		l.eventually("the run has grown", func() bool {
			snap := l.svc.db.Snapshot()
			return snap.Run.ID == run && snap.Tallies.Total.Compared > 30
		})
		total := l.svc.db.Snapshot().Tallies.Total
		if want := total.Compared * int64(n%2); total.Raw != want {
			t.Errorf("run %d: %d of %d differ, want %d", run, total.Raw, total.Compared, want)
		}
	}
	stop()
	crowd.Wait()
}

// TestSIGHUPReadsAReplacedFile: the file is reached by symbolic links, as Kubernetes mounts a ConfigMap, and swapped by
// renaming one of them.
func TestSIGHUPReadsAReplacedFile(t *testing.T) {
	t.Parallel()
	p := newPeer(t, "primary", nil)
	dir := t.TempDir()
	mount := func(version, text string) {
		t.Helper()
		for _, err := range []error{
			os.Mkdir(filepath.Join(dir, version), 0o700),
			os.WriteFile(filepath.Join(dir, version, "shadowdiff.yaml"), []byte(text), 0o600),
			os.Symlink(version, filepath.Join(dir, "..tmp")),
			os.Rename(filepath.Join(dir, "..tmp"), filepath.Join(dir, "..data")),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	mount("v1", addresses(p, p, p)+"sample: 1%\n")
	file := filepath.Join(dir, "shadowdiff.yaml")
	if err := os.Symlink(filepath.Join("..data", "shadowdiff.yaml"), file); err != nil {
		t.Fatal(err)
	}
	s := serveProcess(t, "-config", file, "-sample", "50%")
	rate := func() (now multicast.Shadowing) {
		s.get("/api/v1/shadowing", &now)
		return now
	}
	mount("v2", addresses(p, p, p)+"sample: 2%\nmethods: [POST]\n")
	s.signal(syscall.SIGHUP)
	s.await("the reload", func(line string) bool {
		return strings.Contains(line, `"configuration reloaded"`) && strings.Contains(line, `"changed":["methods"]`)
	})
	if got := rate().Sample; got != multicast.Whole/2 {
		t.Errorf("the flag's rate has become %v", got)
	}
	mount("v3", addresses(p, p, p)+"shadow:\n  timeout: 0s\n")
	s.signal(syscall.SIGHUP)
	s.await("the fault", func(line string) bool {
		return strings.Contains(line, `"configuration not reloaded"`) && strings.Contains(line, file+":5:3: shadow.timeout: must be above 0")
	})
	if got := <-get(s.clients); got != "primary" {
		t.Errorf("the client got %q", got)
	}
	s.signal(syscall.SIGTERM)
	if code := s.wait(); code != exitOK {
		t.Errorf("exit code %d", code)
	}
}
