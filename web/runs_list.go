package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/go-chi/chi/v5"

	"shadowdiff/diff"
	"shadowdiff/multicast"
	"shadowdiff/store"
)

// runItem is one run in GET /api/v1/runs. What it comes to is null where it was not judged under the configuration in
// force yet: the run's own record has it.
type runItem struct {
	store.Run
	Current   bool       `json:"current"` // in force
	BegunBy   string     `json:"begun_by"`
	Word      *diff.Word `json:"verdict"`
	Compared  *int64     `json:"compared"`
	Unknown   *int64     `json:"unknown"`
	Confirmed *int       `json:"confirmed_differences"`
	Alpha     *float64   `json:"alpha"`

	Equivalence *float64    `json:"equivalence_rate"`
	EquivBounds *[2]float64 `json:"equivalence_interval"`

	informing int // of what is confirmed
}

// runAnswer is GET /api/v1/runs/{id}.
type runAnswer struct {
	runItem
	Reasons     []string         `json:"reasons"`
	RawRate     float64          `json:"raw_rate"`
	NoiseRate   *float64         `json:"noise_rate"` // null: no secondary was asked
	Equivalence float64          `json:"equivalence_rate"`
	EquivBounds [2]float64       `json:"equivalence_interval"`
	Budget      float64          `json:"budget"`
	MoreNeeded  *int64           `json:"more_needed"`
	Rules       string           `json:"rules"` // as YAML, the list under rules:
	Counters    multicast.Counts `json:"counters"`
}

func (s *Server) runItem(r *store.RunRecord) runItem {
	item := runItem{Run: r.Run, Current: r.Ended == nil, BegunBy: r.BegunBy}
	if sum := &r.Summary; sum.Word != "" {
		item.Word, item.Compared, item.Unknown, item.Confirmed, item.Alpha = &sum.Word, &sum.Compared, &sum.Unknown, &sum.Confirmed, &sum.Alpha
		item.informing = sum.Informing
		if sum.EquivBounds != ([2]float64{}) {
			item.Equivalence, item.EquivBounds = &sum.Equivalence, &sum.EquivBounds
		}
	}
	return item
}

// listRuns answers GET /api/v1/runs, newest first.
func (s *Server) listRuns(w http.ResponseWriter, r *http.Request) error {
	q, err := readQuery(r, "limit", "cursor")
	if err != nil {
		return err
	}
	answer, err := s.runList(r.Context(), q, 50)
	if err != nil {
		return err
	}
	return writeJSON(w, answer)
}

// runList is one page of the runs, so long unless the query says how long.
func (s *Server) runList(ctx context.Context, q query, fallback int) (answer list[runItem], err error) {
	limit, err := q.number("limit", fallback, 500)
	if err != nil {
		return answer, err
	}
	place, err := q.place()
	if err != nil {
		return answer, err
	}
	records, next, err := s.deps.DB.Runs(ctx, limit, place)
	if errors.Is(err, store.ErrCursor) {
		return answer, badCursor(q.text("cursor"))
	}
	if err != nil {
		return answer, err
	}
	answer.Items = make([]runItem, 0, len(records))
	for i := range records {
		answer.Items = append(answer.Items, s.runItem(&records[i]))
	}
	if next != "" {
		answer.Next = q.cursorFor(next)
	}
	return answer, nil
}

// getRun answers GET /api/v1/runs/{id}; an id, a name or "current".
func (s *Server) getRun(w http.ResponseWriter, r *http.Request) error {
	if _, err := readQuery(r); err != nil {
		return err
	}
	run, err := s.runInPath(r, "id")
	if err != nil {
		return err
	}
	return s.writeRun(w, r, http.StatusOK, run.ID)
}

// writeRun answers with the record of a run.
func (s *Server) writeRun(w http.ResponseWriter, r *http.Request, status int, id int64) error {
	snap, err := s.deps.DB.RunSnapshot(r.Context(), id)
	if err != nil {
		return err
	}
	record, err := s.deps.DB.RunRecord(r.Context(), id)
	if err != nil {
		return err
	}
	v := snap.Verdict
	a := runAnswer{
		runItem: s.runItem(&record), Reasons: v.Reasons, RawRate: v.RawRate, NoiseRate: noiseRate(v), Equivalence: v.Equivalence,
		EquivBounds: v.EquivBounds, Budget: v.Budget, MoreNeeded: v.MoreNeeded, Rules: record.RuleText, Counters: record.Counters,
	}
	if a.Reasons == nil {
		a.Reasons = []string{}
	}
	return writeStatus(w, status, a)
}

