package web

import (
	"io/fs"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"shadowdiff/multicast"
	"shadowdiff/store"
)

// Every word that a page explains has a meaning, and the help page lists them all, with the keys.
func TestWordsAreExplained(t *testing.T) {
	r := newRig(t, shop("1"), shop("1"), nil)
	used := 0
	names, err := fs.Glob(templateFiles, "templates/*.html")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		text, err := templateFiles.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`\(term "([^"]*)"`).FindAllStringSubmatch(string(text), -1) {
			used++
			if _, err := term(m[1]); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if used == 0 {
		t.Error("no template explains a word")
	}
	help := r.get("/help")
	for _, v := range terms() {
		mustHold(t, "help", help, `id="word-`+v.Slug()+`"`, ">"+v.Word+"<")
		if !strings.HasSuffix(v.Meaning, ".") {
			t.Errorf("the meaning of %s is no sentence: %q", v.Word, v.Meaning)
		}
	}
	mustHold(t, "help", help, "<kbd>j</kbd>", "<kbd>g</kbd>", "Settings", `<a class="help" href="/help" title="Words and keys" aria-current="page"`)
	if v, err := term("noise", "Noise"); err != nil || v.Word != "Noise" {
		t.Errorf("another form of a word: %+v, %v", v, err)
	}
}

// The head marks where one is, and links keep the run that is looked at.
func TestHeadSaysWhereOneIs(t *testing.T) {
	r := newRig(t, shop("1"), shop("1"), nil)
	for _, v := range views() {
		page := r.get(v.Path)
		if found := regexp.MustCompile(`<a href="([^"]*)" aria-current="page">`).FindStringSubmatch(page); found == nil || found[1] != v.Path {
			t.Errorf("%s marks %v", v.Path, found)
		}
	}
	f := frame{Base: "/diff", Asked: "a b"}
	for path, want := range map[string]string{"/fields": "/diff/fields?run=a+b", "/fields?route=x": "/diff/fields?route=x&run=a+b"} {
		if got := f.With(path); got != want {
			t.Errorf("%s becomes %s, want %s", path, got, want)
		}
	}
	if got := (frame{}).With("/fields"); got != "/fields" {
		t.Errorf("without a run: %s", got)
	}
}

// A change is told in a sentence, with what it was before, by whom; and leads to where it is to be seen.
func TestActivityPage(t *testing.T) {
	r := newRig(t, shop("1"), shop("1"), nil)
	mustHold(t, "nothing yet", r.get("/activity"), "Nobody has changed anything yet.", "Nothing yet")
	for _, body := range []string{`{"sample": "5%"}`, `{"enabled": false}`} {
		if a := r.do(http.MethodPut, "/api/v1/shadowing", body, "Content-Type: application/json"); a.status != http.StatusOK {
			t.Fatal(a.status, a.body)
		}
	}
	page := r.get("/activity")
	mustHold(t, "activity", page, "The last change: Shadowing was switched off, by the API.", "The share that is shadowed was changed.",
		"<del><span class=\"hidden\">before </span>100%</del>", "<ins>5%</ins>", "by the API", "2 changes shown", "Nothing older.", `<li class="act" data-row>`)
	mustHold(t, "first page", r.get("/activity?limit=1"), "switched off")
	older := link(t, r.get("/activity?limit=1"), "/activity?cursor=")
	older = strings.ReplaceAll(older, "&amp;", "&")
	if second := r.get(older); strings.Contains(second, "switched off") || !strings.Contains(second, "<ins>5%</ins>") {
		t.Errorf("%s is not the rest:\n%s", older, excerpt(second))
	}
	mustHold(t, "none left", r.get("/activity?actor=guard&since=1h"), "Nothing that these filters leave.", `<option value="guard" selected>`, `<option value="1h" selected>`)
	if a := r.do(http.MethodGet, "/activity?who=x", "", "Accept: text/html"); a.status != http.StatusBadRequest {
		t.Errorf("an unknown filter: %d", a.status)
	}
}

