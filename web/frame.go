package web

import (
	"net/http"
	"net/url"
	"strings"
)

// With is the address of a page below the base path, for the run that this page is asked of: what is looked at stays when
// one goes on from here.
func (f frame) With(path string) string {
	if f.Asked == "" {
		return f.Base + path
	}
	path, place, _ := strings.Cut(path, "#")
	between := "?"
	if strings.Contains(path, "?") {
		between = "&"
	}
	if place != "" {
		place = "#" + place
	}
	return f.Base + path + between + "run=" + url.QueryEscape(f.Asked) + place
}

// RunWord stands before the run's name, unless that says so itself.
func (f frame) RunWord() string {
	if strings.HasPrefix(strings.ToLower(f.Run.Name), "run ") {
		return ""
	}
	return "run "
}

// viewLink is one entry of the navigation.
type viewLink struct{ Name, Word, Path string }

// Key goes to the view when it comes after g.
func (v viewLink) Key() string {
	if v.Name == "runs" {
		return "u" // r is taken
	}
	return v.Name[:1]
}

// views are what the navigation offers, in its order.
func views() []viewLink {
	return []viewLink{
		{"overview", "Overview", "/"},
		{"rules", "Rules", "/rules"},
		{"runs", "Runs", "/runs"},
		{"activity", "Activity", "/activity"},
		{"settings", "Settings", "/settings"},
	}
}

// askedRun is what the parameter run says, if it means another run than the one in force.
func askedRun(r *http.Request) string {
	if asked := r.URL.Query().Get("run"); asked != "current" {
		return asked
	}
	return ""
}

// keyHint is what a key, or one after another, does.
type keyHint struct {
	Keys []string
	Does string
}

// keys are those that the pages take, as keys.js has them, and sample.js.
func keys() []keyHint {
	list := []keyHint{
		{[]string{"/"}, "search on this page"},
		{[]string{"j"}, "next row"},
		{[]string{"k"}, "row before"},
		{[]string{"o"}, "open the row; Enter does so too"},
	}
	for _, v := range views() {
		list = append(list, keyHint{[]string{"g", v.Key()}, v.Word})
	}
	list = append(list, keyHint{[]string{"n"}, "next difference of a sample"}, keyHint{[]string{"p"}, "difference before"})
	return append(list, keyHint{[]string{"?"}, "these keys"}, keyHint{[]string{"Esc"}, "close what floats, leave a field"})
}
