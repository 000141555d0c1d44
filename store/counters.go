package store

import (
	"maps"

	"shadowdiff/diff"
	"shadowdiff/multicast"
)

// read brings the run's counters up to date with the proxy's, unless the run has ended.
func (r *runCounters) read(counters func() multicast.Counts) (changed bool) {
	if counters == nil || r.ended {
		r.late = 0
		return false
	}
	now := counters()
	r.late = now.Awaited
	total := addCounts(r.before, now, 1)
	total = addCounts(total, r.base, -1)
	changed = !equalCounts(&total, &r.total)
	r.total = total
	return changed
}

// addCounts returns a + sign·b, of everything that only grows. What stands at a moment (queue, in flight) is no count of
// a run and is left out.
func addCounts(a, b multicast.Counts, sign int64) multicast.Counts {
	sum := multicast.Counts{
		Started:   a.Started,
		Requests:  a.Requests + sign*b.Requests,
		Exchanged: a.Exchanged + sign*b.Exchanged,
		Compared:  a.Compared + sign*b.Compared,
		Skipped:   addMap(a.Skipped, b.Skipped, sign),
		Dropped:   addMap(a.Dropped, b.Dropped, sign),
		Unknown:   addMap(a.Unknown, b.Unknown, sign),
		Shadow:    map[string]multicast.ShadowLegs{},
	}
	for _, legs := range []map[string]multicast.ShadowLegs{a.Shadow, b.Shadow} {
		for role := range legs {
			sum.Shadow[role] = multicast.ShadowLegs{
				Sent:    a.Shadow[role].Sent + sign*b.Shadow[role].Sent,
				Outcome: addMap(a.Shadow[role].Outcome, b.Shadow[role].Outcome, sign),
				Paused:  a.Shadow[role].Paused + sign*b.Shadow[role].Paused,
			}
		}
	}
	return sum
}

// staleOf counts the kept connections that the shadows ended.
func staleOf(c *multicast.Counts) diff.Stale {
	of := func(role multicast.Role) int64 { return c.Shadow[role.String()].Outcome[multicast.OutcomeStale] }
	return diff.Stale{Candidate: of(multicast.Candidate), Control: of(multicast.Secondary)}
}

func addMap[K comparable](a, b map[K]int64, sign int64) map[K]int64 {
	sum := make(map[K]int64, len(a))
	maps.Copy(sum, a)
	for k, n := range b {
		sum[k] += sign * n
	}
	maps.DeleteFunc(sum, func(_ K, n int64) bool { return n == 0 })
	return sum
}

func equalCounts(a, b *multicast.Counts) bool {
	return a.Requests == b.Requests && a.Exchanged == b.Exchanged && a.Compared == b.Compared &&
		maps.Equal(a.Skipped, b.Skipped) && maps.Equal(a.Dropped, b.Dropped) && maps.Equal(a.Unknown, b.Unknown) &&
		maps.EqualFunc(a.Shadow, b.Shadow, func(x, y multicast.ShadowLegs) bool {
			return x.Sent == y.Sent && x.Paused == y.Paused && maps.Equal(x.Outcome, y.Outcome)
		})
}
