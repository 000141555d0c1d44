package web

import (
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

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
		}
	}
	bodyDiffers := [3]bool{control: anyBody(sample.Control), candidate: anyBody(sample.Candidate)}
	view := bodyView{Note: note, Equal: !bodyDiffers[control] && !bodyDiffers[candidate]}
	var trees [3]*node
	for side, body := range bodies {
		if !asked[side] || len(body) == 0 {
			continue
		}
		tree, err := parseTree(body)
		if err != nil {
			view.Lines = textLines(sample, bodies, asked, bodyDiffers)
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

func anyBody(differences []diff.Difference) bool {
	return slices.ContainsFunc(differences, func(d diff.Difference) bool { return strings.HasPrefix(d.Field, "body") })
}

const textLinesMost = 2000

// textLines sets bodies that are not all JSON side by side: line by line in order after what they begin with alike.
func textLines(sample *store.Sample, bodies [3][]byte, asked, differs [3]bool) []line {
	var texts [3][]string
	most := 0
	for side, body := range bodies {
		if !asked[side] {
			continue
		}
		if utf8.Valid(body) && !slices.Contains(body, 0) {
			texts[side] = strings.Split(strings.TrimSuffix(string(body), "\n"), "\n")
		} else {
			texts[side] = binaryLines(&sample.Responses[storedRole[side]])
		}
		most = max(most, len(texts[side]))
	}
	alignEnds(&texts, most)
	var lines []line
	for i := range min(most, textLinesMost) {
		var l line
		at := func(side int) (string, bool) {
			if i < len(texts[side]) {
				return texts[side][i], true
			}
			return "", false
		}
		reference, has := at(primary)
		unlike := [3]bool{}
		for side := range texts {
			text, ok := at(side)
			l.Cells[side] = cellOf(text, reference, !ok, !has)
			l.Cells[side].Role = roleWords[side]
			unlike[side] = asked[side] && (text != reference || ok != has)
		}
		l.Mark = markFrom(differs[candidate] && unlike[candidate], differs[control] && unlike[control])
		l.Same = !unlike[candidate] && !unlike[control]
		lines = append(lines, l)
	}
	return foldEqual(lines)
}

// alignEnds moves what a shorter text ends with alike to the end, so that one line more at the beginning does not make
// all that follow differ.
func alignEnds(texts *[3][]string, most int) {
	reference := texts[primary]
	for side := control; side <= candidate; side++ {
		text := texts[side]
		if len(text) == len(reference) || len(text) == 0 || len(reference) == 0 {
			continue
		}
		head := 0
		for head < min(len(text), len(reference)) && text[head] == reference[head] {
			head++
		}
		if len(text) < len(reference) && most < textLinesMost {
			gap := make([]string, len(reference)-len(text))
			texts[side] = slices.Concat(text[:head], gap, text[head:])
		}
	}
}

func binaryLines(resp *multicast.Response) []string {
	lines := []string{fmt.Sprintf("%s, %s", strings.Join(resp.Header["Content-Type"], ", "), size(resp.Size))}
	if resp.Over {
		return append(lines, "sha256 "+hex.EncodeToString(resp.Hash[:]))
	}
	return append(lines, strings.Split(strings.TrimSpace(printable(resp.Body)), "\n")...)
}
