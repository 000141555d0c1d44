package web

import (
	"fmt"
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
	Rules    []changedRule // that were added or removed, as far as they are told
	Page     string        // where it is to be seen now
	Action   string
}

// changed is one value before and after.
type changed struct{ Key, Before, After string }

// changedRule is a rule that was added or removed, in one line.
type changedRule struct{ Verb, ID, Text string }

// Whole is the sentence with what was changed from what, and by whom.
func (r activityRow) Whole() string {
	text := strings.TrimRight(r.Sentence, ".")
	for _, c := range r.Changes {
		if c.Key != "" && text != shareChanged { // which names it
			text += ", " + c.Key
		}
		text += fmt.Sprintf(" from %s to %s", c.Before, c.After)
	}
	if len(r.Rules) == 1 {
		text += ", " + r.Rules[0].Text
	}
	return text + ", by " + r.Who + "."
}

// About is the part that was changed, in one word.
func (r activityRow) About() string {
	switch r.Action {
	case "shadowing":
		return "switch"
	case "reload":
		return "configuration"
	case "set aside":
		return "database"
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
	s.leadToRules(page.Rows)
	if next != nil {
		page.Older = listPath("/activity", "actor", q.text("actor"), "action", q.text("action"), "since", q.text("since"),
			"until", q.text("until"), "limit", q.text("limit"), "cursor", *next)
	}
	return s.render(w, r, http.StatusOK, "activity", page)
}

// leadToRules has those rows that tell of a rule in force lead to it.
func (s *Server) leadToRules(rows []activityRow) {
	inForce := map[string]bool{}
	for _, rule := range s.rules() {
		inForce[rule.ID()] = true
	}
	for i := range rows {
		for _, rule := range rows[i].Rules {
			if rows[i].Page == "/rules" && inForce[rule.ID] {
				rows[i].Page += "#rule-" + rule.ID
			}
		}
	}
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
		{"start", "the process, at its start"},
		{"reload", "the configuration"},
		{"signal", "a signal"},
		{"version", "the candidate"},
		{"guard", "the guard"},
		{"ramp", "the ramp"},
		{"process", "the process, at its end"},
		{"store", "the store"},
	}
}

func actionWords() [][2]string {
	return [][2]string{
		{"", "anything"},
		{"shadowing", "the switch and the rate"},
		{"run", "runs"},
		{"rules", "rules"},
		{"reload", "the configuration"},
		{"recording", "recording"},
		{"purge", "what was removed"},
		{"backup", "backups"},
		{"set aside", "the database"},
	}
}

func spanWords() [][2]string {
	return [][2]string{{"", "ever"}, {"1h", "the last hour"}, {"24h", "the last day"}, {"168h", "the last week"}}
}

