package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"time"
	"unicode"
	"unicode/utf8"

	"shadowdiff/multicast"
	"shadowdiff/store"
)

//go:embed templates
var templateFiles embed.FS

//go:embed static
var staticFiles embed.FS

// frame is what every page shows around its own matter.
type frame struct {
	Title    string
	Base     string // path before every link: "" or "/shadowdiff"
	Self     string // the page's own path and query below Base, for fetching it again
	Asset    string // changes with the static files
	Theme    string // light, dark, or empty: the system's
	Version  string
	Run      store.Run
	Snapshot uint64
	AsOf     time.Time
	Switch   switchView
	Notices  []notice // what a person must know on every page
	Still    bool     // the page's matter does not change: it need not follow each snapshot
	Here     string   // the view that the page belongs to, as views lists them
	Scripts  []string // the page's own, below static
	Earlier  bool     // the page tells of a run that is over
	Asked    string   // the run that the address names, as it names it; empty: the one in force
}

// pages holds one template set a page.
type pages struct {
	sets  map[string]*template.Template
	asset string
}

func parsePages() *pages {
	shared := template.Must(template.New("").Funcs(helpers()).ParseFS(templateFiles, "templates/layout.html", "templates/parts.html", "templates/lists.html", "templates/figures.html"))
	p := &pages{sets: map[string]*template.Template{}, asset: assetTag()}
	for _, name := range []string{"overview", "route", "field", "fields", "sample", "samples", "rules", "runs", "run", "compare", "activity", "settings", "help", "problem"} {
		set := template.Must(shared.Clone())
		p.sets[name] = template.Must(set.ParseFS(templateFiles, "templates/"+name+".html"))
	}
	return p
}

// assetTag is a short digest of all static files, so that they may be cached for ever under their address.
func assetTag() string {
	h := sha256.New()
	_ = fs.WalkDir(staticFiles, "static", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			b, _ := staticFiles.ReadFile(path) // embedded: cannot fail
			fmt.Fprintf(h, "%s %d\n", path, len(b))
			h.Write(b)
		}
		return err
	})
	return hex.EncodeToString(h.Sum(nil))[:12]
}

// helpers are the functions that templates may call: words and drawings, no decisions.
func helpers() template.FuncMap {
	return template.FuncMap{
		"count": count, "share": share, "rate": rate, "plain": plain, "between": between, "took": took, "size": size,
		"things": things, "odds": odds, "clock": clock, "moment": moment, "stamp": stamp,
		"finding": func(base string, f findingView, showRoute bool) findingPart { return findingPart{base, f, showRoute} },
		"samplerow": func(base string, valued, route bool, row sampleRow) sampleRowPart {
			return sampleRowPart{base, valued, route, row}
		},
		"spread":    func(role string, v spreadView) spreadPart { return spreadPart{role, v} },
		"ticks":     ticks,
		"views":     views,
		"mark":      func(m string) mark { return mark(m) },
		"depth":     func(d int) int { return min(d, 8) },
		"int64":     func(n int) int64 { return int64(n) },
		"routePath": routePath, "fieldPath": fieldPath, "samplePath": samplePath,
		"samplesPath": samplesPath, "samplesAtPath": samplesAtPath, "fieldsPath": fieldsPath, "fieldsOfPath": fieldsOfPath,
		"term": term, "terms": terms, "keys": keys, "noControl": func() string { return noControl }, "reasonPath": reasonPath,
		"reasons": reasonsExplained, "outcomes": outcomesExplained,
	}
}

// clock is a moment's short form, before a script makes it local.
func clock(t time.Time) string { return t.UTC().Format("15:04:05") + " UTC" }

// moment is clock with its date.
func moment(t time.Time) string { return t.UTC().Format("2 Jan 15:04:05") + " UTC" }

// findingPart and spreadPart are what the parts of the same names are handed.
type findingPart struct {
	Base      string
	Finding   findingView
	ShowRoute bool
}

type spreadPart struct {
	Role string
	spreadView
}

