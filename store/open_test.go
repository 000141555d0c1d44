package store

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What cannot be opened is refused with the file's name and what to do.
func TestOpenRefuses(t *testing.T) {
	for _, c := range []struct {
		name    string
		prepare func(t *testing.T, path string) // makes what is found at path
		want    string
	}{
		{"not a database", func(t *testing.T, path string) {
			write(t, path, []byte(strings.Repeat("these are my notes\n", 500)))
		}, "not a SQLite database: name another file, or move this one away"},
		{"another program's database", func(t *testing.T, path string) {
			execOn(t, path, `CREATE TABLE bookmarks (url TEXT)`)
		}, "the SQLite database of another program: name another file"},
		{"written by a newer version", func(t *testing.T, path string) {
			fill(t, path)
			execOn(t, path, `PRAGMA user_version = 99`)
		}, fmt.Sprintf("written by a newer shadowdiff (schema 99; this one knows %d)", steps(t))},
		{"without a table", func(t *testing.T, path string) {
			fill(t, path)
			execOn(t, path, `DROP TABLE series_name`)
		}, "its tables are not those of any version: put a backup in its place, or name another file (prepare: SQL logic error: no such table"},
		{"another program's database, damaged", func(t *testing.T, path string) {
			execOn(t, path, `CREATE TABLE bookmarks (url TEXT); INSERT INTO bookmarks SELECT hex(zeroblob(30000)) FROM pragma_function_list`)
			damage(t, path)
		}, "the SQLite database of another program: name another file"},
		{"a folder", func(t *testing.T, path string) {
			if err := os.Mkdir(path, 0o700); err != nil {
				t.Fatal(err)
			}
		}, "is a folder: name a file in it, as "},
		{"a link that leads nowhere", func(t *testing.T, path string) {
			if err := os.Symlink("gone.db", path); err != nil {
				t.Fatal(err)
			}
		}, "a link to gone.db, which does not exist: remove the link"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := testConfig(t)
			c.prepare(t, cfg.Path)
			db, err := Open(cfg, Deps{})
			if err == nil {
				db.Close()
				t.Fatal("it was opened")
			}
			if !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), cfg.Path) {
				t.Errorf("refused with %q, want %q and the file's name", err, c.want)
			}
		})
	}
}

// A folder that does not exist is named.
func TestOpenNamesTheMissingFolder(t *testing.T) {
	cfg := testConfig(t)
	cfg.Path = filepath.Join(filepath.Dir(cfg.Path), "no", "such", "x.db")
	if _, err := Open(cfg, Deps{}); err == nil || !strings.Contains(err.Error(), "folder "+filepath.Dir(cfg.Path)+" does not exist") {
		t.Errorf("opened with %v", err)
	}
}

// A second process on the same file is refused and told who holds it, also through a link; it may have the file once
// the first has closed it.
func TestOpenRefusesASecondProcess(t *testing.T) {
	cfg := testConfig(t)
	db := openStore(t, cfg, Deps{})
	link := cfg
	link.Path = filepath.Join(t.TempDir(), "link.db")
	if err := os.Symlink(cfg.Path, link.Path); err != nil {
		t.Fatal(err)
	}
	for _, second := range []Config{cfg, link} {
		if _, err := Open(second, Deps{}); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("in use by process %d", os.Getpid())) {
			t.Errorf("a second store on %s: %v", second.Path, err)
		}
	}
	closeStore(t, db)
	openStore(t, link, Deps{})
}

// The file is made for its owner alone, in WAL mode, and a name may hold any character.
func TestOpenCreatesTheFile(t *testing.T) {
	cfg := testConfig(t)
	cfg.Path = filepath.Join(filepath.Dir(cfg.Path), "50% of a?b#c &d.db")
	db := openStore(t, cfg, Deps{})
	info, err := os.Stat(cfg.Path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("created as %v, %v", info, err)
	}
	for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "1", "auto_vacuum": "2", "busy_timeout": "1000"} {
		var got string
		if err := db.file.write.QueryRow(`PRAGMA ` + pragma).Scan(&got); err != nil || got != want {
			t.Errorf("%s is %q, want %q, %v", pragma, got, want, err)
		}
	}
	if _, err := db.file.read.Exec(`DELETE FROM run`); err == nil {
		t.Error("a reading connection wrote")
	}
}

// An old file is brought up to date; a step that fails leaves the file as it was.
func TestMigrationsAreWholeOrNotAtAll(t *testing.T) {
	cfg := testConfig(t)
	execOn(t, cfg.Path, `PRAGMA journal_mode = WAL`) // an empty database, schema 0
	db := openStore(t, cfg, Deps{})
	var version int
	if err := db.file.read.QueryRow(`PRAGMA user_version`).Scan(&version); err != nil || version != steps(t) {
		t.Fatalf("schema %d, %v", version, err)
	}
	closeStore(t, db)

	broken := testConfig(t)
	execOn(t, broken.Path, `PRAGMA application_id = 1936221286; CREATE TABLE setting (key TEXT)`) // in the way of a later table
	if _, err := Open(broken, Deps{}); err == nil || !strings.Contains(err.Error(), "migrate with migrations/0001_first.sql") {
		t.Fatalf("opened with %v", err)
	}
	// The last step fails, and those before it are as if they had not been taken.
	second := testConfig(t)
	openSchema(t, second.Path, "schema2.sql", "0001_first.sql", "0002_route_fold.sql")
	execOn(t, second.Path, `CREATE TABLE rule (key TEXT)`)
	if _, err := Open(second, Deps{}); err == nil || !strings.Contains(err.Error(), "migrate with migrations/0007_rule.sql") {
		t.Fatalf("opened with %v", err)
	}
	var series bool
	err := rawOpen(t, second.Path).QueryRow(`SELECT
		(SELECT user_version FROM pragma_user_version), EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'series_name')`).Scan(&version, &series)
	if err != nil || version != 2 || series {
		t.Errorf("a failed migration left schema %d, with a table of a later one %v, %v", version, series, err)
	}

	var tables int
	if err := rawOpen(t, broken.Path).QueryRow(`SELECT count(*) FROM sqlite_schema`).Scan(&tables); err != nil || tables != 1 {
		t.Errorf("a failed migration left %d tables, %v", tables, err)
	}
}

// steps is how many migrations there are.
func steps(t *testing.T) int {
	t.Helper()
	files, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil || len(files) == 0 {
		t.Fatalf("no migrations: %v", err)
	}
	return len(files)
}

// fill makes a database with something in it.
func fill(t *testing.T, path string) {
	t.Helper()
	cfg := DefaultConfig()
	cfg.Path = path
	db := openStore(t, cfg, Deps{})
	run := startRun(t, db, candidateV1)
	recordMixture(db, run.ID, 50)
	if err := db.SaveSetting(context.Background(), "sample", "1%"); err != nil {
		t.Fatal(err)
	}
	closeStore(t, db)
}

// damage overwrites pages in the middle.
func damage(t *testing.T, path string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := 4096 * 3; i < 4096*8 && i < len(b); i++ {
		b[i] = 0xa5
	}
	write(t, path, b)
}

func write(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

func rawOpen(t *testing.T, path string) *sql.DB {
	t.Helper()
	pool, err := openPool(path, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pool.Close() })
	return pool
}

// execOn changes a database from outside.
func execOn(t *testing.T, path, statement string) {
	t.Helper()
	pool := rawOpen(t, path)
	if _, err := pool.Exec(statement); err != nil {
		t.Fatal(err)
	}
	if err := pool.Close(); err != nil {
		t.Fatal(err)
	}
}
