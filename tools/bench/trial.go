package main

import (
	"fmt"
	"regexp"
)

// proxy is what stands between the clients and the primary.
type proxy string

const (
	direct  proxy = "direct"
	bare    proxy = "bare ReverseProxy"
	nginx   proxy = "nginx"
	haproxy proxy = "HAProxy"
	ours    proxy = "shadowdiff"
)

// pace is how much the clients ask.
type pace struct {
	fixed bool    // at the fixed rate
	share float64 // at this share of what the bare proxy reached in the same turn; 0: full speed, a closed loop
}

// trial is one row of a table: a proxy under a load.
type trial struct {
	proxy  proxy
	sample string // ours: the share; "": the switch is off. nginx: "" without mirrors
	shadow string // mode of the mirrors; with shadowing off, others ask them meanwhile
	pace   pace
}

// String is the row's name.
func (t trial) String() string {
	name := string(t.proxy)
	switch {
	case t.sample == "" && t.proxy == ours:
		name += ", shadowing off"
		if t.shadow != "" {
			name += ", others ask the shadows"
		}
	case t.proxy == ours:
		name += ", " + t.sample
	case t.sample != "":
		name += ", two mirrors"
	}
	if t.sample != "" {
		name += ", " + map[string]string{same: "equal", noisy: "noisy, differing", slow: "slow", hanging: "hanging"}[t.shadow]
	}
	if t.pace.share > 0 {
		name += fmt.Sprintf(", asked %.2f of bare", t.pace.share)
	}
	return name
}

// primary is the mode in which the primary answers.
func (t trial) primary() string {
	if t.shadow == noisy {
		return noisy
	}
	return same
}

// trials are all rows, in the order of the tables: those at full speed, those at a share of the bare proxy's, and those at
// the fixed rate.
func trials() []trial {
	list := []trial{
		{proxy: direct},
		{proxy: bare},
		{proxy: haproxy},
		{proxy: nginx},
		{proxy: nginx, sample: "100%", shadow: same},
		{proxy: nginx, sample: "100%", shadow: slow},
		{proxy: nginx, sample: "100%", shadow: hanging},
		{proxy: ours},
	}
	for _, shadow := range []string{same, slow, hanging} {
		for _, sample := range []string{"1%", "10%", "100%"} {
			list = append(list, trial{proxy: ours, sample: sample, shadow: shadow})
		}
	}
	list = append(list, trial{proxy: ours, sample: "100%", shadow: noisy})
	for _, share := range []float64{barHealthy, goalHealthy} {
		list = append(list,
			trial{proxy: ours, sample: "100%", shadow: same, pace: pace{share: share}},
			trial{proxy: ours, sample: "100%", shadow: noisy, pace: pace{share: share}})
	}
	fixed := pace{fixed: true}
	return append(list,
		trial{proxy: direct, pace: fixed}, trial{proxy: bare, pace: fixed}, trial{proxy: nginx, pace: fixed},
		trial{proxy: ours, pace: fixed},
		trial{proxy: ours, shadow: slow, pace: fixed},
		trial{proxy: ours, sample: "100%", shadow: same, pace: fixed},
		trial{proxy: ours, sample: "100%", shadow: noisy, pace: fixed},
		trial{proxy: ours, sample: "100%", shadow: slow, pace: fixed},
		trial{proxy: ours, sample: "100%", shadow: hanging, pace: fixed})
}

// chosen keeps the trials whose name matches, and what they are compared with.
func chosen(list []trial, only *regexp.Regexp) []trial {
	var kept []trial
	for _, t := range list {
		base := t.proxy == bare && !t.pace.fixed || t == trial{proxy: ours, pace: pace{fixed: true}}
		if base || only.MatchString(t.String()) {
			kept = append(kept, t)
		}
	}
	return kept
}
