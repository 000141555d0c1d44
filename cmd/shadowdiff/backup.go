package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/dustin/go-humanize"
)

const backupHelp = `
Usage: shadowdiff backup [-url URL] [FLAGS] -o FILE

Saves the database of a running shadowdiff, as it is at one moment, while it goes on. The file holds what the store does:
counts, runs, settings, and samples as redacted; only its owner may read it. It is there whole or not at all, and no file
is written over. To restore it, stop shadowdiff and put the file where store.path says, without a -wal beside it.

A token is read from -token-file, or from the environment variable SHADOWDIFF_TOKEN. Exit code 0, or 2 for trouble.

  shadowdiff backup -o shadowdiff-$(date +%F).db`

// backupWait is how long a backup may take in all.
const backupWait = time.Hour

// runBackup saves the database of a running service.
func runBackup(args []string, std stdio) int {
	fs := newFlagSet("backup", backupHelp)
	address := fs.String("url", "http://127.0.0.1:8881", "the dashboard's `URL`")
	tokenFile := fs.String("token-file", "", "read the token (web.token) from this `FILE`")
	ca := fs.String("ca", "", "trust the certificates in this PEM `FILE`, too")
	file := fs.String("o", "", "the `FILE` to save it in")
	if code, done := parse(fs, args, std); done {
		return code
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	size, err := int64(0), errors.New("-o FILE is missing")
	if *file != "" {
		size, err = saveBackup(ctx, *address, *tokenFile, *ca, *file)
	}
	if err != nil {
		fmt.Fprintf(std.err, "shadowdiff backup: %s\n", err)
		return exitTrouble
	}
	fmt.Fprintf(std.out, "%s: %s\n", *file, humanize.IBytes(uint64(size)))
	return exitOK
}

func saveBackup(ctx context.Context, address, tokenFile, ca, file string) (size int64, err error) {
	base, err := dashboardURL(address)
	if err != nil {
		return 0, fmt.Errorf("-url: %w", err)
	}
	if _, err := os.Lstat(file); err == nil {
		return 0, fmt.Errorf("%s exists and is not written over: name another file, as with a date in it", file)
	}
	client, err := newAPIClient(tokenFile, ca, os.LookupEnv)
	if err != nil {
		return 0, err
	}
	client.http.Timeout = backupWait
	part, err := createBeside(file)
	if err != nil {
		return 0, err
	}
	size, err = client.backup(ctx, base, part)
	if err == nil {
		err = part.Sync()
	}
	err = errors.Join(err, part.Close())
	if err == nil {
		err = os.Rename(part.Name(), file)
	}
	if err != nil {
		os.Remove(part.Name())
	}
	return size, err
}

// backup asks a service for its database.
func (c *apiClient) backup(ctx context.Context, base string, to io.Writer) (size int64, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/api/v1/backup", http.NoBody)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", base, err)
	}
	resp, err := c.send(base, "backup", req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return 0, undone(base, resp)
	}
	body := bufio.NewReader(resp.Body)
	if begin, err := body.Peek(16); err != nil || string(begin) != "SQLite format 3\x00" {
		return 0, fmt.Errorf("%s: what it answers is no database; give the dashboard's address (web.listen, or web.base_url)", base)
	}
	size, err = io.Copy(to, body)
	if err != nil {
		return 0, fmt.Errorf("%s: the backup broke off after %s: %w", base, humanize.IBytes(uint64(size)), err)
	}
	return size, nil
}
