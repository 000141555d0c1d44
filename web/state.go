package web

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"shadowdiff/multicast"
	"shadowdiff/normalize"
	"shadowdiff/store"
)

// stateView says how this instance fares: each shadow, and the configuration.
type stateView []stateRow

// stateRow is one line of it. The moment stands at the end of the text, where there is one.
type stateRow struct {
	Name string
	Word string // what it comes to
	Bad  bool
	Text string
	At   time.Time // zero: none
}

func stateOf(now Instance, counts multicast.Counts, health store.Health, shadowing shadowingAnswer) stateView {
	var rows stateView
	for _, role := range []struct {
		multicast.Role
		address string
	}{{multicast.Candidate, now.Targets.Candidate}, {multicast.Secondary, now.Targets.Secondary}} {
		if circuit, asked := counts.Circuit[role.String()]; asked {
			rows = append(rows, shadowRow(role.String(), role.address, circuit))
		}
	}
	if shadowing.Guard != nil {
		rows = append(rows, guardRow(shadowing.Guard))
	}
	if shadowing.Ramp != nil {
		rows = append(rows, rampRow(shadowing.Ramp))
	}
	rows = append(rows, configurationRow(now))
	if counts.Record != nil {
		rows = append(rows, recordRow(now.Recording.Dir, counts.Record))
	}
	if names := health.Names; names.Folds > 0 || names.Other > 0 {
		rows = append(rows, namesRow(names))
	}
	if health.SamplesLost > 0 {
		rows = append(rows, stateRow{
			Name: "samples", Word: "lost", Bad: true,
			Text: things(health.SamplesLost, "sample") + " could not be kept: too many came at one time, or they could not be redacted.",
		})
	}
	return rows
}

// recordRow says what is recorded, where, and what was lost of it.
func recordRow(dir string, c *multicast.RecordCounts) stateRow {
	row := stateRow{Name: "recording", Word: "written"}
	row.Text = fmt.Sprintf("%s of %s recorded in %s.", count(c.Written), things(c.Sampled, "request"), cmp.Or(dir, "record.dir"))
	var lost []string
	for _, reason := range slices.Sorted(maps.Keys(c.Dropped)) {
		if n := c.Dropped[reason]; n > 0 {
			lost = append(lost, fmt.Sprintf("%s %s", strings.ReplaceAll(string(reason), "_", " "), count(n)))
		}
	}
	if len(lost) > 0 {
		row.Text += " Not recorded: " + strings.Join(lost, ", ") + "."
	}
	if c.Dropped[multicast.ReasonDisk] > 0 {
		row.Word, row.Bad = "losing", true
	}
	return row
}

// namesRow says what became of the routes' names: that there are fewer than paths, or were more than can be counted.
func namesRow(names normalize.NamesCounts) stateRow {
	row := stateRow{Name: "route names", Word: "in use", Text: things(int64(names.Routes+names.Given), "name") + "."}
	if names.Folds > 0 {
		row.Word = "folded"
		row.Text += " " + isAre(names.Folds, "place of the paths had", "places of the paths had") + " so many values that all count as {id}."
	}
	if names.Other > 0 {
		row.Word, row.Bad = "too many", true
		row.Text += " " + things(names.Other, "request") + " beyond the bounds counted for (other)."
	}
	return row
}

func shadowRow(role, address string, c multicast.Circuit) stateRow {
	row := stateRow{Name: role, Word: "in use", Text: address}
	switch {
	case c.Until != nil:
		row.Word, row.Bad, row.At = "paused", true, *c.Until
		row.Text = fmt.Sprintf("%s has failed %s running. No shadow is asked until one request tries it at", address, things(int64(c.Failures), "time"))
	case c.State != circuitClosed:
		row.Word, row.Bad = "tried", true
		row.Text = fmt.Sprintf("%s has failed %s running. One request is trying it.", address, things(int64(c.Failures), "time"))
	case c.Failures > 0:
		row.Text = fmt.Sprintf("%s has failed %s running.", address, things(int64(c.Failures), "time"))
	}
	return row
}

// circuitClosed is the state of a circuit whose shadow is asked.
const circuitClosed = "closed"

func configurationRow(now Instance) stateRow {
	row := stateRow{Name: "configuration", Word: "in force", At: now.Loaded}
	file := filepath.Base(now.File)
	switch last := now.Reload; {
	case now.File == "":
		row.Text = "Without a file: the defaults and the flags, since"
	case last == nil:
		row.Text = file + ", read at"
	case !last.Good:
		row.Word, row.Bad, row.At = "not taken", true, last.Time
		row.Text = fmt.Sprintf("%s has %s; what was read before stays in force. Tried at", file, things(int64(len(last.Faults)), "fault"))
	case len(last.Changed) == 0:
		row.Text = file + ", read again without a change at"
	default:
		row.Text = fmt.Sprintf("%s; changed: %s. Read again at", file, strings.Join(last.Changed, ", "))
	}
	return row
}

// paused are the shadows that are left alone, in words; without them nothing is compared.
func paused(counts multicast.Counts) (notes []notice) {
	for _, role := range []multicast.Role{multicast.Candidate, multicast.Secondary} {
		if c := counts.Circuit[role.String()]; c.Until != nil {
			notes = append(notes, notice{
				Before: fmt.Sprintf("The %s has failed %s running and is left alone until", role, things(int64(c.Failures), "time")), At: *c.Until,
				After: ". Nothing is compared meanwhile: requests are dropped as “circuit”.",
			})
		}
	}
	return notes
}
