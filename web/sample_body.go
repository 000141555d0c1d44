package web

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"shadowdiff/multicast"
	"shadowdiff/store"
)

// bodyView is the three bodies side by side, as far as a page has room, or each by itself.
type bodyView struct {
	Rows     []line
	Notes    []string
	As       string
	Total    int64
	Stops    int
	Numbered bool
	Gone     [3]bool
	Tabs     []viewTab
	Raw      []rawView
}

// viewTab is one way to look at bodies.
type viewTab struct {
	Word, Title, Path string
	On                bool
}

// rawView is one answer by itself.
type rawView struct {
	Role string
	Text string
	Cut  bool
	File string // path of the whole body
}

// rawShown is how many bytes of an answer the raw view has; the rest is in the file.
const rawShown = 64 << 10

// Class says which columns hold nothing.
func (v bodyView) Class() string { return columnsGone(v.Gone) }

func columnsGone(sides [3]bool) string {
	var words []string
	for side, gone := range sides {
		if gone {
			words = append(words, "no-"+roleWords[side])
		}
	}
	return strings.Join(words, " ")
}

// window reads which lines an address asks for.
func (q query) window() (w window, err error) {
	if w.after, err = q.number("after", 0, 1<<30); err != nil {
		return w, err
	}
	text := q.text("open")
	if text == "" {
		return w, nil
	}
	from, to, _ := strings.Cut(text, "-")
	w.from, err = strconv.Atoi(from)
	if err == nil {
		w.to, err = strconv.Atoi(to)
	}
	if err != nil || w.from < 1 || w.to < w.from {
		return w, refuse(http.StatusBadRequest, "open=%q: give the numbers of the first and the last line, as 12-80", text)
	}
	if w.after == 0 && w.from > windowLines/2 {
		w.after = w.from - 1 - textAround // or there might be no room left for them
	}
	return w, nil
}

func (s *Server) bodyView(sample *store.Sample, laid *layout, w window, view string, at linesAt) bodyView {
	v := bodyView{Notes: laid.Notes, As: laid.As, Total: int64(laid.Total), Stops: laid.Stops, Numbered: laid.Numbered, Gone: laid.Gone}
	tab := func(name, word, title string) {
		q := url.Values{}
		for key, values := range at.query {
			q[key] = values
		}
		q.Set("view", name)
		v.Tabs = append(v.Tabs, viewTab{word, title, at.path + "?" + q.Encode() + "#body", name == view})
	}
	if laid.Values {
		tab(viewParsed, "Compared", "Value by value, as they are compared: each with its own mark")
		tab(viewText, "Lines", "Line by line, as they were sent")
	} else {
		tab(viewParsed, "Compared", "As they are compared")
	}
	tab(viewRaw, "Raw", "Each answer by itself, with its headers")
	if view == "" {
		v.Tabs[0].On = true
	}
	if view == viewText && !laid.Values {
		v.Tabs[0].On = true
	}
	if view != viewRaw {
		v.Rows = laid.show(w, at)
		return v
	}
	for side, role := range storedRole {
		resp := &sample.Responses[role]
		if resp.Outcome == "" {
			continue
		}
		raw := rawView{Role: roleWords[side], Text: rawOf(resp), File: samplePath(sample.ID) + "/body?role=" + role.String()}
		if len(raw.Text) > rawShown {
			raw.Text, raw.Cut = strings.ToValidUTF8(raw.Text[:rawShown], ""), true
		}
		v.Raw = append(v.Raw, raw)
	}
	return v
}

// sampleLines answers GET /samples/{id}/lines: lines that the page has left out, to stand in the place of the link to them.
func (s *Server) sampleLines(w http.ResponseWriter, r *http.Request) error {
	q, err := readQuery(r, sampleParams...)
	if err != nil {
		return err
	}
	view, err := q.choice("view", viewParsed, viewText)
	if err != nil {
		return err
	}
	wanted, err := q.window()
	if err != nil {
		return err
	}
	sample, err := s.findSample(r)
	if err != nil {
		return err
	}
	laid, err := layOut(sample, view)
	if err != nil {
		return err
	}
	at := linesAt{s.prefix + samplePath(sample.ID), q.kept("field", "view", "run")}
	part := bodyView{Numbered: laid.Numbered}
	if wanted.to > 0 {
		part.Rows = laid.part(wanted.from, wanted.to, at)
	} else {
		wanted.part = true
		part.Rows = laid.show(wanted, at)
	}
	return s.renderPart(w, "sample", "lines-part", part)
}

// sampleBody answers GET /samples/{id}/body: one answer's body as it was kept, as a file.
func (s *Server) sampleBody(w http.ResponseWriter, r *http.Request) error {
	sample, role, err := s.sampleAndRole(r)
	if err != nil {
		return err
	}
	resp := &sample.Responses[role]
	if resp.Outcome != multicast.OutcomeOK {
		return refuse(http.StatusConflict, "the %s of sample %d gave no whole answer (%s)", role, sample.ID, outcomeOf(resp))
	}
	download(w, sampleName(r, "."+role.String()+".body"))
	writeBytes(w, http.StatusOK, "application/octet-stream", resp.Body)
	return nil
}

// renderPart writes a part of a page.
func (s *Server) renderPart(w http.ResponseWriter, page, part string, view any) error {
	var buf bytes.Buffer
	if err := s.pages.sets[page].ExecuteTemplate(&buf, part, view); err != nil {
		return fmt.Errorf("render %s of %s: %w", part, page, err)
	}
	writeBytes(w, http.StatusOK, "text/html; charset=utf-8", buf.Bytes())
	return nil
}