// actorWord is how a page names an actor.
func actorWord(actor string) string {
	for _, w := range actorWords()[1:] {
		if w[0] == actor {
			word, _, _ := strings.Cut(w[1], ",") // what it did says when
			return word
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
		row.Page, row.Sentence = "/settings#shadowing", switchActSentence(rest, row.Changes)
	case "run":
		row.Page, row.Sentence = runActSentence(rest, row.Changes)
	case "rules":
		row.Page, row.Rules = "/rules", changedRules(e.Detail)
		row.Changes, row.Sentence = replacement(row.Rules), ruleActSentence(e.Detail, row.Rules)
	case "reload":
		row.Page, row.Sentence = "/settings#configuration", reloadActSentence(e.Detail, rest, row.Changes)
	case "backup":
		row.Page, row.Sentence = "/settings#store", backupActSentence(e.Detail)
	case "recording":
		row.Page, row.Sentence = "/settings#recording", "Recording "+e.Detail+"."
	case "purge":
		row.Page, row.Sentence = "/samples", "Removed for good: "+e.Detail+"."
	case "set aside":
		row.Page, row.Sentence = "/settings#store", asideSentence(e.Detail)
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

// shareChanged says what a change of the share alone is.
const shareChanged = "The share that is shadowed was changed"

func switchActSentence(rest string, changes []changed) string {
	for i := range changes {
		if changes[i].Key == "sample" {
			changes[i].Key = "share"
		}
	}
	switch {
	case rest == "switched on" || rest == "switched off":
		return "Shadowing was " + rest + "."
	case rest == "" && len(changes) > 0:
		return shareChanged + "."
	}
	return capital(rest) + "."
}

// inForce is how the beginning of a run is kept.
var inForce = regexp.MustCompile(`^in force: ("(?:[^"\\]|\\.)*") \(id (\d+)(.*)\)$`)

// renamed is how the change of a run's name or notes is kept.
var renamed = regexp.MustCompile(`^run (\d+)`)

func runActSentence(rest string, changes []changed) (page, sentence string) {
	if m := inForce.FindStringSubmatch(rest); m != nil {
		about := strings.TrimPrefix(m[3], ", ")
		if about != "" {
			about = ", " + about + ","
		}
		return "/runs/" + m[2], sentenceStart(runTitle(store.Run{Name: bare(m[1])})) + about + " came into force."
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

// ruleChange is how the change of a rule is kept; more is how those are that are not told.
var (
	ruleChange = regexp.MustCompile(`(?:^|, )(added|removed) (\d+): `)
	more       = regexp.MustCompile(` and (\d+) more$`)
)

// changedRules are the rules that an entry tells of.
func changedRules(detail string) (rules []changedRule) {
	detail = more.ReplaceAllString(detail, "")
	found := ruleChange.FindAllStringSubmatchIndex(detail, -1)
	for i, at := range found {
		end := len(detail)
		if i+1 < len(found) {
			end = found[i+1][0]
		}
		rules = append(rules, changedRule{detail[at[2]:at[3]], detail[at[4]:at[5]], detail[at[1]:end]})
	}
	return rules
}

// replacement is the one rule that took the place of another, where there are just these two.
func replacement(rules []changedRule) []changed {
	if len(rules) != 2 || rules[0].Verb != "added" || rules[1].Verb != "removed" {
		return nil
	}
	return []changed{{"", rules[1].Text, rules[0].Text}}
}

// ruleActSentence says how many rules were added and removed; what they say stands beside it.
func ruleActSentence(detail string, rules []changedRule) string {
	n := map[string]int64{}
	for _, rule := range rules {
		n[rule.Verb]++
	}
	if m := more.FindStringSubmatch(detail); m != nil && len(rules) > 0 {
		left, _ := strconv.ParseInt(m[1], 10, 64) // digits; so many that it does not fit are none that were kept
		n[rules[len(rules)-1].Verb] += left
	}
	was := func(n int64, verb string) string {
		if n == 1 {
			return "1 rule was " + verb
		}
		if strings.HasSuffix(detail, "…") { // as it was kept before all were counted
			return "At least " + count(n) + " rules were " + verb
		}
		return count(n) + " rules were " + verb
	}
	switch added, removed := n["added"], n["removed"]; {
	case added+removed == 0:
		return capital(detail) + "."
	case added == 1 && removed == 0, added == 0 && removed == 1:
		return "Rule " + rules[0].ID + " was " + rules[0].Verb + "."
	case added == 1 && removed == 1:
		return "Rule " + rules[1].ID + " was replaced by rule " + rules[0].ID + "."
	case removed == 0:
		return was(added, "added") + "."
	case added == 0:
		return was(removed, "removed") + "."
	default:
		return was(added, "added") + ", and " + was(removed, "removed") + "."
	}
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

// asideSentence tells of a database that was set aside, or of what another had put in its place.
func asideSentence(detail string) string {
	if path, foreign := strings.CutPrefix(detail, "another file in its place: "); foreign {
		return "The database was replaced by another file, and written anew; what stood in its place was set aside: " + path + "."
	}
	return "The database was set aside, and a new one begun: " + detail + "."
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
