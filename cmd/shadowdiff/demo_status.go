package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
)

// welcome says where to look. With -json standard output is kept for the verdict.
func (d *demo) welcome() {
	out := d.std.out
	if d.json {
		out = d.std.err
	}
	candidate := fmt.Sprintf("%d known faults in the candidate", len(d.faults))
	if d.clean {
		candidate = "no fault in the candidate"
	}
	until := "until Ctrl-C"
	if d.length > 0 {
		until = "for " + d.length.String()
	}
	fmt.Fprintf(out, `A toy shop three times over: the same noise in all three, and %s.
About %s requests a second %s, judged at alpha %g.

  dashboard  %s
  shop       %s/products/1001   (through the proxy, from the primary)

`, candidate, humanize.Comma(demoRate), until, demoAlpha, d.svc.AdminURL(), d.svc.ProxyURL())
}

// status is one line of less than 80 columns.
func (d *demo) status() string {
	sent, elapsed := d.crowd.Counts().Sent, time.Since(d.started)
	line := fmt.Sprintf("%4.0f s  %s requests", elapsed.Seconds(), humanize.Comma(sent))
	snap := d.svc.db.Snapshot()
	if snap == nil || snap.Verdict == nil {
		return line
	}
	v := snap.Verdict
	return line + fmt.Sprintf("  %s compared  noise %.1f %%  %d confirmed  %s",
		humanize.Comma(v.Compared), 100*v.NoiseRate, len(confirmedOf(v)), strings.ToUpper(string(v.Word)))
}
