package web

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"shadowdiff/store"
)

// activityPage answers who or what changed the rate, the switch, rules and runs, and when.
type activityPage struct {
	frame
	Rows    []activityRow
	Actors  []pick
	Actions []pick
	Spans   []pick
	Since   string // of the address, where it is none of Spans
	Until   string
	Limit   string
	Chosen  bool   // filters are on
	Paged   bool   // newer entries are left out
	Older   string // path of the entries before these; empty: there are none
}

// pick is one value that a filter may take.
type pick struct {
	Value, Word string
	Chosen      bool
}

// activityRow is one thing that was changed.
type activityRow struct {
	At       time.Time
	Who      string
	Sentence string
	Changes  []changed
	Page     string // where it is to be seen now
	Action   string
}

// changed is one value before and after.
type changed struct{ Key, Before, After string }

// About is the part that was changed, in one word.
func (r activityRow) About() string {
	switch r.Action {
	case "shadowing":
		return "switch"
	case "reload":
		return "configuration"
	}
	return r.Action
}

// activity answers GET /activity.
func (s *Server) activity(w http.ResponseWriter, r *http.Request) error {
	q, err := readQuery(r, activityFilters()...)
	if err != nil {
		return err
	}
	entries, next, err := s.findActivity(r.Context(), q)
	if err != nil {
		return err
	}
	page := &activityPage{
		frame: s.frameFor(r, s.deps.DB.Snapshot(), "Activity"),
		Paged: q.text("cursor") != "", Until: q.text("until"), Limit: q.text("limit"),
		Actors: picks(q.text("actor"), actorWords()), Actions: picks(q.text("action"), actionWords()), Spans: picks(q.text("since"), spanWords()),
	}
	page.Here = "activity"
	page.Still = page.Paged // what is older stays as it is
	for _, name := range []string{"actor", "action", "since", "until"} {
		page.Chosen = page.Chosen || q.text(name) != ""
	}
	for _, e := range entries {
		page.Rows = append(page.Rows, activityRowOf(e))
	}
	if next != nil {
		page.Older = listPath("/activity", "actor", q.text("actor"), "action", q.text("action"), "since", q.text("since"),
			"until", q.text("until"), "limit", q.text("limit"), "cursor", *next)
	}
	return s.render(w, r, http.StatusOK, "activity", page)
}

// picks offers the values of a filter, with the one that is asked for even where it is none of them.
func picks(asked string, words [][2]string) []pick {
	list, found := []pick{}, false
	for _, w := range words {
		list = append(list, pick{w[0], w[1], w[0] == asked})
		found = found || w[0] == asked
	}
	if !found {
		list = append(list, pick{asked, asked, true})
	}
	return list
}

// actorWords says who or what may have changed something, as it is kept and as people say it.
func actorWords() [][2]string {
	return [][2]string{
		{"", "anyone"},
		{"page", "the dashboard"},
		{"api", "the API"},
		{"start", "the start"},
		{"reload", "the configuration"},
		{"signal", "a signal"},
		{"version", "the candidate"},
		{"guard", "the guard"},
		{"ramp", "the ramp"},
	}
}

func actionWords() [][2]string {
	return [][2]string{
		{"", "anything"},
		{"shadowing", "the switch and the rate"},
		{"run", "runs"},
		{"rules", "rules"},
		{"reload", "the configuration"},
		{"backup", "backups"},
	}
}

func spanWords() [][2]string {
	return [][2]string{{"", "ever"}, {"1h", "the last hour"}, {"24h", "the last day"}, {"168h", "the last week"}}
}

// actorWord is how a page names an actor.
func actorWord(actor string) string {
	for _, w := range actorWords()[1:] {
		if w[0] == actor {
			return w[1]
		}
	}
	return actor
}

// before finds what was changed from what, in the words in which it is kept.
var before = regexp.MustCompile(`([\w. :]+?):? ("(?:[^"\\]|\\.)*"|[^\s,"(]+) \(was ("(?:[^"\\]|\\.)*"|[^)]*)\)`)

