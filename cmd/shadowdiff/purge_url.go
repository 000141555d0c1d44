package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"shadowdiff/store"
	"shadowdiff/traffic"
	"shadowdiff/web"
)

// purgeWait is how long a service may take to write its database and its recordings anew.
const purgeWait = time.Hour

// there has a running service delete.
func (p *purge) there(ctx context.Context, tokenFile, ca string) error {
	client, err := newAPIClient(tokenFile, ca, os.LookupEnv)
	if err != nil {
		return err
	}
	client.http.Timeout = purgeWait
	order := p.order()
	order["dry_run"] = true
	would, err := client.purge(ctx, p.url, order)
	if err != nil {
		return err
	}
	fmt.Fprintf(p.std.out, "%s has, of what is to be deleted: %s\n", p.url, purgedText(store.Purged(would.Database)))
	if n := would.Recordings; n != nil && n.Files > 0 {
		fmt.Fprintf(p.std.out, "and %s\n", atMostText(traffic.Purged(*n)))
	}
	for _, file := range would.Left {
		fmt.Fprintf(p.std.out, "not touched: %s (%s) there: a backup, a database set aside, or that of another shadowdiff\n", file.Path, bytesText(file.Bytes))
	}
	if err := p.confirm(); err != nil {
		return err
	}
	delete(order, "dry_run")
	done, err := client.purge(ctx, p.url, order)
	if err != nil {
		return err
	}
	fmt.Fprintf(p.std.out, "deleted: %s\n", purgedText(store.Purged(done.Database)))
	if n := done.Recordings; n != nil && n.Files > 0 {
		fmt.Fprintf(p.std.out, "deleted: %s\n", recordedText(traffic.Purged(*n)))
	}
	return nil
}

// order is what is to be deleted, as the API takes it.
func (p *purge) order() map[string]any {
	switch {
	case p.what.Run != "":
		return map[string]any{"run": p.what.Run}
	case !p.what.Before.IsZero():
		return map[string]any{"before": p.what.Before.UTC().Format(time.RFC3339Nano)}
	}
	return map[string]any{"samples": true}
}

// purge asks a service to delete.
func (c *apiClient) purge(ctx context.Context, base string, what map[string]any) (*web.Purged, error) {
	text, err := json.Marshal(what)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/api/v1/purge", bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", base, err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.send(base, "purge", req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, undone(base, resp)
	}
	done := new(web.Purged)
	if err := json.NewDecoder(io.LimitReader(resp.Body, answerMost)).Decode(done); err != nil {
		return nil, fmt.Errorf("%s: what it answers to a purge is not what this version knows: %w", base, err)
	}
	return done, nil
}
