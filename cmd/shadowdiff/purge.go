package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/dustin/go-humanize"

	"shadowdiff/store"
	"shadowdiff/traffic"
)

const purgeHelp = `
Usage: shadowdiff purge {-db FILE | -config FILE | -url URL} {-samples | -before TIME | -run NAME | -all} [-yes]

Deletes what was kept of requests and answers: samples, what is known of the values in fields and requests, and, but with -db
alone, what was recorded meanwhile. Counts stay, and so does the verdict. The room is given back, and nothing of it is left in
the database. With -all the database itself is deleted, with its log, those that were set aside as damaged or replaced, and
all recordings. Backups are named and not touched.

-url has a running shadowdiff do it, which goes on; -db and -config are for one that is stopped: what is in use is refused. It
says first what will be deleted, and asks, where it can; elsewhere -yes is needed. A token is read from -token-file, or from
the environment variable SHADOWDIFF_TOKEN. Exit code 0, or 2 for trouble.

  shadowdiff purge -url http://127.0.0.1:8881 -samples
  shadowdiff purge -db shadowdiff.db -before 7d -yes
  shadowdiff purge -config shadowdiff.yaml -all`

// purge is what was asked for.
type purge struct {
	db, recordings string // empty: there are none, or they are not meant
	url            string // of a service that is to do it
	all, yes       bool
	what           store.Purge
	std            stdio
}

// runPurge deletes what was kept of requests and answers.
func runPurge(args []string, std stdio) int {
	flags := newFlagSet("purge", purgeHelp)
	p := purge{std: std}
	flags.StringVar(&p.db, "db", "", "the database, a `FILE` (store.path)")
	file := flags.String("config", "", "the database and the recordings that this YAML `FILE` names")
	flags.StringVar(&p.url, "url", "", "have the shadowdiff do it whose dashboard has this `URL`")
	tokenFile := flags.String("token-file", "", "read the token (web.token) from this `FILE`")
	ca := flags.String("ca", "", "trust the certificates in this PEM `FILE`, too")
	samples := flags.Bool("samples", false, "all samples, profiles and attributes, and all recordings")
	before := flags.String("before", "", "samples and recordings from before this `TIME`: 7d (so long ago), 2026-11-30 or\n2026-11-30T10:00:00Z; and the profiles of runs that had ended by then")
	flags.StringVar(&p.what.Run, "run", "", "samples, profiles and attributes of the runs with this `NAME`, or id, and what\nwas recorded while they were in force")
	flags.BoolVar(&p.all, "all", false, "the database itself, those set aside, and all recordings")
	flags.BoolVar(&p.yes, "yes", false, "do not ask")
	if code, done := parse(flags, args, std); done {
		return code
	}
	err := p.limit(*samples, *before)
	if err == nil {
		err = p.find(*file)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	switch {
	case err != nil:
	case p.url != "":
		err = p.there(ctx, *tokenFile, *ca)
	case p.all:
		err = p.remove()
	default:
		err = p.delete(ctx)
	}
	if err != nil {
		fmt.Fprintf(std.err, "shadowdiff purge: %s\n", err)
		return exitTrouble
	}
	return exitOK
}

// limit sees that one thing is asked for, and reads the time.
func (p *purge) limit(samples bool, before string) error {
	n := 0
	for _, given := range []bool{samples, before != "", p.what.Run != "", p.all} {
		if given {
			n++
		}
	}
	if n != 1 {
		return errors.New("say what is to be deleted: one of -samples, -before TIME, -run NAME and -all")
	}
	if before == "" {
		return nil
	}
	at, err := timeBefore(before, time.Now())
	p.what.Before = at
	return err
}

// timeBefore reads a moment, a day (of UTC), or how long ago.
func timeBefore(text string, now time.Time) (time.Time, error) {
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, nil
		}
	}
	ago, err := parseDuration(text)
	if err != nil {
		return time.Time{}, fmt.Errorf("-before: must be a time such as 2026-11-30 or 2026-11-30T10:00:00Z, or so long ago as 7d or 12h, is %q", text)
	}
	return now.Add(-ago), nil
}

// find learns which files are meant, or which service.
func (p *purge) find(file string) (err error) {
	if p.url != "" {
		switch {
		case file != "" || p.db != "":
			return errors.New("-url excludes -db and -config: the service knows its files")
		case p.all:
			return errors.New("-all deletes the database itself, which a running shadowdiff needs: stop it and give -config or -db, or delete what is in it with -samples")
		}
		if p.url, err = dashboardURL(p.url); err != nil {
			return fmt.Errorf("-url: %w", err)
		}
		return nil
	}
	if file != "" {
		cfg, faults := readConfig(file, nil, os.LookupEnv)
		if len(faults) > 0 {
			return fmt.Errorf("%s has faults: `shadowdiff check -config %s` lists them; or give -db FILE", file, file)
		}
		p.recordings = cfg.Record.Dir
		if p.db == "" {
			p.db = cfg.Store.Path
		}
	}
	if p.db == "" {
		return errors.New("no database is named: give -db FILE, -config FILE, or -url URL for a shadowdiff that runs")
	}
	return nil
}

