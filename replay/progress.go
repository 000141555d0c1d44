package replay

import "time"

// Progress is how far a replay is.
type Progress struct {
	Counts
	Share   float64       // of all there is, 0 to 1; below 0: not known
	Rate    float64       // requests a second, since the last reading but one
	Left    time.Duration // at the pace so far; below 0: not known
	Elapsed time.Duration
}

// meter measures the pace between readings. Its owner's mu guards it.
type meter struct {
	begun        time.Time
	from         time.Time // when the first request was asked
	share        float64   // then
	last, before reading
}

type reading struct {
	at    time.Time
	asked int64
}

// Progress reads how far the replay is. The rate is that since the reading before the last.
func (r *Replay) Progress() Progress {
	c := r.Counts()
	r.mu.Lock()
	defer r.mu.Unlock()
	p := Progress{Counts: c, Share: r.share(), Left: -1}
	m, now := &r.progress, time.Now()
	if m.begun.IsZero() {
		return p
	}
	p.Elapsed = now.Sub(m.begun)
	if d := now.Sub(m.before.at).Seconds(); d > 0 {
		p.Rate = float64(c.Asked-m.before.asked) / d
	}
	m.before, m.last = m.last, reading{now, c.Asked}
	if done := p.Share - m.share; p.Share >= 0 && done > 0 {
		p.Left = time.Duration(float64(now.Sub(m.from)) * (1 - p.Share) / done)
	}
	return p
}

func (r *Replay) begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := reading{at: time.Now()}
	r.progress = meter{begun: now.at, last: now, before: now}
}

// first notes where the pace begins: what was asked before went by at once.
func (r *Replay) first() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.counts.taken() == 1 {
		now := reading{at: time.Now()}
		r.progress = meter{begun: r.progress.begun, from: now.at, share: max(0, r.share()), last: now, before: now}
	}
}

// share is the part that is done: of the limit, or of the files' bytes. What was asked before is no part of the pace. The
// caller holds mu.
func (r *Replay) share() float64 {
	c := &r.counts
	if limit := r.cfg.Limit; limit > 0 && r.cfg.Loop {
		return float64(c.taken()+c.Before) / float64(limit)
	}
	if r.cfg.Loop {
		return -1
	}
	total, done := int64(0), r.done
	for _, size := range r.sizes {
		if size < 0 {
			return -1
		}
		total += size
	}
	if r.reader != nil {
		done += r.reader.Read()
	}
	if total == 0 {
		return 1
	}
	share := float64(done) / float64(total)
	if r.cfg.Limit > 0 {
		share = max(share, float64(c.taken()+c.Before)/float64(r.cfg.Limit))
	}
	return min(share, 1)
}
