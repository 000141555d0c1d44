package multicast

import (
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// descriptors keeps the shadows from the file descriptors that clients and the primary need, clients from those that the primary
// needs to answer them, and all from the last ones, for the pages and the database. Both roles together have a quarter of them
// at most, and none is opened for a shadow while half are in use: a new one has the lowest number that is free, so its number
// tells.
type descriptors struct {
	limit atomic.Int64 // most that the process may have; 0: nobody knows
}

// For shadows, clients and the primary: from which number on they are to have none.
func (d *descriptors) forShadows() int64 { return d.limit.Load() / 2 }
func (d *descriptors) forClients() int64 { return d.limit.Load() - 2*d.reserve() }
func (d *descriptors) forPrimary() int64 { return d.limit.Load() - d.reserve() }

func (d *descriptors) reserve() int64 { return min(d.limit.Load()/16, 64) }

// holdback is how long no shadow is asked after descriptors were scarce.
const holdback = 5 * time.Second

var errDescriptors = errors.New("no file descriptor to spare")

// control is for a net.Dialer: it ends a connection to a shadow before it is begun.
func (d *descriptors) control(_, _ string, c syscall.RawConn) error { return spare(c, d.forShadows()) }

// controlPrimary is the same for one to the primary.
func (d *descriptors) controlPrimary(_, _ string, c syscall.RawConn) error {
	return spare(c, d.forPrimary())
}

func spare(c syscall.RawConn, from int64) error {
	if scarceAt(c, from) {
		return errDescriptors
	}
	return nil
}

// scarceAt reports whether a descriptor has that number or a higher one. Number 0 is none.
func scarceAt(c syscall.RawConn, from int64) bool {
	high := false
	if from <= 0 {
		return false
	}
	err := c.Control(func(fd uintptr) { high = uint64(fd) >= uint64(from) })
	return err == nil && high
}

// rawConn is the descriptor of a client's connection; nil if it has none.
func rawConn(conn net.Conn) syscall.RawConn {
	if wrapped, ok := conn.(*tls.Conn); ok {
		conn = wrapped.NetConn()
	}
	if own, ok := conn.(syscall.Conn); ok {
		if c, err := own.SyscallConn(); err == nil {
			return c
		}
	}
	return nil
}

// share lowers the rooms of the roles, in proportion, to what they may have of so many descriptors, but not below one.
func (d *descriptors) share(rooms [3]int) [3]int {
	total, most := 0, int(d.limit.Load()/4)
	for _, room := range rooms {
		total += room
	}
	if most == 0 || total <= most {
		return rooms
	}
	for role, room := range rooms {
		if room > 0 {
			rooms[role] = max(1, room*most/total)
		}
	}
	return rooms
}

// scarce reports whether an error says that no descriptor was left, or none for a shadow.
func scarce(err error) bool {
	var dns *net.DNSError // which keeps the text alone
	return errors.Is(err, errDescriptors) || errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) ||
		errors.As(err, &dns) && outOfFiles(dns.Err)
}

// outOfFiles is for what has no error to ask.
func outOfFiles(text string) bool {
	return strings.Contains(text, syscall.EMFILE.Error()) || strings.Contains(text, syscall.ENFILE.Error())
}

// accepted is told of the clients' new connections.
func (p *Proxy) accepted(conn net.Conn) {
	if c := rawConn(conn); c != nil && scarceAt(c, p.descriptors.forShadows()) {
		p.holdBack()
	}
}

// holdBack has the shadows give back what they hold, and asks none for a while.
func (p *Proxy) holdBack() {
	if !p.dispatcher.hold(time.Now()) {
		return
	}
	s := p.setup.Load()
	for _, role := range s.roles {
		s.shadows[role].way.forget()
	}
	p.log.Warn("shadows held back: clients and the primary need the file descriptors; raise the limit (ulimit -n, LimitNOFILE)",
		slog.Int64("limit", p.descriptors.limit.Load()), slog.Duration("duration", holdback))
}

// hold drops what waits, cancels what is in flight, and lets nothing be asked for a while. It answers false if that was
// so already.
func (d *dispatcher) hold(now time.Time) bool {
	d.mu.Lock()
	already := now.Before(d.held)
	d.held = now.Add(holdback)
	d.dropWaiting(ReasonQueue)
	d.mu.Unlock()
	if already {
		return false
	}
	d.failAll(ReasonQueue)
	return true
}

// rooms is how many requests each role may have in flight: what is configured, as far as the descriptors go.
func (p *Proxy) rooms(s *setup) [3]int {
	var configured [3]int
	for _, role := range s.roles {
		configured[role] = s.cfg.Shadow.concurrency(role)
	}
	rooms := p.descriptors.share(configured)
	if !slices.Equal(rooms[:], configured[:]) {
		p.log.Warn("shadow.concurrency is lowered: both roles have a quarter of the file descriptors at most; raise the limit (ulimit -n, LimitNOFILE)",
			slog.Int64("limit", p.descriptors.limit.Load()), slog.Any("configured", configured[1:]), slog.Any("concurrency", rooms[1:]))
	}
	return rooms
}