// runInPath finds the run that a part of the path means.
func (s *Server) runInPath(r *http.Request, part string) (store.Run, error) {
	ref := chi.URLParam(r, part)
	if plain, err := url.PathUnescape(ref); err == nil && r.URL.RawPath != "" { // then the parts are as they were sent
		ref = plain
	}
	return s.findRun(r, ref)
}

// postRun answers POST /api/v1/runs.
func (s *Server) postRun(w http.ResponseWriter, r *http.Request) error {
	if _, err := readQuery(r); err != nil {
		return err
	}
	keys, err := readObject(w, r, 32<<10, `{"name": "v2.3.1"}`, "name", "version", "notes")
	if err != nil {
		return err
	}
	b := RunBeginning{Actor: "api"}
	for key, into := range map[string]*string{"name": &b.Name, "version": &b.Version, "notes": &b.Notes} {
		if err := readText(keys, key, into); err != nil {
			return err
		}
	}
	run, err := s.deps.BeginRun(r.Context(), b)
	if err != nil {
		return asRefusal(err)
	}
	w.Header().Set("Location", fmt.Sprintf("%s/api/v1/runs/%d", s.prefix, run.ID))
	return s.writeRun(w, r, http.StatusCreated, run.ID)
}

// patchRun answers PATCH /api/v1/runs/{id}.
func (s *Server) patchRun(w http.ResponseWriter, r *http.Request) error {
	if _, err := readQuery(r); err != nil {
		return err
	}
	run, err := s.runInPath(r, "id")
	if err != nil {
		return err
	}
	keys, err := readObject(w, r, 32<<10, `{"name": "v2.3.1"}, {"notes": "with the new index"} or both`, "name", "notes")
	if err != nil {
		return err
	}
	if len(keys) == 0 {
		return refuse(http.StatusBadRequest, "nothing to change: give name, notes or both")
	}
	var c store.RunChange
	for key, into := range map[string]**string{"name": &c.Name, "notes": &c.Notes} {
		if _, given := keys[key]; given {
			*into = new(string)
			if err := readText(keys, key, *into); err != nil {
				return err
			}
		}
	}
	if err := s.changeRun(r.Context(), run, c, "api"); err != nil {
		return asRefusal(err)
	}
	return s.writeRun(w, r, http.StatusOK, run.ID)
}

// changeRun gives a run another name or other notes, for whoever it is.
func (s *Server) changeRun(ctx context.Context, run store.Run, c store.RunChange, actor string) error {
	changed, err := s.deps.DB.ChangeRun(context.WithoutCancel(ctx), run.ID, c)
	if err == nil {
		s.tellChange(ctx, actor, run, changed)
	}
	return err
}

// tellChange keeps who changed what of a run.
func (s *Server) tellChange(ctx context.Context, actor string, before, after store.Run) {
	told := ""
	if before.Name != after.Name {
		told = fmt.Sprintf("run %d: name %q (was %q)", after.ID, after.Name, before.Name)
		if after.Attempt > 1 {
			told += fmt.Sprintf(", attempt %d", after.Attempt)
		}
	}
	if before.Notes != after.Notes {
		if told == "" {
			told = fmt.Sprintf("run %d", after.ID)
		}
		told += ": other notes"
	}
	if told == "" {
		return
	}
	s.deps.Log.Info("run changed", "run", after.ID, "name", after.Name, "attempt", after.Attempt)
	if err := s.deps.DB.LogActivity(context.WithoutCancel(ctx), actor, "run", told); err != nil {
		s.deps.Log.Error("the change of a run could not be written down", "run", after.ID, "err", err)
	}
}

// readText reads the text under a key, where there is one.
func readText(keys map[string]json.RawMessage, key string, into *string) error {
	value, given := keys[key]
	if !given {
		return nil
	}
	if len(value) == 0 || value[0] != '"' || json.Unmarshal(value, into) != nil {
		return refuse(http.StatusBadRequest, "%s: %s is not a text", key, value)
	}
	return nil
}

// asRefusal makes a problem of a text that is not usable.
func asRefusal(err error) error {
	if errors.Is(err, store.ErrRunText) {
		return refuse(http.StatusBadRequest, "%v", err)
	}
	return err
}
