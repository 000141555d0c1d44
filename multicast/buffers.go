package multicast

import (
	"sync"
	"time"
)

// buffers is a pool of the buffers through which bodies are copied.
type buffers struct{ much, little sync.Pool }

const (
	bufferSize = 32 << 10
	littleSize = 4 << 10
)

func newBuffers() *buffers {
	return &buffers{
		much:   sync.Pool{New: func() any { return new([bufferSize]byte) }},
		little: sync.Pool{New: func() any { return new([littleSize]byte) }},
	}
}

// Get returns a buffer.
func (b *buffers) Get() []byte { return b.much.Get().(*[bufferSize]byte)[:] }

// Put takes a buffer back.
func (b *buffers) Put(buf []byte) { b.much.Put((*[bufferSize]byte)(buf)) }

// carrier is the buffer through which one answer goes: a great one while much comes and the client takes it, and else a
// little one. Clients that read slowly, and streams in which little happens, are many and long-lived.
type carrier struct {
	buffers *buffers
	buf     []byte
	quick   int // times running that it was full and soon taken
}

const (
	slowWrite  = 100 * time.Millisecond // a client that needs so long for one buffer is a slow one
	quickTimes = 2                      // little buffers that are soon taken make a great one
	afterSlow  = 1000                   // so many more, if it was slow: a kernel has room for some megabytes
)

// carry begins with what a body of this length wants; a negative one is unknown.
func (b *buffers) carry(length int64) *carrier {
	c := &carrier{buffers: b}
	if length > littleSize {
		c.buf = b.Get()
	} else {
		c.buf = b.little.Get().(*[littleSize]byte)[:]
	}
	return c
}

// carried is told that n bytes have come, and how long the client took for them.
func (c *carrier) carried(n int, took time.Duration) {
	great := len(c.buf) == bufferSize
	switch {
	case took >= slowWrite || n < littleSize:
		c.quick = min(c.quick, 0)
		if took >= slowWrite {
			c.quick = -afterSlow
		}
		if great {
			c.end()
			c.buf = c.buffers.little.Get().(*[littleSize]byte)[:]
		}
	case great:
	default:
		if c.quick++; c.quick >= quickTimes {
			c.end()
			c.buf = c.buffers.Get()
		}
	}
}

// end gives the buffer back.
func (c *carrier) end() {
	if len(c.buf) == bufferSize {
		c.buffers.Put(c.buf)
	} else {
		c.buffers.little.Put((*[littleSize]byte)(c.buf))
	}
	c.buf = nil
}
