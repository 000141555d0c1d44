package multicast

import (
	"math"
	"math/bits"
	"net/http"
	"sync/atomic"
	"time"
)

// pulse counts how the primary answers, as the clients see it. Counting takes no lock: one addition for each request, to one
// of several copies. Nothing is ever set back; whoever reads takes the difference of two readings.
type pulse struct {
	shards [pulseShards]struct {
		took   [pulseBuckets]atomic.Uint32
		failed atomic.Uint32
	}
}

// Times are counted in buckets of a 32nd of an octave each, some 3 % wide, from 65 µs to 69 s; what is beyond is in the
// first and the last.
const (
	pulseShards  = 8 // a power of two
	pulseFine    = 5 // bits below the leading one
	pulseLow     = 16
	pulseOctaves = 20
	pulseBuckets = pulseOctaves<<pulseFine + 1
)

// bucketOf is the place of a time.
func bucketOf(d time.Duration) int {
	n := uint64(max(d, 0))
	octave := bits.Len64(n) - 1 - pulseLow
	switch {
	case octave < 0:
		return 0
	case octave >= pulseOctaves:
		return pulseBuckets - 1
	}
	fine := n >> (octave + pulseLow - pulseFine) & (1<<pulseFine - 1)
	return octave<<pulseFine + int(fine)
}

// bucketMiddle is the time for which a bucket stands.
func bucketMiddle(bucket int) time.Duration {
	octave, fine := bucket>>pulseFine, bucket&(1<<pulseFine-1)
	return time.Duration(math.Ldexp(1+(float64(fine)+0.5)/(1<<pulseFine), octave+pulseLow))
}

// answered counts one request that the primary was asked. The last digits of the time choose the copy.
func (p *pulse) answered(took time.Duration, failed bool) {
	shard := &p.shards[uint64(took)&(pulseShards-1)]
	shard.took[bucketOf(took)].Add(1)
	if failed {
		shard.failed.Add(1)
	}
}

// headed takes the time that the primary took, where the guard asks for it: to the head of its answer from the request's
// arrival or, with a body, from its end, so that a slow client is not held against the primary.
func (v *visit) headed() {
	if v.setup.cfg.Guard.primary() {
		v.took = v.waited()
	}
}

func (v *visit) waited() time.Duration {
	from := v.arrived
	if v.upload != nil && v.upload.whole() {
		from = v.upload.ended
	}
	return max(time.Since(from), 1)
}

// count counts a visit that has ended. A client that gave up counts only when it had waited for longer than the limit: how
// long it would have taken nobody knows.
func (p *pulse) count(v *visit, gone bool) {
	failed := v.status >= http.StatusInternalServerError || v.broke
	if limit := v.setup.cfg.Guard.PrimaryP99; v.took == 0 && gone && limit > 0 && (v.upload == nil || v.upload.whole()) {
		if waited := v.waited(); waited > limit {
			v.took = waited
		}
	}
	if v.took > 0 {
		p.answered(v.took, failed)
	}
}

// beat is one reading of the pulse, or the difference of two.
type beat struct {
	took   [pulseBuckets]uint32
	failed uint32
}

func (p *pulse) read() beat {
	var b beat
	for i := range p.shards {
		for bucket := range b.took {
			b.took[bucket] += p.shards[i].took[bucket].Load()
		}
		b.failed += p.shards[i].failed.Load()
	}
	return b
}

// since is what came after an earlier reading.
func (b *beat) since(before *beat) beat {
	d := beat{failed: b.failed - before.failed}
	for bucket := range b.took {
		d.took[bucket] = b.took[bucket] - before.took[bucket]
	}
	return d
}

func (b *beat) requests() (n int64) {
	for _, in := range b.took {
		n += int64(in)
	}
	return n
}

// p99 is the time within which 99 of 100 requests were answered, by nearest rank; 0 without any. slower counts those that
// took longer than a limit.
func (b *beat) p99(limit time.Duration) (p99 time.Duration, slower int64) {
	n := b.requests()
	rank, seen := n-n/100, int64(0) // n/100 may be slower
	for bucket, in := range b.took {
		if seen < rank && seen+int64(in) >= rank {
			p99 = bucketMiddle(bucket)
		}
		seen += int64(in)
		if bucketMiddle(bucket) > limit {
			slower += int64(in)
		}
	}
	return p99, slower
}