// stamp is a moment's exact form.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// render writes a page, or only its live part when htmx fetches it again; both are the same template. Nothing is sent
// before all of it is made.
func (s *Server) render(w http.ResponseWriter, r *http.Request, status int, name string, view any) error {
	part := "document"
	if r.Header.Get("HX-Request") == "true" {
		part = "live"
	}
	var buf bytes.Buffer
	if err := s.pages.sets[name].ExecuteTemplate(&buf, part, view); err != nil {
		return fmt.Errorf("render %s: %w", name, err)
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("Vary", "HX-Request, Cookie")
	w.WriteHeader(status)
	_, _ = w.Write(buf.Bytes()) // the reader is gone: nobody to tell
	return nil
}

// frameFor fills in what surrounds a page of one snapshot.
func (s *Server) frameFor(r *http.Request, snap *store.Snapshot, title string) frame {
	now := s.deps.Instance()
	return frame{
		Title: title, Base: s.prefix, Self: r.URL.RequestURI(), Asset: s.pages.asset, Theme: themeOf(r),
		Asked: askedRun(r), Earlier: snap.Run.Ended != nil, Still: snap.Run.Ended != nil,
		Version: s.deps.Version, Run: snap.Run, Snapshot: snap.Version, AsOf: snap.Time,
		Switch: s.switchView(now), Notices: s.notices(now),
	}
}

// notice is what a person must know, in words, with a moment in them where there is one.
type notice struct {
	Before string
	At     time.Time // zero: there is none, nor an After
	After  string
	Calm   bool // nothing is the matter
}

// notices are the store's troubles, a configuration that was not taken, and the set-up's limits, in words.
func (s *Server) notices(now Instance) []notice {
	var notes []notice
	if now.Replay {
		notes = append(notes, notice{Before: "A replay is under way: recorded requests are asked, and nothing can be changed here.", Calm: true})
	}
	if h := s.deps.DB.Health(); h.Err != "" {
		notes = append(notes, notice{
			Before: "Counts are not reaching the disk since", At: h.LastFlush,
			After: fmt.Sprintf(": %s. They are kept in memory; free space or mend the store's folder, and writing goes on.", h.Err),
		})
	}
	if aside := s.deps.DB.Health().Aside; aside != nil && aside.Foreign {
		notes = append(notes, notice{
			Before: "The database was removed or replaced while it was in use, and written anew at", At: aside.Time,
			After: fmt.Sprintf(", whole. What stood in its place is in %s.", aside.Path),
		})
	} else if aside != nil {
		notes = append(notes, notice{
			Before: "The database was set aside at", At: aside.Time,
			After: fmt.Sprintf(" and a new one begun: %s. Counts in memory went on; runs and samples from before are in %s.", aside.Why, aside.Path),
		})
	}
	if last := now.Reload; last != nil && !last.Good {
		notes = append(notes, notice{
			Before: now.File + " was not taken at", At: last.Time,
			After: fmt.Sprintf(", and the configuration before it stays in force: %s.", told(last.Faults)),
		})
	}
	if now.Targets.Candidate != "" && now.Targets.Secondary == "" {
		notes = append(notes, notice{Before: "There is no secondary, so nothing tells noise from the candidate's doing: " +
			"all noise counts against the candidate, and the verdict is never “equivalent”."})
	}
	notes = append(notes, guarded(s.deps.Proxy.Guard())...)
	notes = append(notes, paused(s.deps.Proxy.Counts())...)
	for _, warning := range now.Warnings {
		notes = append(notes, notice{Before: sentenceOf(warning)})
	}
	return notes
}

// sentenceOf makes a sentence of a line of the log.
func sentenceOf(line string) string {
	first, size := utf8.DecodeRuneInString(line)
	return string(unicode.ToUpper(first)) + line[size:] + "."
}

// switchView is the state of shadowing in the head of every page.
type switchView struct {
	Enabled   bool
	Sample    string // "5%"
	Candidate bool   // there is one to ask
	ReadOnly  bool
	Replay    bool // which is why nothing can be changed
	Kept      bool // set here rather than by the configuration, and kept over restarts and reloads
	InFlight  int64
	Guarded   bool   // the guard has paused it
	Ramp      string // "step 2 of 4"; empty: the rate does not rise by itself
}

func (s *Server) switchView(now Instance) switchView {
	state, counts := s.shadowingNow(), s.deps.Proxy.Counts()
	ramp := ""
	if r := state.Ramp; r != nil && r.Step > 0 {
		ramp = fmt.Sprintf("step %d of %d", r.Step, len(r.Steps))
	}
	return switchView{
		Guarded: state.Guard != nil && state.Guard.Paused, Ramp: ramp,
		Enabled: state.Enabled, Sample: shareText(state.Sample), Candidate: now.Targets.Candidate != "",
		ReadOnly: s.cfg.ReadOnly, Replay: now.Replay, Kept: s.kept.Load(),
		InFlight: counts.InFlight[multicast.Candidate.String()] + counts.InFlight[multicast.Secondary.String()],
	}
}

// themeOf reads the reader's choice.
func themeOf(r *http.Request) string {
	c, err := r.Cookie("theme")
	if err != nil || (c.Value != "light" && c.Value != "dark") {
		return ""
	}
	return c.Value
}

// setTheme keeps the reader's choice for a year and goes back to the page.
func (s *Server) setTheme(w http.ResponseWriter, r *http.Request) error {
	r.Body = http.MaxBytesReader(w, r.Body, 4<<10)
	if err := r.ParseForm(); err != nil {
		return formFault(err)
	}
	theme := r.PostForm.Get("theme")
	if theme != "light" && theme != "dark" && theme != "system" {
		return refuse(http.StatusBadRequest, "theme=%q: choose light, dark or system", theme)
	}
	http.SetCookie(w, &http.Cookie{
		Name: "theme", Value: theme, Path: s.prefix + "/", MaxAge: 365 * 24 * 3600, SameSite: http.SameSiteLaxMode,
	})
	s.goBack(w, r)
	return nil
}

// goBack answers a form with the page it stood on.
func (s *Server) goBack(w http.ResponseWriter, r *http.Request) {
	back := r.PostForm.Get("back")
	if !local(back) {
		back = "/"
	}
	http.Redirect(w, r, s.prefix+back, http.StatusSeeOther)
}
