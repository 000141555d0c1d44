package store

import (
	"context"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"shadowdiff/fixtures/disk"
	"shadowdiff/multicast"
)

// A disk that is full, really: counting goes on in memory, is told of once, and all of it is on the disk when there is
// room again.
func TestFullDisk(t *testing.T) {
	dir := disk.Own(t)
	if dir == "" {
		return
	}
	disk.Mount(t, "tmpfs", dir, "tmpfs", 0, "size=1m")
	cfg := testConfig(t)
	cfg.Path, cfg.MaxSize = filepath.Join(dir, "x.db"), 512<<10
	ballast := filepath.Join(dir, "ballast")
	trouble(t, cfg, "database or disk is full",
		func(db *DB) {
			pragma(t, db, `wal_checkpoint(TRUNCATE)`) // else there is room in the log
			disk.Fill(t, ballast)
			if _, err := db.OpenBackup(context.Background()); !errors.Is(err, ErrNoRoom) {
				t.Errorf("a backup on a full disk: %v", err)
			}
			if _, err := db.StartRun("v2", Fingerprint{Candidate: "http://candidate:2"}); !errors.Is(err, ErrNoRoom) || !strings.Contains(err.Error(), "make room") {
				t.Errorf("a run begun on a full disk: %v", err)
			}
		},
		func(*DB) { remove(t, ballast) })
}

// A full disk at the end is told once, by Close, with what it means; where there is room again by then it is no trouble.
func TestADiskThatIsFullAtTheEnd(t *testing.T) {
	dir := disk.Own(t)
	if dir == "" {
		return
	}
	disk.Mount(t, "tmpfs", dir, "tmpfs", 0, "size=1m")
	cfg := testConfig(t)
	cfg.Path = filepath.Join(dir, "x.db")
	ballast := filepath.Join(dir, "ballast")
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for _, room := range []bool{true, false} {
		db := openStore(t, cfg, Deps{})
		run := startRun(t, db, candidateV1)
		flush(t, db)
		pragma(t, db, `wal_checkpoint(TRUNCATE)`)
		disk.Fill(t, ballast)
		recordMixture(db, run.ID, 10)
		if err := db.Run(ended); err != nil || db.Health().Err == "" {
			t.Errorf("the writer ends with %v, and the health is %q", err, db.Health().Err)
		}
		if room {
			remove(t, ballast)
		}
		err := db.Close()
		if lost := err != nil && strings.Contains(err.Error(), "what was counted last is lost: ") && strings.Contains(err.Error(), "make room"); lost == room {
			t.Errorf("closed with %v", err)
		}
	}
}

// Samples for which the disk has no room do not take the counts along: these are written without them, also at the end.
func TestADiskWithoutRoomForSamples(t *testing.T) {
	dir := disk.Own(t)
	if dir == "" {
		return
	}
	disk.Mount(t, "tmpfs", dir, "tmpfs", 0, "size=1m")
	cfg := testConfig(t)
	cfg.Path = filepath.Join(dir, "x.db")
	db := openStore(t, cfg, Deps{})
	run := startRun(t, db, candidateV1)
	random := rand.NewChaCha8([32]byte{}) // which no packing makes smaller
	for i := range 4 {
		c := compared("GET /large", noon.Add(time.Duration(i)*time.Second), field("body", 1, 0))
		body := make([]byte, 900<<10)
		random.Read(body)
		c.Exchange.Response(multicast.Candidate).Body = body
		db.Record(run.ID, c)
		flush(t, db)
	}
	recordMixture(db, run.ID, 10)
	flush(t, db)
	if err := db.Health().Err; err != "" {
		t.Errorf("trouble: %s", err)
	}
	closeStore(t, db)
	db = openStore(t, cfg, Deps{})
	startRun(t, db, candidateV1)
	if n := db.Snapshot().Tallies.Total.Compared; n != 24 {
		t.Errorf("%d of 24 are counted", n)
	}
}

// A disk that may not be written to is named at the start, and nothing on it is touched. It cannot become such a one while
// the database is open: the kernel refuses that.
func TestReadOnlyDisk(t *testing.T) {
	dir := disk.Own(t)
	if dir == "" {
		return
	}
	disk.Mount(t, dir, dir, "", syscall.MS_BIND, "")
	cfg := testConfig(t)
	cfg.Path = filepath.Join(dir, "x.db")
	db := openStore(t, cfg, Deps{})
	run := startRun(t, db, candidateV1)
	recordMixture(db, run.ID, 10)
	const readOnly = syscall.MS_BIND | syscall.MS_REMOUNT | syscall.MS_RDONLY
	if err := syscall.Mount("none", dir, "", readOnly, ""); !errors.Is(err, syscall.EBUSY) {
		t.Errorf("made read-only under an open database: %v", err)
	}
	closeStore(t, db)
	before := read(t, cfg.Path)
	disk.Mount(t, "none", dir, "", readOnly, "")
	if _, err := Open(cfg, Deps{}); err == nil || !strings.Contains(err.Error(), "read-only file system") && !strings.Contains(err.Error(), "cannot be written") {
		t.Errorf("opened on a read-only disk: %v", err)
	}
	disk.Mount(t, "none", dir, "", syscall.MS_BIND|syscall.MS_REMOUNT, "")
	if string(read(t, cfg.Path)) != string(before) {
		t.Error("the database was touched")
	}
	db = openStore(t, cfg, Deps{})
	startRun(t, db, candidateV1)
	if n := db.Snapshot().Tallies.Total.Compared; n != 20 {
		t.Errorf("%d compared when it can be written again", n)
	}
}
