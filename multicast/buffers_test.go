package multicast

import (
	"testing"
	"time"
)

// Whoever takes what comes has a great buffer; who is slow, or gets little, a little one.
func TestCarrier(t *testing.T) {
	type pass struct {
		n    int
		took time.Duration
		want int
	}
	const quick, slow = time.Millisecond, slowWrite
	for name, c := range map[string]struct {
		length int64
		first  int
		passes []pass
	}{
		"short":           {100, littleSize, []pass{{100, quick, littleSize}}},
		"a download":      {1 << 30, bufferSize, []pass{{bufferSize, quick, bufferSize}, {bufferSize, quick, bufferSize}, {20000, quick, bufferSize}}},
		"in chunks":       {-1, littleSize, []pass{{littleSize, quick, littleSize}, {littleSize, quick, bufferSize}, {bufferSize, quick, bufferSize}}},
		"events":          {-1, littleSize, []pass{{20, quick, littleSize}, {littleSize, quick, littleSize}, {20, quick, littleSize}, {littleSize, quick, littleSize}}},
		"a slow reader":   {1 << 30, bufferSize, []pass{{bufferSize, slow, littleSize}, {littleSize, slow, littleSize}, {littleSize, slow, littleSize}}},
		"a stream, later": {-1, littleSize, []pass{{littleSize, quick, littleSize}, {littleSize, quick, bufferSize}, {20, quick, littleSize}}},
	} {
		t.Run(name, func(t *testing.T) {
			carrier := newBuffers().carry(c.length)
			defer carrier.end()
			if len(carrier.buf) != c.first {
				t.Errorf("it begins with %d bytes", len(carrier.buf))
			}
			for i, p := range c.passes {
				if carrier.carried(p.n, p.took); len(carrier.buf) != p.want {
					t.Errorf("after %d there are %d bytes", i+1, len(carrier.buf))
				}
			}
		})
	}
}

// A client that was slow once must be quick for longer than what its kernel and ours can hold.
func TestCarrierForgives(t *testing.T) {
	carrier := newBuffers().carry(1 << 30)
	defer carrier.end()
	carrier.carried(bufferSize, slowWrite)
	quick := 0
	for len(carrier.buf) == littleSize {
		quick++
		carrier.carried(littleSize, time.Millisecond)
	}
	if total := quick * littleSize; total < 4_000_000 || total > 5_000_000 {
		t.Errorf("forgiven after %d bytes", total)
	}
}
