package web

import (
	"fmt"
	"slices"
	"strings"
)

// termView is a word with what it means, as the template "term" shows it.
type termView struct {
	Word    string // as it stands in the sentence
	Meaning string
}

// Slug is the word as an address holds it.
func (t termView) Slug() string { return strings.ReplaceAll(t.Word, " ", "-") }

// meanings says in one sentence each what the words of the pages mean. They agree with docs/verdict.md.
func meanings() map[string]string {
	return map[string]string{
		"primary":     "The instance that serves the client: known-good code, which the other two are compared with.",
		"secondary":   "Another instance of the same known-good code as the primary. It is asked the same, to see what noise there is.",
		"candidate":   "The code on trial. It gets copies of requests, and no client ever sees its answers.",
		"control":     "What the secondary does where noise is meant: it runs the primary's code, so whatever it does differently is noise.",
		"shadow":      "A copy of a request, for the candidate or the secondary, whose answer no client sees.",
		"exchange":    "One sampled request with its three answers.",
		"sample":      "An exchange that was kept, redacted, so that people can look at it. More are compared than kept.",
		"route":       "Requests that are counted together, such as GET /users/{id}.",
		"field":       "A place in an answer, such as body.items[].price, header.etag or status.",
		"run":         "All that was measured on one candidate under one set of rules.",
		"compared":    "Requests whose answers were compared. All shares are of these.",
		"raw":         "The share of requests in which the candidate differs from the primary at all, noise included.",
		"noise":       "The share of requests in which the secondary differs from the primary: the same code, so no fault.",
		"excess":      "Candidate only less control only, as a share of what was compared: the part that is the candidate's doing.",
		"interval":    "Where the true share lies. Over the whole life of a run it misses with a chance of alpha at most, however often you look.",
		"equivalence": "The share of requests that the candidate answers as known-good code does: 1 less the excess, corrected for what noise hides.",
		"budget":      "How much excess you accept: verdict.budget in the configuration.",
		"alpha":       "The chance of a false alarm that a run may spend: verdict.alpha in the configuration.",
		"verdict":     "Different, equivalent or undecided: what the counts prove so far of the traffic seen.",
		"different":   "The candidate differs by more than the budget, beyond what noise can do.",
		"equivalent":  "The excess is proven to be within the budget, for the traffic seen.",
		"undecided":   "Neither is proven yet. The reasons say what is missing.",
		"confirmed":   "Lopsided beyond what noise can do, also when many fields are watched for long. It stays so for the life of the run.",
		"suspected":   "It leans to the candidate, on too few requests to be sure.",
		"evidence":    "How well “it is the candidate” explains the counts against “it is noise”: 20 to 1 is a good hint.",
		"steady":      "Lopsided in so many minutes that one bad minute cannot be why. The opposite is “one burst so far”.",
		"agree":       "Neither the candidate nor the secondary differs from the primary.",
		"both":        "The candidate and the secondary differ from the primary alike: noise.",

		"candidate only": "Requests in which the candidate differs from the primary, or more gravely, and the secondary does not.",
		"control only":   "Requests in which the secondary differs from the primary, or more gravely, and the candidate does not: noise.",

		"value":    "Kind of difference: the value differs at all.",
		"format":   "Kind of difference: the same JSON type in another shape, such as a date against other text.",
		"type":     "Kind of difference: another JSON type, or JSON against HTML.",
		"presence": "Kind of difference: missing or extra on one side; in transport: no answer.",
		"extent":   "Kind of evidence: both differ, but the candidate at more places (elements of an array, words of a text) than the secondary, or at fewer.",
		"drift":    "Kind of evidence: a number, length or size is greater more often on the candidate's side than on the control's, or less often.",
		"informs":  "It is shown and decides nothing: latency and the size of a body may change with an answer that is right.",

		"not judged": "So noisy on both sides that a change of value could not be seen. Graver kinds still are.",
		"transport":  "Whether a shadow answered at all: refused, timed out or broken off counts here.",
		"skipped":    "Requests for which no shadow was asked: not sampled, a method that is not shadowed, shadowing paused and so on.",
		"dropped":    "Requests that were sampled and given up before the shadows were asked, such as for a full queue.",
		"unknown":    "Requests that the shadows were asked and that could not be judged.",
		"p99":        "99 of 100 requests are faster than this.",
		"rule":       "What is taken out of the comparison, or evened out in it, before two answers are compared.",
		"attempt":    "Which of the runs of this name it is. Later ones are judged more strictly, so that trying again until it passes does not help.",
		"circuit":    "Closed while a shadow is asked. A shadow that fails 20 times running is left alone for a while: the circuit is open.",
		"guard":      "Pauses shadowing while the primary's latency, its errors, memory or CPU are over a limit.",
		"ramp":       "Raises the share that is shadowed step by step while the guard is quiet.",
		"redacted":   "Secrets were taken out before the sample was written.",
		"separates":  "What most of the differing requests have in common and the others have not.",
	}
}

// term finds a word's meaning; shown is how it stands in the sentence, where that is another form of it.
func term(word string, shown ...string) (termView, error) {
	meaning, known := meanings()[word]
	if !known {
		return termView{}, fmt.Errorf("%q is not among the terms", word)
	}
	if len(shown) > 0 {
		word = shown[0]
	}
	return termView{Word: word, Meaning: meaning}, nil
}

// terms lists all words in the order of the alphabet.
func terms() []termView {
	var list []termView
	for word, meaning := range meanings() {
		list = append(list, termView{word, meaning})
	}
	slices.SortFunc(list, func(a, b termView) int { return strings.Compare(a.Word, b.Word) })
	return list
}
