package main

import (
	"fmt"
	"slices"
	"time"

	"shadowdiff/tools/rig"
)

const (
	growthShare = 0.25     // of memory between the two windows that passes, and
	growthBytes = 24 << 20 // so many bytes on top

	// slack is how many more goroutines and descriptors pass than before the load. The store's pool of connections to
	// its file may have grown by some, each with a goroutine; what leaks under load leaks by the hundred.
	slack = 4
)

// memoryOf is the median of what was resident in a window that begins at from.
func memoryOf(list []resident, from, length time.Duration) int64 {
	var inside []int64
	for _, r := range list {
		if r.at >= from && r.at < from+length {
			inside = append(inside, r.rss)
		}
	}
	if len(inside) == 0 {
		return 0
	}
	slices.Sort(inside)
	return inside[len(inside)/2]
}

// growth judges whether memory is flat: it compares what was resident from a tenth to four tenths of the time with the last
// three tenths. The windows are long, since the shadows' moods differ in what they need.
func growth(list []resident, whole time.Duration) (early, late int64, fault string) {
	early, late = memoryOf(list, whole/10, whole*3/10), memoryOf(list, whole*7/10, whole)
	if most := early + int64(growthShare*float64(early)) + growthBytes; late > most {
		fault = fmt.Sprintf("memory grew from %s to %s, and may to %s", mib(early), mib(late), mib(most))
	}
	return early, late, fault
}

// left tells what an idle process holds that it did not before the load.
func left(before, after reading) []string {
	faults := after.counts.Faults()
	if after.goroutines > before.goroutines+slack {
		faults = append(faults, fmt.Sprintf("goroutines: %d, before the load %d", after.goroutines, before.goroutines))
	}
	if after.descriptors > before.descriptors+slack {
		faults = append(faults, fmt.Sprintf("descriptors: %d, before the load %d", after.descriptors, before.descriptors))
	}
	return faults
}

// known compares the counters with what clients and shadows know of themselves.
func known(c rig.Counts, sent, heads, candidate, secondary int64) (faults []string) {
	if c.Requests < heads || c.Requests > sent {
		faults = append(faults, fmt.Sprintf("%d requests are counted, of %d sent and %d answered", c.Requests, sent, heads))
	}
	for role, asked := range map[string]int64{"candidate": candidate, "secondary": secondary} {
		if leg := c.Shadow[role]; asked > leg.Sent {
			faults = append(faults, fmt.Sprintf("the %s was asked %d times, and only %d were sent: some twice", role, asked, leg.Sent))
		}
	}
	if c.Compared == 0 {
		faults = append(faults, "nothing was compared")
	}
	if n := c.Unknown["panic"]; n > 0 {
		faults = append(faults, fmt.Sprintf("%d panics", n))
	}
	slices.Sort(faults)
	return faults
}