func TestActivityIsSaidInSentences(t *testing.T) {
	for _, c := range []struct{ action, detail, says, page string }{
		{"run", `in force: "v2 \"x\"" (id 7, attempt 2)`, `Run v2 "x", attempt 2, came into force.`, "/runs/7"},
		{"run", `run 7: name "b" (was "a"): other notes`, "Run 7 has another name, and other notes. [name a b]", "/runs/7"},
		{"run", `run 7: other notes`, "Run 7 has other notes.", "/runs/7"},
		{"rules", `added 3: drop: body.x`, "Rule 3 was added. {added 3 drop: body.x}", "/rules"},
		{"rules", `removed 12: sort: body.tags`, "Rule 12 was removed. {removed 12 sort: body.tags}", "/rules"},
		{"rules", `added 5: round: body.x, to: 2, removed 3: drop: body.x`, "Rule 3 was replaced by rule 5. [ drop: body.x round: body.x, to: 2] {added 5 round: body.x, to: 2} {removed 3 drop: body.x}", "/rules"},
		{"rules", `added 5: drop: a, added 6: drop: b and 17 more`, "19 rules were added. {added 5 drop: a} {added 6 drop: b}", "/rules"},
		{"rules", `added 5: drop: a, added 6: drop: b…`, "At least 2 rules were added. {added 5 drop: a} {added 6 drop: b…}", "/rules"},
		{"rules", `added 5: drop: a, added 6: drop: b, removed 4: drop: c`, "2 rules were added, and 1 rule was removed. {added 5 drop: a} {added 6 drop: b} {removed 4 drop: c}", "/rules"},
		{"rules", `what and 3 more`, "What and 3 more.", "/rules"},
		{"reload", `nothing has changed`, "The configuration was read again, and nothing has changed.", "/settings#configuration"},
		{"reload", `sample: 5% (was 100%), rules`, "The configuration was changed: rules. [sample 100% 5%]", "/settings#configuration"},
		{"reload", `not taken: 2 faults, the first a.yaml:1:1: x`, "The configuration was not taken: 2 faults, the first a.yaml:1:1: x.", "/settings#configuration"},
		{"shadowing", `switched off, sample 1% (was 5%)`, "Shadowing was switched off. [share 5% 1%]", "/settings#shadowing"},
		{"backup", `2048 bytes`, "A backup was made, of 2.00\u202fKiB.", "/settings#store"},
		{"recording", `began in /var/tape`, "Recording began in /var/tape.", "/settings#recording"},
		{"purge", `12 samples and 3 profiles of run v2`, "Removed for good: 12 samples and 3 profiles of run v2.", "/samples"},
		{"set aside", `x.db.aside: not a database`, "The database was set aside, and a new one begun: x.db.aside: not a database.", "/settings#store"},
		{"set aside", `another file in its place: x.db.replaced-1`, "The database was replaced by another file, and written anew; what stood in its place was set aside: x.db.replaced-1.", "/settings#store"},
		{"other", `что-то`, "Other: что-то", ""},
		{"shadowing", ``, ".", "/settings#shadowing"},
	} {
		row := activityRowOf(store.Activity{Action: c.action, Detail: c.detail, Actor: "page"})
		says := row.Sentence
		for _, ch := range row.Changes {
			says += " [" + ch.Key + " " + ch.Before + " " + ch.After + "]"
		}
		for _, rule := range row.Rules {
			says += " {" + rule.Verb + " " + rule.ID + " " + rule.Text + "}"
		}
		if says != c.says || row.Page != c.page || row.Who != "the dashboard" {
			t.Errorf("%s %q: %q to %q, want %q to %q", c.action, c.detail, says, row.Page, c.says, c.page)
		}
	}
}

