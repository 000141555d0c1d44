package store

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"
)

// benchStore is a store whose writer runs, on a real disk.
func benchStore(b *testing.B) (*DB, int64) {
	cfg := DefaultConfig()
	cfg.Path = b.TempDir() + "/bench.db"
	db := openStore(b, cfg, Deps{})
	run := startRun(b, db, candidateV1)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = db.Run(ctx)
	}()
	b.Cleanup(func() { cancel(); <-ended })
	return db, run.ID
}

// One comparison with three differing fields, as nearly all are recorded: nothing of it is kept.
func BenchmarkRecord(b *testing.B) {
	db, run := benchStore(b)
	c := compared("GET /products/{id}", noon, field("body.generated_at", 1, 1), field("body.price", 1, 0), field("body.tags", 0, 1))
	b.ReportAllocs()
	for b.Loop() {
		db.Record(run, c)
	}
}

// The same while another program keeps the disk from the writer, whose flush waits for it all the while.
func BenchmarkRecordWhileTheDiskIsBlocked(b *testing.B) {
	db, run := benchStore(b)
	if _, err := db.file.write.Exec(`PRAGMA busy_timeout = 600000`); err != nil {
		b.Fatal(err)
	}
	other, err := openPool(db.file.path, 1, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer other.Close() // before the writer is waited for
	if _, err := other.Exec(`BEGIN EXCLUSIVE`); err != nil {
		b.Fatal(err)
	}
	c := compared("GET /products/{id}", noon, field("body.generated_at", 1, 1), field("body.price", 1, 0), field("body.tags", 0, 1))
	c.Exchange = nil
	for b.Loop() {
		db.Record(run, c)
	}
}

// All processors record into 20 routes of 30 noisy fields each while the writer flushes, samples included.
func BenchmarkObservations(b *testing.B) {
	db, run := benchStore(b)
	var routes, fields []string
	for i := range 30 {
		routes = append(routes, fmt.Sprintf("GET /route%d/{id}", i%20))
		fields = append(fields, fmt.Sprintf("body.items[].field%d", i))
	}
	var n atomic.Int64
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			i := int(n.Add(1))
			c := compared(routes[i%20], time.Now(), field(fields[i%30], 1, 1), field(fields[(i+7)%30], 1, 0), field(fields[(i+11)%30], 0, 1))
			db.Record(run, c)
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "observations/s")
}

// A flush after one comparison in each of 20 routes of 30 fields.
func BenchmarkFlush(b *testing.B) {
	cfg := DefaultConfig()
	cfg.Path = b.TempDir() + "/bench.db"
	db := openStore(b, cfg, Deps{})
	run := startRun(b, db, candidateV1)
	i := 0
	record := func() {
		for r := range 20 {
			i++
			c := compared(fmt.Sprintf("GET /route%d", r), noon, field(fmt.Sprintf("body.f%d", i%30), 1, 1), field(fmt.Sprintf("body.f%d", (i+7)%30), 0, 1))
			db.Record(run.ID, c)
		}
	}
	for range 100 {
		record()
	}
	flush(b, db)
	for b.Loop() {
		record()
		if err := db.Flush(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}

// A page of 50 samples and the snapshot, read while the writer is busy.
func BenchmarkReadWhileWriting(b *testing.B) {
	db, run := benchStore(b)
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				db.Record(run, compared("GET /a", time.Now(), field(fmt.Sprintf("body.f%d", i%500), 1, 1)))
			}
		}
	}()
	b.Run("snapshot", func(b *testing.B) {
		for b.Loop() {
			_ = db.Snapshot().Verdict.Compared
		}
	})
	b.Run("series", func(b *testing.B) {
		for b.Loop() {
			if _, err := db.Series(context.Background(), Filter{Route: "GET /a", Field: "body.f7"}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("samples", func(b *testing.B) {
		for b.Loop() {
			if _, _, err := db.Samples(context.Background(), Filter{}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// A flush after one comparison in each of 250 routes of 1,000, where 200 fields of each have differed before.
func BenchmarkFlushWide(b *testing.B) {
	cfg := DefaultConfig()
	cfg.Path = b.TempDir() + "/bench.db"
	db := openStore(b, cfg, Deps{})
	run := startRun(b, db, candidateV1)
	record := func(step, routes int) {
		for r := range routes {
			name := func(i int) string { return fmt.Sprintf("body.items[].attribute_%d", (step*3+i)%200) }
			c := compared(fmt.Sprintf("GET /service-%d", (r+step*routes)%1000), noon, field(name(0), 1, 1), field(name(1), 3, 0), field(name(2), 0, 1))
			c.Exchange = nil
			db.Record(run.ID, c)
		}
	}
	for step := range 67 {
		record(step, 1000)
	}
	flush(b, db)
	step := 0
	for b.Loop() {
		step++
		record(step, 250)
		if err := db.Flush(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}
