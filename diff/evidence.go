package diff

import "math"

// Evidence is ln E for "what happens to the candidate alone happens more often than what happens to the control alone",
// after b discordant requests on the candidate's side and c on the control's:
//
//	E(b,c) = 2^(b+c) · 2 · ∫ from 1/2 to 1 of θ^b·(1−θ)^c dθ
//
// If both are equally likely given all that came before, the probability that E ever reaches 1/α is at most α, however
// often one looks and whenever one stops. It is the likelihood ratio of "θ" to "1/2" mixed over a uniform prior.
//
// Sources: Ville, "Étude critique de la notion de collectif" (1939); McNemar (1947) for the pairs; Ramdas, Grünwald,
// Vovk and Shafer, "Game-theoretic statistics and safe anytime-valid inference" (Statistical Science 2023).
func Evidence(b, c int64) float64 {
	x, y := count(b), count(c)
	if x <= y {
		return lnTail(x, y)
	}
	// The two one-sided E add up to twice the two-sided one.
	t := lnTwoSided(x, y) + math.Ln2
	return t + math.Log1p(-math.Exp(lnTail(y, x)-t))
}

// EvidenceTwoSided is ln E for "the two are not equally likely", whichever is: E(b,c) = 2^(b+c) · Beta(b+1, c+1).
func EvidenceTwoSided(b, c int64) float64 { return lnTwoSided(count(b), count(c)) }

// count takes a number below zero, which no count is, for none.
func count(n int64) float64 { return float64(max(n, 0)) }

// lnTail is ln E(b,c) for b ≤ c. With θ = (1+y)/2 the integral becomes that of (1−y²)^b·(1−y)^(c−b) over y from 0 to 1,
// which nothing cancels in.
func lnTail(b, c float64) float64 {
	if b > 20_000 {
		return math.Log(tailIntegral(b, c-b))
	}
	sum := 1.0
	for i, t := 0.0, 1.0; i < b && t > 1e-17*sum; i++ {
		t *= (b - i) / (c + 2 + i)
		sum += t
	}
	return math.Log(sum) - math.Log1p(c)
}

// tailIntegral sums the integral at a cost that does not grow with the counts, where the series above would need many
// terms. The substitution y = s·exp(t − exp(−t)) makes both ends fall off doubly exponentially, so that the plain sum
// is good to twelve digits.
//
// Source: Takahasi and Mori, "Double exponential formulas for numerical integration" (Publ. RIMS 9, 1974).
func tailIntegral(b, d float64) float64 {
	const step = 1.0 / 16
	scale := 1 / (math.Sqrt(b) + d)
	sum := 0.0
	for t := -4.0; t < 6; t += step {
		e := math.Exp(-t)
		y := scale * math.Exp(t-e)
		if y >= 1 {
			break
		}
		sum += math.Exp(b*math.Log1p(-y*y)+d*math.Log1p(-y)) * y * (1 + e)
	}
	return sum * step
}

// lnTwoSided is −ln((n+1)·P), P being the probability of b heads in n = b+c throws of a fair coin, which is computed by
// its distance from the expected value rather than by differences of huge logarithms.
//
// Source: Loader, "Fast and accurate computation of binomial probabilities" (2000).
func lnTwoSided(b, c float64) float64 {
	n := b + c
	if b == 0 || c == 0 {
		return n*math.Ln2 - math.Log1p(n)
	}
	lnP := stirlingRest(n) - stirlingRest(b) - stirlingRest(c) - deviance(b, n/2) - deviance(c, n/2) +
		0.5*(math.Log(n/b)-math.Log(2*math.Pi*c))
	return -math.Log1p(n) - lnP
}

// stirlingRest is ln n! less Stirling's approximation of it, for n from 1.
func stirlingRest(n float64) float64 {
	if n < 16 {
		return [...]float64{
			1: 0.08106146679532725822, 0.04134069595540929409, 0.02767792568499833915, 0.02079067210376509311, 0.01664469118982119216,
			0.01387612882307074800, 0.01189670994589177010, 0.01041126526197209650, 0.00925546218271273292, 0.00833056343336287126,
			0.00757367548795184080, 0.00694284010720952987, 0.00640899418800420707, 0.00595137011275884774, 0.00555473355196280137,
		}[int(n)]
	}
	q := 1 / (n * n)
	return (1.0/12 - (1.0/360-(1.0/1260-(1.0/1680-q/1188)*q)*q)*q) / n
}

// deviance is x·ln(x/m) + m − x, by a series where x is close to m.
func deviance(x, m float64) float64 {
	if math.Abs(x-m) >= 0.1*(x+m) {
		return x*math.Log(x/m) + m - x
	}
	v := (x - m) / (x + m)
	sum := (x - m) * v
	for term, k := 2*x*v*v*v, 3.0; ; term, k = term*v*v, k+2 {
		next := sum + term/k
		if next == sum {
			return sum
		}
		sum = next
	}
}
