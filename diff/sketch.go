package diff

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/DataDog/sketches-go/ddsketch"
	"github.com/DataDog/sketches-go/ddsketch/mapping"
	"github.com/DataDog/sketches-go/ddsketch/store"
)

const (
	sketchError = 0.01    // relative error of a quantile
	maxCount    = 1 << 50 // of one bin
	sketchBins  = 1024    // 8 KiB at most: from 5 s down to a few nanoseconds before the lowest bins collapse
)

// Sketch holds a distribution of durations from which quantiles are read with a relative error of 1 %. It takes 8 KiB at
// most, merges without loss, and the zero Sketch is empty. A Sketch that was assigned shares its bins with the
// original: use Clone before adding to either. Reading is safe for concurrent use, adding is not.
//
// Source: Masson, Rim and Lee, "DDSketch: a fast and fully-mergeable quantile sketch" (VLDB 2019, arXiv 1908.10693).
type Sketch struct{ dd *ddsketch.DDSketch }

// Add counts one duration; below zero counts as zero.
func (s *Sketch) Add(d time.Duration) {
	s.need()
	_ = s.dd.Add(float64(max(d, 0))) // every duration is within what the sketch can index
}

// Count is how many durations were added.
func (s *Sketch) Count() int64 {
	if s.dd == nil {
		return 0
	}
	return int64(s.dd.GetCount())
}

// Quantile returns the duration below which the share q of all lies, and false when nothing was added or q is not
// within 0 and 1.
func (s *Sketch) Quantile(q float64) (time.Duration, bool) {
	if s.dd == nil {
		return 0, false
	}
	v, err := s.dd.GetValueAtQuantile(q)
	if err != nil || math.IsNaN(q) {
		return 0, false
	}
	if v >= math.MaxInt64 {
		return math.MaxInt64, true
	}
	return time.Duration(v), true
}

// each hands on the durations in ascending order, each as its bin's middle and how many there are.
func (s *Sketch) each(of func(value float64, count int64)) {
	if s.dd != nil {
		s.dd.ForEach(func(value, count float64) (stop bool) {
			of(value, int64(count))
			return false
		})
	}
}

// Merge adds everything that o holds; o stays as it is.
func (s *Sketch) Merge(o *Sketch) {
	if o.dd == nil {
		return
	}
	s.need()
	_ = s.dd.MergeWith(o.dd) // all sketches have the one mapping
}

// Clone returns a copy that shares nothing with s.
func (s *Sketch) Clone() Sketch {
	if s.dd == nil {
		return Sketch{}
	}
	return Sketch{s.dd.Copy()}
}

// sketchForm begins the encoding: the count of zeros, then for each bin that holds anything the distance from the bin
// before and the count, all as unsigned varints.
const sketchForm = 1

// sketchTop is above the bin of the longest duration there is.
const sketchTop = 2200

// MarshalBinary writes the sketch in about 1 KiB; an empty sketch is no bytes.
func (s *Sketch) MarshalBinary() ([]byte, error) {
	if s.Count() == 0 {
		return nil, nil
	}
	b := binary.AppendUvarint([]byte{sketchForm}, uint64(s.dd.GetZeroCount()))
	before := 0
	s.dd.GetPositiveValueStore().ForEach(func(bin int, n float64) (stop bool) {
		b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(bin-before)), uint64(n))
		before = bin
		return false
	})
	return b, nil
}

// UnmarshalBinary replaces the sketch by the one that MarshalBinary wrote. The library's own decoder panics on bytes
// that were damaged.
func (s *Sketch) UnmarshalBinary(b []byte) error {
	s.dd = nil
	if len(b) == 0 {
		return nil
	}
	if b[0] != sketchForm {
		return fmt.Errorf("decode sketch: unknown form %d", b[0])
	}
	zeros, size := binary.Uvarint(b[1:])
	if size <= 0 || zeros > maxCount {
		return errors.New("decode sketch: damaged")
	}
	dd := newSketch()
	_ = dd.AddWithCount(0, float64(zeros))
	bin := uint64(0)
	for b = b[1+size:]; len(b) > 0; {
		distance, k := binary.Uvarint(b)
		n, l := binary.Uvarint(b[max(k, 0):])
		if k <= 0 || l <= 0 || distance > sketchTop || bin+distance > sketchTop || n == 0 || n > maxCount {
			return errors.New("decode sketch: damaged")
		}
		bin += distance
		dd.GetPositiveValueStore().AddWithCount(int(bin), float64(n))
		b = b[k+l:]
	}
	s.dd = dd
	return nil
}

func (s *Sketch) need() {
	if s.dd == nil {
		s.dd = newSketch()
	}
}

func newSketch() *ddsketch.DDSketch {
	m, _ := mapping.NewLogarithmicMapping(sketchError) // fails only for an error outside 0 and 1
	return ddsketch.NewDDSketch(m, store.NewCollapsingLowestDenseStore(sketchBins), store.NewCollapsingLowestDenseStore(1))
}
