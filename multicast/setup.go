package multicast

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"reflect"
	"slices"
	"time"
)

// setup is one configuration, compiled, and not changed after. A request keeps the one that was in force when it came, so
// that a new one touches nothing that is under way.
type setup struct {
	cfg         Config
	certificate *tls.Certificate // shown to clients; nil: they are served without TLS
	primary     target
	upstream    *http.Transport // to the primary
	switching   *http.Transport // to the primary, for what may become a tunnel
	trusted     []netip.Prefix
	sampleBy    sampleKey
	lineage     []string // canonical
	routes      []*route
	excludes    bool   // some of them are never shadowed
	rest        *route // for what no route matches
	shadows     [3]*shadow
	roles       []Role  // the shadows that there are
	deliver     Deliver // nil: Deps.Deliver is asked
}

// newSetup compiles a valid configuration; it opens no connection. It fails where the primary's name turns out to be the
// proxy's own, and where a file of TLS cannot be read. What has not changed since the setup before (nil: there was none)
// is taken over from it, its connections too.
func (p *Proxy) newSetup(cfg Config, before *setup) (s *setup, err error) {
	s = &setup{cfg: cfg}
	if s.certificate, err = cfg.TLS.load(); err != nil {
		return nil, err
	}
	s.primary, _ = parseTarget(cfg.Primary) // checked by Validate, as all that follows
	if ownAddress(cfg.Listen, s.primary, lookUp) {
		return nil, fmt.Errorf("primary: "+ownPrimary, cfg.Listen)
	}
	for _, peer := range cfg.TrustedProxies {
		network, _ := parseNetwork(peer)
		s.trusted = append(s.trusted, network)
	}
	s.sampleBy, _ = parseSampleKey(cfg.SampleBy)
	for _, name := range cfg.Lineage {
		s.lineage = append(s.lineage, http.CanonicalHeaderKey(name))
	}
	s.compileRoutes()
	if err := p.connect(s, before); err != nil {
		return nil, err
	}
	if before != nil {
		s.goOn(before)
	}
	return s, p.connectShadows(s, before)
}

// goOn takes over what counts from one setup to the next.
func (s *setup) goOn(before *setup) {
	s.deliver = before.deliver
	s.rest.sampler = before.rest.sampler
	for i, rt := range s.routes {
		same := func(b RouteConfig) bool { return b.Match == s.cfg.Routes[i].Match }
		if was := slices.IndexFunc(before.cfg.Routes, same); was >= 0 {
			rt.sampler = before.routes[was].sampler
		}
	}
}

// connect readies the way to the primary.
func (p *Proxy) connect(s, before *setup) (err error) {
	same := before != nil && before.cfg.Primary == s.cfg.Primary && before.cfg.Upstream == s.cfg.Upstream
	if same && s.cfg.Upstream.TLS == (TLSConfig{}) { // the files may have changed
		s.upstream, s.switching = before.upstream, before.switching
		return nil
	}
	if s.upstream, err = primaryTransport(s.cfg.Upstream, s.primary, &p.descriptors, p.holdBack); err != nil {
		return err
	}
	s.switching = s.upstream
	if s.primary.scheme == "https" { // where HTTP/2 may be agreed on, which knows no upgrade
		plain := s.primary
		plain.http1 = true
		s.switching, err = primaryTransport(s.cfg.Upstream, plain, &p.descriptors, p.holdBack)
	}
	return err
}

// connectShadows readies the ways to the shadows; without a candidate there is none.
func (p *Proxy) connectShadows(s, before *setup) error {
	if s.cfg.Candidate == "" {
		return nil
	}
	longest := s.longest()
	for _, role := range [...]Role{Secondary, Candidate} {
		address := s.cfg.address(role)
		if address == "" {
			continue
		}
		s.roles = append(s.roles, role)
		if s.sameShadow(role, longest, before) {
			s.shadows[role] = before.shadows[role]
			continue
		}
		shadow, err := newShadow(&s.cfg, role, address, longest)
		if err != nil {
			return err
		}
		shadow.buffers, shadow.descriptors, shadow.complain = p.buffers, &p.descriptors, &throttle{log: p.log}
		s.shadows[role] = shadow
	}
	return nil
}

// sameShadow reports whether a shadow is asked as before. Files of TLS may have changed under their names.
func (s *setup) sameShadow(role Role, longest time.Duration, before *setup) bool {
	return before != nil && before.shadows[role] != nil && s.cfg.address(role) == before.cfg.address(role) &&
		longest == before.longest() && s.cfg.Shadow.role(role).TLS == (TLSConfig{}) &&
		reflect.DeepEqual(s.cfg.Shadow, before.cfg.Shadow)
}

// longest is the most that any shadow is given on any route.
func (s *setup) longest() time.Duration {
	longest := s.rest.longest()
	for _, rt := range s.routes {
		longest = max(longest, rt.longest())
	}
	return longest
}

// close lets go of what the next setup (nil: there is none) does not use. What is under way ends as it would.
func (s *setup) close(next *setup) {
	if next == nil || next.upstream != s.upstream {
		s.closeIdle()
	}
	for _, role := range s.roles {
		if next == nil || next.shadows[role] != s.shadows[role] {
			s.shadows[role].close()
		}
	}
}

// closeIdle closes the connections to the primary that are kept for the next request.
func (s *setup) closeIdle() {
	s.upstream.CloseIdleConnections()
	s.switching.CloseIdleConnections()
}

// Reconfigure puts another configuration in force for the requests that come from now on; those under way end as they
// began, on the connections that they have. When all of it is ready, begin is asked where the exchanges of these requests
// go: nil goes on as before. The switch stays as it is, and so does a rate that SetShadowing has set. Files of TLS are read
// again.
//
// It fails, and changes nothing, with all faults of the configuration, joined, and with the error of begin. Listen, Server
// and whether clients come over TLS are read when the process starts, and not looked at.
func (p *Proxy) Reconfigure(cfg Config, begin func() (Deliver, error)) error {
	if faults := cfg.Validate(); len(faults) > 0 {
		return fmt.Errorf("configuration: %w", errors.Join(faults...))
	}
	p.reconfigure.Lock() // and not p.change, since the switch must not wait for files or names
	defer p.reconfigure.Unlock()
	before := p.setup.Load()
	next, err := p.newSetup(cfg, before)
	if err == nil && begin != nil {
		next.deliver, err = begin()
	}
	if err != nil {
		return err
	}
	p.change.Lock()
	p.put(next)
	p.change.Unlock()
	before.close(next)
	return nil
}

// put puts a setup in force. The caller holds change, or is New.
func (p *Proxy) put(s *setup) {
	p.memory.limit.Store(int64(s.cfg.Shadow.Memory))
	p.recordings.memory.limit.Store(int64(s.cfg.Record.Memory))
	p.descriptors.limit.Store(OpenFiles())
	p.dispatcher.resize(&s.cfg.Shadow, s.roles, p.rooms(s))
	now := *p.shadowing.Load()
	now.possible = len(s.roles) > 0
	p.retread(&now, p.setup.Swap(s), &s.cfg)
	now.rate(&s.cfg)
	p.shadowing.Store(&now)
	if len(s.roles) == 2 && s.cfg.Shadow.Unfair() {
		p.log.Warn("candidate and secondary are treated differently: no fair pair")
	}
}

// receiver is who gets the exchange of a request that came under this setup.
func (p *Proxy) receiver(s *setup) Deliver {
	switch {
	case s.deliver != nil:
		return s.deliver
	case p.deps.Deliver != nil:
		return p.deps.Deliver()
	}
	return nil
}
