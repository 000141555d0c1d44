package multicast

import (
	"runtime"
	"runtime/metrics"
	"time"
)

// usage is what this process takes at a moment.
type usage struct {
	at         time.Time
	memory     int64         // bytes; 0: nobody knows
	cpu        time.Duration // of all processors together, since the start; 0: nobody knows
	processors int           // that it may use
}

func readUsage() usage {
	return usage{at: time.Now(), memory: ResidentMemory(), cpu: spentCPU(), processors: runtime.GOMAXPROCS(0)}
}

// ResidentMemory is how much of the machine's memory this process takes, in bytes: the figure that guard.memory is a limit
// of. 0: nobody knows.
func ResidentMemory() int64 {
	if resident := systemMemory(); resident > 0 {
		return resident
	}
	return runtimeMemory()
}

// runtimeMemory is what the Go runtime holds of the system's memory: where the system itself is not asked.
func runtimeMemory() int64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	if samples[0].Value.Kind() != metrics.KindUint64 || samples[1].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return int64(samples[0].Value.Uint64() - samples[1].Value.Uint64())
}
