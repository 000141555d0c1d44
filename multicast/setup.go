package multicast

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"time"
)

// setup is one configuration, compiled, and not changed after. A request keeps the one that was in force when it came, so
// that a new one touches nothing that is under way.
type setup struct {
	cfg         Config
	certificate *tls.Certificate // shown to clients; nil: they are served without TLS
	primary     target
	front       *httputil.ReverseProxy
	upstream    *http.Transport // to the primary
	trusted     []netip.Prefix
	sampleBy    sampleKey
	routes      []*route
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
	s.compileRoutes()
	if err := s.connect(before); err != nil {
		return nil, err
	}
	s.front = p.newFront(s.upstream)
	return s, p.connectShadows(s)
}

// connect readies the way to the primary.
func (s *setup) connect(before *setup) (err error) {
	same := before != nil && before.cfg.Primary == s.cfg.Primary && before.cfg.Upstream == s.cfg.Upstream
	if same && s.cfg.Upstream.TLS == (TLSConfig{}) { // the files may have changed
		s.upstream = before.upstream
		return nil
	}
	s.upstream, err = primaryTransport(s.cfg.Upstream, s.primary)
	return err
}

// connectShadows readies the ways to the shadows; without a candidate there is none.
func (p *Proxy) connectShadows(s *setup) error {
	if s.cfg.Candidate == "" {
		return nil
	}
	longest := s.longest()
	for _, role := range [...]Role{Secondary, Candidate} {
		address := s.cfg.address(role)
		if address == "" {
			continue
		}
		shadow, err := newShadow(&s.cfg, role, address, longest)
		if err != nil {
			return err
		}
		shadow.buffers, shadow.complain = p.buffers, &throttle{log: p.log}
		s.shadows[role] = shadow
		s.roles = append(s.roles, role)
	}
	return nil
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
		s.upstream.CloseIdleConnections()
	}
	for _, role := range s.roles {
		s.shadows[role].transport.CloseIdleConnections()
	}
}

// Reconfigure puts another configuration in force for the requests that come from now on; those under way end as they
// began. The switch stays as it is, and so does a rate that SetShadowing has set. It fails, and changes nothing, with all
// faults of the configuration, joined. Listen and Server are read when the process starts and are not looked at.
func (p *Proxy) Reconfigure(cfg Config) error {
	if faults := cfg.Validate(); len(faults) > 0 {
		return fmt.Errorf("configuration: %w", errors.Join(faults...))
	}
	p.change.Lock()
	defer p.change.Unlock()
	before := p.setup.Load()
	next, err := p.newSetup(cfg, before)
	if err != nil {
		return err
	}
	p.put(next)
	before.close(next)
	return nil
}

// put puts a setup in force. The caller holds change, or is New.
func (p *Proxy) put(s *setup) {
	p.memory.limit.Store(int64(s.cfg.Shadow.Memory))
	p.dispatcher.resize(&s.cfg.Shadow, s.roles)
	p.setup.Store(s)
	now := *p.shadowing.Load()
	now.possible = len(s.roles) > 0
	if !now.set {
		now.Sample = s.cfg.Sample
	}
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
