package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"shadowdiff/multicast"
	"shadowdiff/store"
)

// Settings under which the switch and the rate are kept. They are written only once somebody has set them here; until
// then the configuration's hold.
const (
	keyEnabled = "shadowing.enabled"
	keySample  = "shadowing.sample"
)

// Restore applies the switch and the rate that were last set through this server, if any were: they hold over restarts.
// Call it before client traffic is served.
func (s *Server) Restore(ctx context.Context) error {
	enabled, err := s.setting(ctx, keyEnabled)
	if err != nil {
		return err
	}
	sample, err := s.setting(ctx, keySample)
	if err != nil {
		return err
	}
	var change shadowingChange
	if enabled != "" {
		on := enabled == "true"
		change.Enabled = &on
	}
	if sample != "" {
		rate, err := parseShare(sample)
		if err != nil {
			return fmt.Errorf("restore the sampling rate: %w", err)
		}
		change.Sample = &rate
	}
	if change == (shadowingChange{}) {
		return s.restoreRamp(ctx)
	}
	s.kept.Store(true)
	state := s.deps.Proxy.SetShadowing(change.Enabled, change.Sample)
	s.deps.Log.Info("shadowing restored as last set", "enabled", state.Enabled, "sample", shareText(state.Sample))
	return s.restoreRamp(ctx)
}

func (s *Server) setting(ctx context.Context, key string) (string, error) {
	v, err := s.deps.DB.Setting(ctx, key)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return "", fmt.Errorf("restore %s: %w", key, err)
	}
	return v, nil
}

// shadowingChange is what a caller wants changed; what is left out stays.
type shadowingChange struct {
	Enabled *bool
	Sample  *multicast.Share
	Ramp    *bool // true: goes on; false: ends at the rate that it has reached
}

// change applies first and keeps second: a kill switch must work on a full disk. What it answers is in force in any case.
func (s *Server) change(ctx context.Context, actor string, c shadowingChange) shadowingAnswer {
	s.switching.Lock() // what is kept is what was applied last
	defer s.switching.Unlock()
	before := s.shadowingNow()
	s.deps.Proxy.SetShadowing(c.Enabled, c.Sample)
	var faults []error
	if c.Ramp != nil {
		faults = append(faults, s.applyRamp(ctx, *c.Ramp)...)
	}
	state := s.shadowingNow()
	if c.Enabled != nil {
		faults = append(faults, s.deps.DB.SaveSetting(ctx, keyEnabled, fmt.Sprint(state.Enabled)))
	}
	if c.Sample != nil {
		faults = append(faults, s.deps.DB.SaveSetting(ctx, keySample, shareText(state.Sample)))
	}
	if told := difference(before, state); told != "" {
		s.deps.Log.Info("shadowing set", "enabled", state.Enabled, "sample", shareText(state.Sample))
		faults = append(faults, s.deps.DB.LogActivity(ctx, actor, "shadowing", told))
	}
	s.kept.Store(true)
	if err := errors.Join(faults...); err != nil {
		s.deps.Log.Error("shadowing set but not kept", "err", err)
		state.Warning = fmt.Sprintf(
			"shadowing is set as asked (enabled %t, sample %s) but could not be written to the store: a restart would forget it; see the log",
			state.Enabled, shareText(state.Sample))
	}
	return state
}

// difference tells what changed, for the record of activity.
func difference(before, after shadowingAnswer) string {
	var told []string
	if before.Enabled != after.Enabled {
		told = append(told, map[bool]string{true: "switched on", false: "switched off"}[after.Enabled])
	}
	if before.Sample != after.Sample {
		told = append(told, fmt.Sprintf("sample %s (was %s)", shareText(after.Sample), shareText(before.Sample)))
	}
	if ramp := rampTold(before.Ramp, after.Ramp); ramp != "" {
		told = append(told, ramp)
	}
	return strings.Join(told, ", ")
}

// shadowingState answers GET /api/v1/shadowing.
func (s *Server) shadowingState(w http.ResponseWriter, r *http.Request) error {
	if _, err := readQuery(r); err != nil {
		return err
	}
	return writeJSON(w, s.shadowingNow())
}

// putShadowing answers PUT /api/v1/shadowing.
func (s *Server) putShadowing(w http.ResponseWriter, r *http.Request) error {
	if _, err := readQuery(r); err != nil {
		return err
	}
	keys, err := readObject(w, r, 4<<10, `{"enabled": false}, {"sample": "1%"} or both`, "enabled", "sample", "ramp")
	if err != nil {
		return err
	}
	c, err := readShadowing(keys)
	if err != nil {
		return err
	}
	if c.Ramp != nil && s.deps.Proxy.Ramp() == nil {
		return refuse(http.StatusConflict, "ramp: there is none; set ramp.steps in the configuration")
	}
	return writeJSON(w, s.change(r.Context(), "api", c))
}

// readShadowing reads the keys, any of which may be left out.
func readShadowing(keys map[string]json.RawMessage) (shadowingChange, error) {
	var c shadowingChange
	for key, value := range keys {
		switch key {
		case "enabled", "ramp":
			if string(value) != "true" && string(value) != "false" {
				return c, refuse(http.StatusBadRequest, "%s: %s is neither true nor false", key, value)
			}
			on := string(value) == "true"
			if key == "ramp" {
				c.Ramp = &on
			} else {
				c.Enabled = &on
			}
		case "sample":
			var text string
			if err := json.Unmarshal(value, &text); err != nil {
				return c, refuse(http.StatusBadRequest, `sample: %s is not a text such as "1%%"`, value)
			}
			rate, err := parseShare(text)
			if err != nil {
				return c, refuse(http.StatusBadRequest, "sample: %v", err)
			}
			c.Sample = &rate
		}
	}
	if c == (shadowingChange{}) {
		return c, refuse(http.StatusBadRequest, "nothing to change: give enabled, sample, ramp or more than one")
	}
	if c.Sample != nil && c.Ramp != nil {
		return c, refuse(http.StatusBadRequest, "sample, ramp: give one of them; a rate that is set by hand ends the ramp")
	}
	return c, nil
}

// postShadowing answers the switch on the pages, which is a plain form.
func (s *Server) postShadowing(w http.ResponseWriter, r *http.Request) error {
	r.Body = http.MaxBytesReader(w, r.Body, 4<<10)
	if err := r.ParseForm(); err != nil {
		return formFault(err)
	}
	var c shadowingChange
	if v := r.PostForm.Get("enabled"); v != "" {
		on := v == "true"
		c.Enabled = &on
	}
	if v := r.PostForm.Get("sample"); v != "" {
		rate, err := parseShare(v)
		if err != nil {
			return refuse(http.StatusBadRequest, "sample: %v", err)
		}
		c.Sample = &rate
	}
	if set := s.change(r.Context(), "page", c); set.Warning != "" {
		return refuse(http.StatusInternalServerError, "%s", set.Warning)
	}
	s.goBack(w, r)
	return nil
}

// formFault keeps a body that is too long apart from one that is not a form.
func formFault(err error) error {
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return err
	}
	return refuse(http.StatusBadRequest, "the form is not well formed: %v", err)
}
