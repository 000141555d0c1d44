package web

import "shadowdiff/multicast"

// step is one of three that lead from an empty store to the first verdict.
type step struct {
	Title   string
	Done    bool
	Now     bool   // the one to do next
	Text    string // what happens in it, or what is in its way
	Command string // to be copied; may be empty
}

// stepsOf ticks off traffic, shadows and comparisons as they arrive, and names what is in the way of the next one.
func stepsOf(targets Targets, sw switchView, lost lostView, counts multicast.Counts) []step {
	sent := counts.Shadow["candidate"].Sent
	steps := []step{
		{
			Title: "Send traffic through the proxy", Done: counts.Requests > 0, Command: firstRequest(targets),
			Text: "Every request is answered by the primary, " + targets.Primary + ", as if shadowdiff were not there.",
		},
		{Title: "Let the shadows answer too", Done: sent > 0, Text: shadowsText(targets, sw, lost, counts)},
		{Title: "Read the first comparison", Done: lost.Compared > 0, Text: comparisonText(counts)},
	}
	if targets.Listen == "" { // nobody is served, as in a replay
		steps[0].Command = ""
	}
	for i := range steps {
		if !steps[i].Done {
			steps[i].Now = true
			break
		}
	}
	return steps
}

// firstRequest is a command that sends one.
func firstRequest(targets Targets) string { return "curl -i " + targets.Listen + "/" }

func shadowsText(targets Targets, sw switchView, lost lostView, counts multicast.Counts) string {
	switch {
	case targets.Candidate == "":
		return "There is no candidate, so this is a plain proxy. Start shadowdiff with -candidate and -secondary to compare."
	case !sw.Enabled:
		return "Shadowing is paused. Resume it at the top of this page."
	case counts.Requests > 0 && counts.Shadow["candidate"].Sent == 0 && len(counts.Skipped) > 0:
		most := lostRows(counts.Skipped)[0]
		return count(most.Count) + " of " + things(counts.Requests, "request") + " so far skipped as “" + most.Reason + "”. " + most.Meaning
	case targets.Secondary == "":
		return "Copies go to the candidate, " + targets.Candidate + ". Without a secondary nothing tells noise from the candidate's doing."
	}
	return "Copies of GET and HEAD requests go to the candidate, " + targets.Candidate + ", and to the secondary, " + targets.Secondary +
		", which runs the same code as the primary. What it answers differently is noise."
}

func comparisonText(counts multicast.Counts) string {
	if unknown := lostRows(counts.Unknown); len(unknown) > 0 && counts.Compared == 0 {
		return things(unknown[0].Count, "exchange") + " so far could not be judged: “" + unknown[0].Reason + "”. " + unknown[0].Meaning
	}
	return "The three answers are compared field by field, and this page becomes the verdict by itself."
}
