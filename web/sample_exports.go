package web

import (
	"strconv"

	"shadowdiff/multicast"
	"shadowdiff/store"
)

// exportsView is what can be taken away of a sample.
type exportsView struct {
	Curls   []exportLink
	NoCurl  string // why there is none
	JSON    string
	HAR     string
	Case    string // empty: there is none
	NoCase  string // why
	Command string // that takes the case
}

type exportLink struct{ Role, Path string }

func (s *Server) exportsOf(sample *store.Sample) exportsView {
	api := "/api/v1" + samplePath(sample.ID)
	v := exportsView{JSON: api, HAR: api + "/har"}
	if sample.RequestCut {
		v.NoCurl = "Only the first " + size(int64(len(sample.Request.Body))) + " of the request’s body were kept, so no command can send it again."
	} else {
		for _, role := range []multicast.Role{multicast.Candidate, multicast.Primary, multicast.Secondary} {
			if s.address(role) != "" {
				v.Curls = append(v.Curls, exportLink{role.String(), api + "/curl?role=" + role.String()})
			}
		}
	}
	if _, err := s.caseOf(sample); err != nil {
		v.NoCase = sentenceOf(asProblem(err).Detail)
	} else {
		v.Case = api + "/case"
		v.Command = "shadowdiff diff -case shadowdiff-sample-" + strconv.FormatInt(sample.ID, 10) + ".case.json"
	}
	return v
}