// delete takes something out of the database, and out of the recordings.
func (p *purge) delete(ctx context.Context) (err error) {
	db, err := store.OpenClosed(p.db)
	if err != nil {
		return p.whyNot(err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	n, err := db.CountPurge(ctx, p.what)
	if errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("no run is called %q: the page /runs lists them", p.what.Run)
	}
	if err != nil {
		return err
	}
	times, err := db.PurgeTimes(ctx, p.what)
	if err != nil {
		return err
	}
	fmt.Fprintf(p.std.out, "%s (%s) has, of what is to be deleted: %s\n", p.db, bytesText(db.Size()), purgedText(n))
	if err := p.nameRecorded(times); err != nil {
		return err
	}
	found, err := store.FindRemains(p.db)
	if err != nil {
		return err
	}
	for _, file := range found.Aside() {
		fmt.Fprintf(p.std.out, "not touched: %s (%s), set aside; -all removes it\n", file, bytesText(sizeOf(file)))
	}
	p.nameBackups(found)
	if err := p.confirm(); err != nil {
		return err
	}
	if n, err = db.Purge(ctx, p.what, "purge"); err != nil {
		return err
	}
	fmt.Fprintf(p.std.out, "deleted: %s; the file has %s now\n", purgedText(n), bytesText(db.Size()))
	return p.deleteRecorded(times)
}

// remove takes the database itself away, and the recordings.
func (p *purge) remove() error {
	found, err := store.FindRemains(p.db)
	if err != nil {
		return err
	}
	ever := []traffic.Span{{Until: time.Now()}}
	recorded, err := p.recorded(ever)
	if err != nil {
		return err
	}
	if len(found.Files) == 0 && recorded.Files == 0 {
		return fmt.Errorf("%s does not exist, nor anything beside it that was made of it", p.db)
	}
	total := int64(0)
	for _, file := range found.Files {
		size := sizeOf(file)
		total += size
		fmt.Fprintf(p.std.out, "to be deleted: %s (%s)\n", file, bytesText(size))
	}
	if err := p.nameRecorded(ever); err != nil {
		return err
	}
	p.nameBackups(found)
	if err := p.confirm(); err != nil {
		return err
	}
	if err := store.RemoveAll(p.db); err != nil {
		return p.whyNot(err)
	}
	fmt.Fprintf(p.std.out, "deleted: %s, %s\n", plural(len(found.Files), "file"), bytesText(total))
	return p.deleteRecorded(ever)
}

// recorded tells how much of the recordings is to be looked through.
func (p *purge) recorded(times []traffic.Span) (traffic.Purged, error) {
	if p.recordings == "" {
		return traffic.Purged{}, nil
	}
	return traffic.Within(p.recordings, times)
}

func (p *purge) nameRecorded(times []traffic.Span) error {
	n, err := p.recorded(times)
	if err == nil && n.Files > 0 {
		fmt.Fprintf(p.std.out, "%s has, of what is to be deleted: %s\n", p.recordings, atMostText(n))
	}
	return err
}

func (p *purge) deleteRecorded(times []traffic.Span) error {
	if p.recordings == "" {
		return nil
	}
	n, err := traffic.Purge(p.recordings, times)
	if n.Files > 0 {
		fmt.Fprintf(p.std.out, "deleted: %s\n", recordedText(n))
	}
	return err
}

// whyNot adds what else can be done about a database that cannot be opened.
func (p *purge) whyNot(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s does not exist: -db names the file that store.path does", p.db)
	}
	return err
}

// nameBackups tells what holds requests and answers, too, and stays.
func (p *purge) nameBackups(found store.Remains) {
	for _, file := range found.Backups {
		fmt.Fprintf(p.std.out, "not touched: %s (%s), a backup, or the database of another shadowdiff\n", file, bytesText(sizeOf(file)))
	}
}

// confirm asks, where somebody can answer.
func (p *purge) confirm() error {
	if p.yes {
		return nil
	}
	if !isTerminal(p.std.in) {
		return errors.New("nothing was deleted: give -yes to delete it")
	}
	fmt.Fprint(p.std.out, "Delete it? It cannot be undone. [y/N] ")
	return agreed(p.std.in)
}

// agreed reads the answer.
func agreed(in io.Reader) error {
	line, err := bufio.NewReader(in).ReadString('\n')
	if err != nil && line == "" {
		return errors.New("nothing was deleted: no answer")
	}
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return nil
	}
	return errors.New("nothing was deleted")
}

func purgedText(n store.Purged) string {
	return fmt.Sprintf("%s (%s), %s of fields and routes (%s)", plural(int(n.Samples), "sample"), bytesText(n.SampleBytes),
		plural(int(n.Profiles), "profile"), bytesText(n.ProfileBytes))
}

// recordedText is what was taken out of recordings.
func recordedText(n traffic.Purged) string {
	return fmt.Sprintf("%s in %s of recordings (%s)", plural(int(n.Exchanges), "exchange"), plural(int(n.Files), "file"), bytesText(n.Bytes))
}

// atMostText is what will be, before they are looked through.
func atMostText(n traffic.Purged) string {
	return "at most " + recordedText(n)
}

func bytesText(n int64) string { return humanize.IBytes(uint64(max(n, 0))) }

func sizeOf(file string) int64 {
	if info, err := os.Stat(file); err == nil {
		return info.Size()
	}
	return 0
}