// What the instance does is seen, and its buttons do what they say, without a script.
func TestSettingsPage(t *testing.T) {
	r := newRig(t, shop("1"), shop("1"), nil)
	r.become(func(now *Instance) {
		now.File, now.Build = "/etc/shadowdiff.yaml", "shadowdiff v1, commit abc"
		now.Recording = multicast.RecordConfig{Dir: "/var/tape", Sample: multicast.Whole, MaxSize: multicast.GiB, MaxAge: 48 * time.Hour}
		now.Limits = Limits{Store: "/var/lib/x.db", StoreMax: 1 << 30, Memory: 64 << 20, Queue: 256, Concurrency: 64}
	})
	r.ask(3, "/products/1")
	mustHold(t, "settings", r.get("/settings"), "asked with copies of every eligible request", r.now().Targets.Primary, "/etc/shadowdiff.yaml",
		"/var/lib/x.db", "of 1.00\u202fGiB", "of 256", "commit abc", ">Pause</button>", "as the system", `<a href="/help#outcome-ok">3</a>`,
		"/var/tape", "100% of all requests", "2 days, at most 1.00\u202fGiB", "shadowdiff replay /var/tape", "the recordings in")
	mustHold(t, "without recording", newRig(t, shop("1"), shop("1"), nil).get("/settings"), "Nothing is recorded.")
	lost := recordingOf(&multicast.RecordConfig{Dir: "x"}, &multicast.RecordCounts{Sampled: 3, Written: 1, Dropped: map[multicast.Reason]int64{multicast.ReasonDisk: 2}})
	if !lost.Losing || len(lost.Lost) != 1 || lost.Lost[0].Count != 2 || reasonMeaning(multicast.ReasonDisk) == "" {
		t.Errorf("what the disk did not take is %+v", lost)
	}
	r.reload = func(actor string) Reload {
		done := Reload{Time: time.Now(), Faults: []Fault{{File: "shadowdiff.yaml", Line: 3, Column: 5, Message: "by " + actor}}}
		r.become(func(now *Instance) { now.Reload = &done })
		return done
	}
	form := "Content-Type: application/x-www-form-urlencoded"
	mustHold(t, "after a reload", r.do(http.MethodPost, "/reload", "back=/settings", form).body, "shadowdiff.yaml:3:5: by page", "not taken")
	mustHold(t, "after a pause", r.do(http.MethodPost, "/shadowing", "enabled=false&back=/settings", form).body, "Shadowing is paused", ">Resume</button>")
	if a := r.do(http.MethodPost, "/backup", "", form); a.status != http.StatusOK || !strings.HasPrefix(a.body, "SQLite format 3") {
		t.Errorf("a backup: %d %.40q", a.status, a.body)
	}
	mustHold(t, "activity", r.get("/activity"), "A backup was made", "by the dashboard")
}

// Where nothing may be changed, that is said, and no button pretends otherwise.
func TestSettingsToRead(t *testing.T) {
	r := newRig(t, shop("1"), shop("1"), func(c *Config) { c.ReadOnly = true })
	page := r.get("/settings")
	mustHold(t, "settings", page, "read only", "web.read_only is set")
	for _, m := range regexp.MustCompile(`<button[^>]*>(Pause|Set|Back up|Resume|Read again)</button>`).FindAllString(page, -1) {
		if !strings.Contains(m, "disabled") {
			t.Errorf("can be pressed: %s", m)
		}
	}
	for _, path := range []string{"/reload", "/backup", "/shadowing"} {
		if a := r.do(http.MethodPost, path, "back=/settings", "Content-Type: application/x-www-form-urlencoded", "Accept: text/html"); a.status != http.StatusForbidden {
			t.Errorf("%s: %d", path, a.status)
		}
	}
}

// The page of a run that is over says so and does not follow the stream.
func TestEarlierRunStandsStill(t *testing.T) {
	r := newRig(t, shop("1"), shop("1"), nil)
	r.ask(5, "/products/1")
	if page := r.get("/"); !strings.Contains(page, "hx-sse:connect") || strings.Contains(page, "This is an earlier run") {
		t.Errorf("the run in force does not follow the stream:\n%s", excerpt(page))
	}
	r.begin("v2.3.2", "other")
	page := r.get("/?run=v2.3.1")
	mustHold(t, "an earlier run", page, "This is an earlier run", "run <b>v2.3.1</b>", " data-still")
	if strings.Contains(page, "hx-sse:connect") || strings.Contains(page, "snapshot from:body") {
		t.Error("an earlier run follows the stream")
	}
}
