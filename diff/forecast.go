package diff

import "math"

// forecast is how many more requests would prove "equivalent" if the noise stays and there is no excess from now on; 0
// when there are enough, and false when no number is.
func (s *scope) forecast() (more int64, ok bool) {
	budget, alpha, bets := s.watch.cfg.budget(), s.watch.cfg.Alpha, s.watch.bets
	now, seen := s.proving()
	if seen <= 0 {
		return 0, false
	}
	limit := budget * seen
	noise := 0.0
	if n := now.all(); n > 0 {
		noise = (now.plus + now.minus) / n / 2 // of the requests, on each side
	}
	more, ok = leastMore(func(m float64) bool {
		return bets.atMost(scores{now.plus + m*noise, now.zero + m*(1-2*noise), now.minus + m*noise}, alpha, limit)
	})
	for _, st := range s.confirmed {
		if st.over == nil || !ok {
			continue
		}
		own := st.over.counts.scores(st.n)
		var k int64
		k, ok = leastMore(func(m float64) bool {
			return bets.atMost(scores{own.plus, own.zero + m, own.minus}, st.over.alpha, budget)
		})
		// Of the scope's requests only some are the field's.
		more = max(more, int64(math.Ceil(float64(k)*count(s.row.Compared)/own.all())))
	}
	return max(more, s.watch.cfg.MinCompared-s.row.Compared), ok
}

// quiet is how many requests in all would do in a new run in which the noisiest field makes no noise.
func (s *scope) quiet() (all int64, ok bool) {
	now := s.scores()
	n := now.all()
	half := math.Min(count(s.noisiest.noise())/2, math.Min(now.plus, now.minus))
	noise := ((now.plus+now.minus)/2 - half) / n
	limit := s.watch.cfg.budget() * math.Min(1, s.seen()+half/n)
	return leastMore(func(m float64) bool {
		return s.watch.bets.atMost(scores{m * noise, m * (1 - 2*noise), m * noise}, s.watch.cfg.Alpha, limit)
	})
}

// leastMore is the least number of requests from which enough holds, to 1 %, or false when there is none below 10^15.
func leastMore(enough func(m float64) bool) (more int64, ok bool) {
	if enough(0) {
		return 0, true
	}
	low, high := 0.0, 256.0
	for !enough(high) {
		if low, high = high, 2*high; high > 1e15 {
			return 0, false
		}
	}
	for high-low > high/100 {
		if mid := (low + high) / 2; enough(mid) {
			high = mid
		} else {
			low = mid
		}
	}
	return int64(math.Ceil(high)), true
}
