package main

import (
	"cmp"
	"fmt"
	"strings"

	"shadowdiff/multicast"
)

// summary says in one line what the configuration makes of this process.
func (c config) summary() string {
	rules := "no rules"
	if n := len(c.Normalize.Rules); n > 0 {
		rules = plural(n, "rule")
	}
	rate := c.Sample.String()
	if steps := c.Ramp.Steps; len(steps) > 0 {
		rate = fmt.Sprintf("from %s to %s", steps[0], steps[len(steps)-1])
	}
	who := "clients"
	if c.Mode == modeSink {
		who = "mirrors"
	}
	return fmt.Sprintf("%s on %s, primary %s, secondary %s, candidate %s, sample %s, %s, dashboard on %s, db %s",
		who, c.Listen, c.Primary, cmp.Or(c.Secondary, "none"), cmp.Or(c.Candidate, "none"),
		rate, rules, c.Web.Listen, c.Store.Path)
}

// warnings says what is allowed and makes the comparison, or a connection, less than it seems. Roles that are treated
// differently are the proxy's to tell where one runs, and unfair's elsewhere.
func (c config) warnings() []string {
	var all []string
	switch {
	case c.Candidate == "" && c.Mode == modeSink:
		all = append(all, "no candidate: what is mirrored is taken, and nothing is asked")
	case c.Candidate == "":
		all = append(all, "no candidate: a plain proxy, nothing is shadowed")
	case c.Secondary == "":
		all = append(all, "no secondary: noise counts against the candidate, and the verdict is never equivalent")
	}
	all = append(all, c.calibrating()...)
	all = append(all, c.indistinct()...)
	return append(append(all, c.unwatched()...), c.unverified()...)
}

// unfair says that roles are treated differently.
func (c config) unfair() []string {
	if c.Candidate == "" || c.Secondary == "" || !c.Shadow.Unfair() {
		return nil
	}
	return []string{"candidate and secondary are treated differently: no fair pair"}
}

// indistinct says whose address the candidate has, where no host and no header of its own leads elsewhere.
func (c config) indistinct() (all []string) {
	if c.Candidate == "" || c.Calibrate {
		return nil
	}
	for _, own := range []multicast.RoleConfig{c.Shadow.Candidate, c.Shadow.Secondary} {
		if own.Host != nil || len(own.SetHeaders) > 0 {
			return nil
		}
	}
	for _, other := range []struct{ role, address string }{{"primary", c.Primary}, {"secondary", c.Secondary}} {
		if strings.TrimRight(other.address, "/") == strings.TrimRight(c.Candidate, "/") {
			all = append(all, "the candidate has the address of the "+other.role+": the same code is asked, and the verdict says nothing of another")
		}
	}
	return all
}

// unwatched says what of the ramp is not as it may seem.
func (c config) unwatched() (all []string) {
	if len(c.Ramp.Steps) == 0 {
		return nil
	}
	if !c.Guard.Watches() {
		all = append(all, "no limit of guard is set: the ramp rises and nothing watches")
	}
	if c.Sample != multicast.DefaultConfig().Sample {
		all = append(all, "sample is not used: the ramp sets the rate")
	}
	return all
}

// unverified names the peers that may be anybody.
func (c config) unverified() (all []string) {
	for _, tls := range []struct {
		role string
		skip bool
	}{
		{"primary", c.Upstream.TLS.InsecureSkipVerify},
		{"secondary", c.Shadow.Secondary.TLS.InsecureSkipVerify},
		{"candidate", c.Shadow.Candidate.TLS.InsecureSkipVerify},
	} {
		if tls.skip {
			all = append(all, "the certificate of the "+tls.role+" is not verified: insecure_skip_verify is set")
		}
	}
	return all
}
