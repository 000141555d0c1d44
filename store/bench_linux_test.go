package store

import (
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"

	"shadowdiff/diff"
)

// BenchmarkSustained records on as many processors as -cpu says while the writer flushes, and says what one observation
// costs in processor time, the writer's part included, how many a second that makes on one core, and how large the file is:
// ten times as many observations make it no larger.
func BenchmarkSustained(b *testing.B) {
	db, run := benchStore(b)
	name := func(i int) string { return fmt.Sprintf("body.items[].field%d", i%30) }
	found := make([]*diff.Comparison, 60)
	for i := range found {
		found[i] = compared(fmt.Sprintf("GET /route/%d", i%20), noon, field(name(i), 1, 1), field(name(i+7), 1, 0), field(name(i+11), 0, 1))
	}
	began, n := processTime(), 0
	for b.Loop() {
		n++
		c := found[n%len(found)]
		c.Time = time.Now()
		db.Record(run, c)
	}
	if err := db.Flush(context.Background()); err != nil {
		b.Fatal(err)
	}
	each := (processTime() - began) / time.Duration(n)
	b.ReportMetric(float64(each.Nanoseconds()), "cpu-ns/op")
	b.ReportMetric(float64(time.Second/max(each, 1)), "observations/s/core")
	if _, err := db.file.write.Exec(`PRAGMA wal_checkpoint(TRUNCATE)`); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(db.file.size())/1024, "KiB")
}

// processTime is what the process has used of processors.
func processTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
