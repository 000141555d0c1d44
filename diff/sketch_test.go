package diff

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"
)

// durations are heavy-tailed, as answers are: some hundred microseconds to some seconds.
func durations(n int, seed uint64) []time.Duration {
	rnd := rand.New(rand.NewPCG(seed, 1))
	list := make([]time.Duration, n)
	for i := range list {
		list[i] = time.Duration(float64(2*time.Millisecond) * math.Exp(1.5*rnd.NormFloat64()))
	}
	return list
}

func TestSketchReadsQuantilesToOnePercent(t *testing.T) {
	var s Sketch
	list := durations(20_000, 1)
	for _, d := range list {
		s.Add(d)
	}
	slices.Sort(list)
	for _, q := range []float64{0, 0.01, 0.5, 0.9, 0.99, 0.999, 1} {
		got, ok := s.Quantile(q)
		want := list[int(q*float64(len(list)-1))]
		if !ok || math.Abs(float64(got-want)) > 0.0101*float64(want) {
			t.Errorf("quantile %v: %v (%v), want %v within 1 %%", q, got, ok, want)
		}
	}
	if s.Count() != 20_000 {
		t.Errorf("count %d, want 20,000", s.Count())
	}
}

func TestZeroSketchIsEmpty(t *testing.T) {
	var s, o Sketch
	s.Merge(&o)
	if _, ok := s.Quantile(0.5); ok || s.Count() != 0 {
		t.Error("an empty sketch has a quantile")
	}
	if b, err := s.MarshalBinary(); err != nil || len(b) != 0 {
		t.Errorf("an empty sketch is written as %x, %v", b, err)
	}
	s.Add(-time.Second)
	s.Add(0)
	if q, ok := s.Quantile(1); !ok || q != 0 || s.Count() != 2 {
		t.Errorf("after two times of zero: %v, %v, count %d", q, ok, s.Count())
	}
	if _, ok := s.Quantile(math.NaN()); ok {
		t.Error("there is a quantile NaN")
	}
}

func TestSketchStaysBoundedOverTheWholeRange(t *testing.T) {
	var s Sketch
	for d := time.Duration(1); d > 0; d *= 2 {
		s.Add(d)
	}
	s.Add(math.MaxInt64)
	b, err := s.MarshalBinary()
	if err != nil || len(b) > 8<<10 {
		t.Errorf("%d bytes, %v", len(b), err)
	}
	if q, ok := s.Quantile(1); !ok || q < 0 || float64(q) < 0.98*math.MaxInt64 {
		t.Errorf("the longest duration reads as %d", q)
	}
}

func TestSketchesMergeAndTravelWithoutLoss(t *testing.T) {
	var whole, first, second Sketch
	for i, d := range durations(5_000, 2) {
		whole.Add(d)
		[]*Sketch{&first, &second}[i%2].Add(d)
	}
	b, err := first.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	var merged Sketch
	merged.Add(time.Hour) // is replaced
	if err := merged.UnmarshalBinary(b); err != nil {
		t.Fatal(err)
	}
	kept := merged.Clone()
	merged.Merge(&second)
	for _, q := range []float64{0.01, 0.5, 0.99} {
		got, _ := merged.Quantile(q)
		if want, _ := whole.Quantile(q); got != want {
			t.Errorf("quantile %v: %v merged, %v at once", q, got, want)
		}
	}
	if kept.Count() != 2_500 || merged.Count() != 5_000 {
		t.Errorf("the clone counts %d, the merged sketch %d", kept.Count(), merged.Count())
	}
}

// Who reads a sketch changes nothing in it, so that many may at once.
func TestSketchIsReadByMany(t *testing.T) {
	var s Sketch
	for _, d := range durations(100, 3) {
		s.Add(d)
	}
	want, _ := s.Quantile(0.99)
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for range 100 {
				_, err := s.MarshalBinary()
				if got, known := s.Quantile(0.99); err != nil || !known || got != want || s.Count() != 100 || new(s.Clone()).Count() != 100 {
					t.Errorf("%d durations, quantile %v, %v", s.Count(), got, err)
				}
			}
		})
	}
	readers.Wait()
}

func FuzzSketchUnmarshal(f *testing.F) {
	var s Sketch
	for _, d := range durations(50, 4) {
		s.Add(d)
	}
	b, _ := s.MarshalBinary()
	f.Add(b)
	f.Add(b[:len(b)/2])
	f.Add([]byte{})
	f.Add([]byte{0xff, 0, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		var s Sketch
		if s.UnmarshalBinary(b) != nil {
			return
		}
		if s.Count() < 0 {
			t.Errorf("count %d", s.Count())
		}
		if q, ok := s.Quantile(0.99); ok && q < 0 {
			t.Errorf("quantile %v", q)
		}
		out, err := s.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		var again Sketch
		if err := again.UnmarshalBinary(out); err != nil {
			t.Fatal(err)
		}
	})
}

func BenchmarkSketch(b *testing.B) {
	var s Sketch
	list := durations(1024, 5)
	for i := 0; b.Loop(); i++ {
		s.Add(list[i%len(list)])
	}
}
