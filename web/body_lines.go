package web

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"shadowdiff/diff"
	"shadowdiff/multicast"
	"shadowdiff/store"
)

// headerLines sets the three answers' headers side by side; those that are equal everywhere are folded.
func headerLines(sample *store.Sample) []line {
	fields := [3]map[string]bool{control: fieldSet(sample.Control), candidate: fieldSet(sample.Candidate)}
	var headers [3]http.Header
	var names []string
	for side, role := range storedRole {
		headers[side] = sample.Responses[role].Header
		names = append(names, sortedNames(headers[side])...)
	}
	slices.Sort(names)
	var lines []line
	for _, name := range slices.Compact(names) {
		var text [3]string
		l := line{Key: name, Mark: headerMark(fields, strings.ToLower(name))}
		for side := range headers {
			text[side] = strings.Join(headers[side][name], "\n")
		}
		l.Same = text[primary] == text[control] && text[primary] == text[candidate] && l.Mark == unmarked
		for side := range headers {
			l.Cells[side] = cellOf(text[side], text[primary], headers[side][name] == nil, headers[primary][name] == nil)
			l.Cells[side].Role = roleWords[side]
		}
		if l.Mark == unmarked && !l.Same {
			l.Mark = markFree
		}
		lines = append(lines, l)
	}
	slices.SortStableFunc(lines, func(a, b line) int { return btoi(a.Same) - btoi(b.Same) })
	return foldEqual(lines)
}

func fieldSet(differences []diff.Difference) map[string]bool {
	set := map[string]bool{}
	for _, d := range differences {
		set[d.Field] = true
	}
	return set
}

// headerMark finds whether a header, or a cookie that it sets, differs.
func headerMark(fields [3]map[string]bool, name string) mark {
	differs := func(side int) bool {
		if fields[side]["header."+name] {
			return true
		}
		for field := range fields[side] {
			if name == "set-cookie" && strings.HasPrefix(field, "cookie.") {
				return true
			}
		}
		return false
	}
	return markFrom(differs(candidate), differs(control))
}

func markFrom(candidate, control bool) mark {
	switch {
	case candidate && control:
		return markBoth
	case candidate:
		return markCandidate
	case control:
		return markControl
	}
	return unmarked
}

// bodyLines sets the three bodies side by side: as JSON where all are, else by lines of text, else by size.
func bodyLines(sample *store.Sample) bodyView {
	var bodies [3][]byte
	asked := [3]bool{}
	note := ""
	for side, role := range storedRole {
		resp := &sample.Responses[role]
		bodies[side], asked[side] = resp.Body, resp.Outcome != ""
		if resp.Over || sample.BodyCut[role] {
			note = "A body was too long to be kept whole; what is below is its beginning."
		} else if bytes.Count(resp.Body, []byte("\n")) > textLinesMost {
			note = fmt.Sprintf("Text is laid out up to line %s; the raw answers below hold the rest.", count(textLinesMost))
		}
	}
	view := bodyView{Note: note}
	if wholeBody(sample.Control) || wholeBody(sample.Candidate) {
		view.Lines = textLines(sample, bodies, asked)
		return view
	}
	var trees [3]*node
	for side, body := range bodies {
		if !asked[side] || len(body) == 0 {
			continue
		}
		tree, err := parseTree(body)
		if err != nil {
			view.Lines = textLines(sample, bodies, asked)
			return view
		}
		trees[side] = tree
	}
	if trees == [3]*node{} {
		if view.Note == "" {
			view.Note = "No answer has a body."
		}
		return view
	}
	if !asked[control] {
		trees[control] = trees[primary] // not asked: nothing to be marked there
	}
	view.Lines = alignTrees(trees, sample.Control, sample.Candidate)
	return view
}

// wholeBody tells whether bodies were compared as text or bytes, not as JSON: then one difference stands for all of it.
func wholeBody(differences []diff.Difference) bool {
	return slices.ContainsFunc(differences, func(d diff.Difference) bool {
		return d.Field == "body" && (d.Kind == diff.KindValue || d.Kind == diff.KindLength || d.Kind == diff.KindContent)
	})
}

// bodyLevel is the gravest level at which bodies differ.
func bodyLevel(differences []diff.Difference) (level diff.Level) {
	for _, d := range differences {
		if strings.HasPrefix(d.Field, "body") {
			level = max(level, d.Kind.Level())
		}
	}
	return level
}

func binaryLines(resp *multicast.Response) []string {
	lines := []string{fmt.Sprintf("%s, %s", strings.Join(resp.Header["Content-Type"], ", "), size(resp.Size))}
	if resp.Over {
		return append(lines, "sha256 "+hex.EncodeToString(resp.Hash[:]))
	}
	return append(lines, strings.Split(strings.TrimSpace(printable(resp.Body)), "\n")...)
}
