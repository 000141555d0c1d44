package web

import (
	"context"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// guesses slow down those who try tokens: each wrong one of an address is answered later than the one before. A right token
// waits for nothing, whoever else comes from its address.
type guesses struct {
	mu   sync.Mutex // guards what follows
	from map[netip.Prefix]guesser
	told time.Time // when the log was last told
}

// guesser is one address, or of IPv6 the network that one customer has.
type guesser struct {
	wrong int
	last  time.Time // when the last one came
}

const (
	freeGuesses  = 5 // wrong tokens that nobody waits for: people mistype
	firstWait    = 100 * time.Millisecond
	longestWait  = 5 * time.Second
	guessedFor   = 10 * time.Minute // without a wrong token, after which an address begins anew
	mostGuessers = 1024             // addresses that are remembered
)

// wrong notes a wrong token, and answers how long its answer is to wait.
func (g *guesses) wrong(addr netip.Addr, now time.Time) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.from == nil {
		g.from = map[netip.Prefix]guesser{}
	}
	network := networkOf(addr)
	who, known := g.from[network]
	if now.Sub(who.last) > guessedFor {
		who = guesser{}
	}
	if !known && len(g.from) >= mostGuessers {
		g.forgetOldest()
	}
	who.wrong, who.last = who.wrong+1, now
	g.from[network] = who
	wait := firstWait
	for n := freeGuesses + 1; n < who.wrong && wait < longestWait; n++ {
		wait *= 2
	}
	if who.wrong <= freeGuesses {
		return 0
	}
	return min(wait, longestWait)
}

// forgetOldest makes room for another. The caller holds mu.
func (g *guesses) forgetOldest() {
	var oldest netip.Prefix
	var at time.Time
	for network, who := range g.from {
		if at.IsZero() || who.last.Before(at) {
			oldest, at = network, who.last
		}
	}
	delete(g.from, oldest)
}

// news tells whether the log is to be told, which it is once a minute.
func (g *guesses) news(now time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if now.Sub(g.told) < time.Minute {
		return false
	}
	g.told = now
	return true
}

// networkOf is an address of IPv4, or the /64 of one of IPv6: who has one of these has all of them.
func networkOf(addr netip.Addr) netip.Prefix {
	addr = addr.Unmap().WithZone("")
	bits := addr.BitLen()
	if addr.Is6() {
		bits = 64
	}
	network, _ := addr.Prefix(bits) // the zero one of the zero Addr
	return network
}

// admits tells whether a request comes with the token, if there is one. Where it comes with a wrong one it takes its time
// to say so.
func (s *Server) admits(r *http.Request) bool {
	if s.knows(r) {
		return true
	}
	if offeredToken(r) == "" {
		return false // who offers none guesses none
	}
	s.deps.Metrics.wrongTokens.Inc()
	from, _ := netip.ParseAddrPort(r.RemoteAddr)
	now := time.Now()
	wait := s.guesses.wrong(from.Addr(), now)
	if wait > 0 && s.guesses.news(now) {
		s.deps.Log.Warn("wrong tokens are answered more and more slowly", "address", from.Addr().String())
	}
	s.hold(r.Context(), wait)
	return false
}

// hold waits, until the caller is gone or the server shuts down.
func (s *Server) hold(ctx context.Context, wait time.Duration) {
	if wait == 0 {
		return
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	case <-s.closing:
	}
}
