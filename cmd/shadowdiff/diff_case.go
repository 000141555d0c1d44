package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"shadowdiff/diff"
	"shadowdiff/normalize"
)

// readCase reads the file that -case names. Rules and a route that flags give take the place of the file's.
func (o *diffOptions) readCase(std stdio) (*diffCase, error) {
	text, err := readInput(o.caseFile, std)
	if err != nil {
		return nil, err
	}
	c, err := parseCase(text, o.caseFile)
	if err != nil {
		return nil, err
	}
	if o.route != "" {
		c.route = o.route
	}
	if o.rules != "" {
		if c.config, err = readRules(o.rules, std); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func parseCase(text []byte, file string) (*diffCase, error) {
	f, err := diff.ReadCase(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	c := &diffCase{left: file + " (primary)", right: file + " (candidate)", route: f.Route}
	if c.config, err = configOf(f, file); err != nil {
		return nil, err
	}
	if c.answers, c.bodiesOnly, err = f.Responses(); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return c, nil
}

// configOf reads the rules and headers of a case, for which JSON is YAML enough once its escapes are undone.
func configOf(f *diff.Case, file string) (normalize.Config, error) {
	parts := map[string]any{}
	for key, raw := range map[string]json.RawMessage{"headers": f.Headers, "rules": f.Rules} {
		if raw == nil {
			continue
		}
		in := json.NewDecoder(bytes.NewReader(raw))
		in.UseNumber()
		var v any
		if err := in.Decode(&v); err != nil {
			return normalize.Config{}, fmt.Errorf("%s: %s: %w", file, key, err)
		}
		parts[key] = v
	}
	var text bytes.Buffer
	if err := writeJSON(&text, parts); err != nil {
		return normalize.Config{}, fmt.Errorf("%s: %w", file, err)
	}
	escaped := strings.ReplaceAll(text.String(), "${", "$${") // a case takes nothing from the environment
	cfg, err := decodeRules(file, []byte(escaped))
	if faults, ok := errors.AsType[faultList](err); ok {
		for i := range faults {
			faults[i].at = position{} // of the text above
		}
	}
	return cfg, err
}

// save writes the case as a file.
func (c *diffCase) save(file string) error {
	answers := c.answers
	for role, r := range answers {
		if r != nil && c.bodiesOnly {
			body := *r
			body.Status = 0
			answers[role] = &body
		}
	}
	f, err := diff.NewCase(c.route, c.config, answers)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	out := json.NewEncoder(&text)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	if err := out.Encode(f); err != nil {
		return fmt.Errorf("write the case: %w", err)
	}
	return os.WriteFile(file, text.Bytes(), 0o600) // answers may hold what is nobody else's business
}
