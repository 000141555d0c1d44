package web

import (
	"slices"
	"strings"

	"shadowdiff/diff"
	"shadowdiff/normalize"
	"shadowdiff/store"
)

// layout is the three bodies of a sample laid out side by side, whole; what of it a page shows is a window's matter.
type layout struct {
	Lines    []line
	Total    int      // lines, when nothing is folded
	Stops    int      // differences in them
	As       string   // what they were laid out as: "JSON", "text", "bytes"
	Values   bool     // they could be read as values
	Parsed   bool     // and were: each with its own mark
	Numbered bool     // the lines have numbers of their own
	Notes    []string // what a person should know
	Gone     [3]bool  // sides that have no body: there is nothing in their column

	anchors map[string]int // at which stop each place of a tree is
}

// The views of the bodies.
const (
	viewParsed = "parsed" // values, where the bodies can be read as such
	viewText   = "text"   // lines as they were sent
	viewRaw    = "raw"    // each answer by itself
)

// layOut lays out the bodies of a sample: as values where all that there are can be read as values of one kind and text
// is not asked for; else by lines of text, or as bytes.
func layOut(sample *store.Sample, view string) (*layout, error) {
	l := &layout{}
	for side, role := range storedRole {
		l.Gone[side] = len(sample.Responses[role].Body) == 0 && !sample.Responses[role].Over
	}
	if view != viewText && l.json(sample) {
		l.Total = number(l.Lines)
		return l, nil
	}
	docs, err := documentsOf(sample)
	if err != nil {
		return nil, err
	}
	l.Notes = bodyNotes(sample, docs)
	if l.Gone == [3]bool{true, true, true} {
		l.Notes = append(l.Notes, "No answer has a body.")
		return l, nil
	}
	kind, alike := commonBody(docs, l.Gone)
	l.Values = alike && hasValues(kind) && !wholeBody(sample.Control) && !wholeBody(sample.Candidate)
	switch {
	case l.Values && view != viewText && l.trees(sample, docs):
	case alike && (kind == normalize.Binary || kind == normalize.Digest):
		l.bytes(sample)
	default:
		l.text(sample, docs)
	}
	l.Total = number(l.Lines)
	return l, nil
}

// documentsOf reads the bodies without any rule: as they were sent, so that pointers lead into them.
func documentsOf(sample *store.Sample) (docs [3]*normalize.Document, err error) {
	reader, err := normalize.New(normalize.DefaultConfig())
	if err != nil {
		return docs, err
	}
	for side, role := range storedRole {
		docs[side] = reader.Document(sample.Route, role, &sample.Responses[role], nil)
	}
	return docs, nil
}

// commonBody is the kind of all bodies that there are.
func commonBody(docs [3]*normalize.Document, gone [3]bool) (kind normalize.BodyKind, alike bool) {
	for side, doc := range docs {
		switch {
		case gone[side]:
		case kind == normalize.Empty:
			kind = doc.Body.Kind
		case kind != doc.Body.Kind:
			return kind, false
		}
	}
	return kind, kind != normalize.Empty
}

// hasValues tells kinds of bodies that are read as values.
func hasValues(kind normalize.BodyKind) bool {
	switch kind {
	case normalize.JSON, normalize.HTML, normalize.XML, normalize.Form, normalize.Multipart, normalize.Events:
		return true
	}
	return false
}

// bodyNotes say what of the bodies is not there, or was not understood.
func bodyNotes(sample *store.Sample, docs [3]*normalize.Document) []string {
	var notes []string
	say := func(side int, text string) { notes = append(notes, "The "+roleWords[side]+"’s body "+text+".") }
	for side, role := range storedRole {
		switch resp := &sample.Responses[role]; {
		case resp.Over:
			say(side, "was longer ("+size(resp.Size)+") than shadow.max_response_body: it was compared by length and hash, and not kept whole")
		case sample.BodyCut[role]:
			say(side, "was too long to be kept whole: what is below is its beginning, "+size(int64(len(resp.Body))))
		case withheld(resp.Body):
			say(side, "could not be searched for what is to be redacted, so that nothing of it was kept")
		case docs[side].Body.Note != "":
			say(side, "was not read as its label says: "+docs[side].Body.Note)
		}
	}
	return notes
}

// trees lays the bodies out as values; false where they are none, or too deep or too large for that.
func (l *layout) trees(sample *store.Sample, docs [3]*normalize.Document) bool {
	var trees [3]*node
	for side, doc := range docs {
		if l.Gone[side] {
			continue
		}
		if doc.Body.Root == nil {
			return false
		}
		tree, err := valueTree(&doc.Body)
		if err != nil {
			return false
		}
		trees[side] = tree
		l.As = doc.Body.Kind.String()
	}
	l.align(sample, trees)
	return true
}

// json lays out bodies that are JSON by their label and in fact, and of which nothing more has to be known: each is read
// once. False where that is not so of all of them.
func (l *layout) json(sample *store.Sample) bool {
	if l.Gone == [3]bool{true, true, true} || wholeBody(sample.Control) || wholeBody(sample.Candidate) {
		return false
	}
	var trees [3]*node
	for side, role := range storedRole {
		resp := &sample.Responses[role]
		switch {
		case l.Gone[side]:
			continue
		case resp.Over || sample.BodyCut[role] || !strings.Contains(resp.Header.Get("Content-Type"), "json") || labelledJSON(resp.Header) != nil:
			return false
		}
		tree, ok, err := scanTree(resp.Body)
		if !ok || err != nil || tree.open == 0 {
			return false
		}
		trees[side] = tree
	}
	l.As, l.Values = normalize.JSON.String(), true
	l.align(sample, trees)
	return true
}

// align lays trees side by side.
func (l *layout) align(sample *store.Sample, trees [3]*node) {
	first := trees[slices.Index(l.Gone[:], false)]
	for side := range trees {
		if l.Gone[side] {
			trees[side] = first // its column is not shown
		}
	}
	l.Lines, l.anchors = alignTrees(trees, sample.Control, sample.Candidate)
	l.Parsed = true
	for _, at := range l.anchors {
		l.Stops = max(l.Stops, at)
	}
}

// valueTree is a body as a page shows it: JSON with its members in the order sent, all else as it was read.
func valueTree(body *normalize.Body) (*node, error) {
	if body.Kind == normalize.JSON {
		if tree, err := parseTree(body.Bytes); err == nil {
			return tree, nil
		}
	}
	left := treeNodes
	return nodeOf(body.Root, treeDepth, &left)
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