// activityRowOf puts an entry into a sentence.
func activityRowOf(e store.Activity) activityRow {
	row := activityRow{At: e.Time, Who: actorWord(e.Actor), Action: e.Action}
	rest := e.Detail
	for _, m := range before.FindAllStringSubmatch(e.Detail, -1) {
		row.Changes = append(row.Changes, changed{strings.TrimSpace(m[1]), bare(m[3]), bare(m[2])})
		rest = strings.Replace(rest, m[0], "", 1)
	}
	rest = strings.Trim(strings.ReplaceAll(rest, ", , ", ", "), ", :")
	switch e.Action {
	case "shadowing":
		row.Page, row.Sentence = "/settings", switchActSentence(rest, row.Changes)
	case "run":
		row.Page, row.Sentence = runActSentence(rest, row.Changes)
	case "rules":
		row.Page, row.Sentence = "/rules", ruleActSentence(rest)
	case "reload":
		row.Page, row.Sentence = "/settings", reloadActSentence(e.Detail, rest, row.Changes)
	case "backup":
		row.Sentence = backupActSentence(e.Detail)
	default:
		row.Sentence = capital(e.Action + ": " + e.Detail)
	}
	return row
}

// bare is a text without its quotes.
func bare(text string) string {
	if plain, err := strconv.Unquote(text); err == nil {
		return plain
	}
	return text
}

func switchActSentence(rest string, changes []changed) string {
	switch {
	case rest == "switched on" || rest == "switched off":
		return "Shadowing was " + rest + "."
	case rest == "" && len(changes) > 0:
		return "The share that is shadowed was changed."
	}
	return capital(rest) + "."
}

// inForce is how the beginning of a run is kept.
var inForce = regexp.MustCompile(`^in force: ("(?:[^"\\]|\\.)*") \(id (\d+)(.*)\)$`)

// renamed is how the change of a run's name or notes is kept.
var renamed = regexp.MustCompile(`^run (\d+)`)

func runActSentence(rest string, changes []changed) (page, sentence string) {
	if m := inForce.FindStringSubmatch(rest); m != nil {
		return "/?run=" + m[2], "Run “" + bare(m[1]) + "”" + m[3] + " came into force."
	}
	if len(changes) > 0 && strings.HasPrefix(changes[0].Key, "run ") {
		id, _, _ := strings.Cut(strings.TrimPrefix(changes[0].Key, "run "), ":")
		changes[0].Key = "name"
		if strings.Contains(rest, "other notes") {
			return "/runs/" + id, "Run " + id + " has another name, and other notes."
		}
		return "/runs/" + id, "Run " + id + " has another name."
	}
	if m := renamed.FindStringSubmatch(rest); m != nil && strings.HasSuffix(rest, "other notes") {
		return "/runs/" + m[1], "Run " + m[1] + " has other notes."
	}
	return "/runs", capital(rest) + "."
}

func ruleActSentence(rest string) string {
	for _, verb := range []string{"added", "removed"} {
		if id, text, found := strings.Cut(strings.TrimPrefix(rest, verb+" "), ": "); found && strings.HasPrefix(rest, verb+" ") {
			return "Rule " + id + " was " + verb + ": " + text
		}
	}
	return capital(rest)
}

func reloadActSentence(detail, rest string, changes []changed) string {
	switch {
	case detail == "nothing has changed":
		return "The configuration was read again, and nothing has changed."
	case strings.HasPrefix(detail, "not taken"):
		return "The configuration was " + detail + "."
	case rest == "" && len(changes) > 0:
		return "The configuration was changed."
	}
	return "The configuration was changed: " + rest + "."
}

func backupActSentence(detail string) string {
	if n, err := strconv.ParseInt(strings.TrimSuffix(detail, " bytes"), 10, 64); err == nil {
		return "A backup was made, of " + size(n) + "."
	}
	return "A backup was made: " + detail + "."
}

// capital begins a text with a capital letter.
func capital(text string) string {
	if text == "" {
		return ""
	}
	return strings.TrimSuffix(sentenceOf(text), ".")
}

// actorOf says through what a request changes something.
func actorOf(r *http.Request) string {
	if strings.HasPrefix(r.URL.Path, "/api/") {
		return "api"
	}
	return "page"
}
