//go:build !unix

package multicast

import (
	"runtime/metrics"
	"time"
)

// spentCPU is the runtime's own estimate, which follows at each collection.
func spentCPU() time.Duration {
	samples := []metrics.Sample{{Name: "/cpu/classes/total:cpu-seconds"}, {Name: "/cpu/classes/idle:cpu-seconds"}}
	metrics.Read(samples)
	if samples[0].Value.Kind() != metrics.KindFloat64 || samples[1].Value.Kind() != metrics.KindFloat64 {
		return 0
	}
	return time.Duration((samples[0].Value.Float64() - samples[1].Value.Float64()) * float64(time.Second))
}
