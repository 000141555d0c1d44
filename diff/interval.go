package diff

import "math"

// Interval bounds the mean of the score of a compared request, +1 counted b times, 0 z times and −1 c times, so that
// the probability that the interval ever misses the mean is at most alpha, at any number of looks and whenever one
// stops: a confidence sequence. Without a request it is −1 to 1.
//
// Against "the mean is at least μ" a gambler stakes λ on its being less; his capital is
//
//	K(μ) = (1 − λ(1−μ))^b · (1 + λμ)^z · (1 + λ(1+μ))^c
//
// and is mixed over 24 stakes λ = 0.999/(1−μ)·2^(−k/1.5) with weights proportional to 1/(k+1). The upper bound is the
// largest μ at which the mixture stays below 2/alpha. The lower one is the same with the sides exchanged.
//
// Source: Waudby-Smith and Ramdas, "Estimating means of bounded random variables by betting" (JRSS-B 2024).
func Interval(b, z, c int64, alpha float64) (lower, upper float64) {
	return newMixture().interval(scores{count(b), count(z), count(c)}, alpha)
}

// scores counts requests by their score; not necessarily whole numbers, for forecasts.
type scores struct{ plus, zero, minus float64 }

func (s scores) all() float64  { return s.plus + s.zero + s.minus }
func (s scores) mean() float64 { return (s.plus - s.minus) / s.all() }

// exchanged is what the scores would be if the two shadows swapped names.
func (s scores) exchanged() scores { return scores{s.minus, s.zero, s.plus} }

// mixture is the gambler's stakes, laid out once.
type mixture [24]struct {
	risk     float64 // λ·(1−μ), the part of the capital at stake
	lnLoss   float64
	lnWeight float64
}

func newMixture() *mixture {
	var m mixture
	var all float64
	for k := range m {
		all += 1 / float64(k+1)
	}
	for k := range m {
		m[k].risk = 0.999 * math.Exp2(-float64(k)/1.5)
		m[k].lnLoss = math.Log1p(-m[k].risk)
		m[k].lnWeight = -math.Log(float64(k+1) * all)
	}
	return &m
}

func (m *mixture) interval(s scores, alpha float64) (lower, upper float64) {
	return -m.upper(s.exchanged(), alpha), m.upper(s, alpha)
}

// upper finds where the capital reaches 2/alpha by Newton's method, kept between bounds that close in, since the
// capital grows with μ. Four or five looks are usual.
func (m *mixture) upper(s scores, alpha float64) float64 {
	target := math.Log(2 / alpha)
	high := math.Nextafter(1, 0)
	if s.zero+s.minus == 0 {
		return 1
	}
	if at, _ := m.lnCapital(s, high); at < target {
		return 1
	}
	n, mean := s.all(), s.mean()
	low, guess := mean, 1.5*(target+4)/n
	guess += mean + math.Sqrt(2*(target+4)*((s.plus+s.minus)/n-mean*mean)/n)
	for high-low > 1e-15 {
		mu := guess
		if !(mu > low && mu < high) {
			mu = (low + high) / 2
		}
		at, slope := m.lnCapital(s, mu)
		if at < target {
			low = mu
		} else {
			high = mu
		}
		guess = mu - (at-target)/slope
		if math.Abs(guess-mu) <= 1e-9*(mu-mean) {
			return math.Min(guess, 1)
		}
	}
	return high
}

// atMost tells whether the upper bound is at or below mu, by one look at the capital instead of a search.
func (m *mixture) atMost(s scores, alpha, mu float64) bool {
	if mu >= 1 || s.all() == 0 || s.mean() >= mu {
		return mu >= 1
	}
	at, _ := m.lnCapital(s, mu)
	return at >= math.Log(2/alpha)
}

// above tells whether the lower bound is above mu, likewise.
func (m *mixture) above(s scores, alpha, mu float64) bool {
	return mu < 1 && m.atMost(s.exchanged(), alpha, -mu)
}

// lnCapital is the logarithm of the mixed capital at μ, and its slope there. With the stake as a share of what is at
// risk, the factor of b does not depend on μ.
func (m *mixture) lnCapital(s scores, mu float64) (ln, slope float64) {
	var lns, slopes [len(m)]float64
	top := math.Inf(-1)
	zero, zeroSlope := mu/(1-mu), 1/((1-mu)*(1-mu))
	for k := range m {
		risk := m[k].risk
		l, rise := m[k].lnWeight+s.plus*m[k].lnLoss, 0.0
		if s.zero > 0 {
			l += s.zero * math.Log1p(risk*zero)
			rise += s.zero * risk * zeroSlope / (1 + risk*zero)
		}
		if s.minus > 0 { // (1+μ)/(1−μ) = 1 + 2μ/(1−μ)
			l += s.minus * math.Log1p(risk*(1+2*zero))
			rise += s.minus * risk * 2 * zeroSlope / (1 + risk*(1+2*zero))
		}
		lns[k], slopes[k] = l, rise
		if l > top {
			top = l
		}
	}
	var sum, rise float64
	for k, l := range lns {
		if l < top-40 {
			continue
		}
		share := math.Exp(l - top)
		sum += share
		rise += share * slopes[k]
	}
	return top + math.Log(sum), rise / sum
}
