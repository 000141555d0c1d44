package multicast

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync/atomic"
)

// sampler picks a share of the requests that it is asked about. It counts instead of drawing: in each stride of 1/share
// requests it takes one, at a random place, so that traffic which alternates is not aliased; over one half it is the one
// left out that is picked so. From the first request on it is never more than one away from the exact share, while that
// does not change. It holds no lock.
type sampler struct {
	seed uint64
	seen atomic.Uint64
}

func newSampler() *sampler { return &sampler{seed: rand.Uint64()} }

// next takes the next request, or leaves it.
func (s *sampler) next(share Share) bool {
	switch {
	case share == 0:
		return false
	case share >= Whole:
		return true
	}
	n := s.seen.Add(1) - 1
	if share <= Whole/2 {
		return s.pick(n, uint64(share))
	}
	return !s.pick(n, uint64(Whole-share))
}

// pick reports whether n is the chosen place of its stride. Stride k holds the n with ⌊n·share/Whole⌋ = k.
func (s *sampler) pick(n, share uint64) bool {
	const whole = uint64(Whole)
	k := n * share / whole
	first := (k*whole + share - 1) / share
	length := ((k+1)*whole+share-1)/share - first
	place, _ := bits.Mul64(mix(s.seed+k), length)
	return n == first+place
}

// keeps decides for a key: it is always or never taken, and what is taken at one share still is at a greater one.
func keeps(key string, share Share) bool {
	place, _ := bits.Mul64(mix(hashKey(key)), uint64(Whole))
	return place < uint64(share)
}

// mix spreads a number over all 64 bits (the finaliser of SplitMix64, Steele et al. 2014).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// hashKey is FNV-1a: the same in every process, so that several proxies agree on a key.
func hashKey(key string) uint64 {
	hash := uint64(14695981039346656037)
	for i := range len(key) {
		hash = (hash ^ uint64(key[i])) * 1099511628211
	}
	return hash
}

// sampleKey is what sample_by names.
type sampleKey struct {
	header, cookie string
	clientIP       bool
}

func parseSampleKey(text string) (sampleKey, error) {
	kind, name, found := strings.Cut(text, ".")
	switch {
	case text == "":
		return sampleKey{}, nil
	case text == "client_ip":
		return sampleKey{clientIP: true}, nil
	case kind == "header" && found && token(name):
		return sampleKey{header: http.CanonicalHeaderKey(name)}, nil
	case kind == "cookie" && found && token(name):
		return sampleKey{cookie: name}, nil
	}
	return sampleKey{}, fmt.Errorf("must be header.NAME, cookie.NAME or client_ip, is %q", text)
}
