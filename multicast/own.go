package multicast

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// ownPrimary is the fault of a primary that is the proxy itself. No mark ends such a loop, since clients' requests carry
// none: one request would take every file descriptor.
const ownPrimary = "must not be the address listened on (%s): every request would come back"

// ownAddress reports whether a request to the target would arrive at the listener: the same port, at an address of this
// machine that is listened on. Names are looked up with look.
func ownAddress(listen string, t target, look func(name string) []netip.Addr) bool {
	host, port, err := net.SplitHostPort(listen)
	if err != nil || !samePort(port, t.port()) {
		return false
	}
	if strings.EqualFold(host, t.name()) {
		return true
	}
	listened := []netip.Addr{netip.IPv6Unspecified()}
	if host != "" {
		listened = addresses(host, look)
	}
	asked := addresses(t.name(), look)
	return slices.ContainsFunc(listened, func(ours netip.Addr) bool {
		return slices.ContainsFunc(asked, func(theirs netip.Addr) bool { return arrives(theirs, ours) })
	})
}

func samePort(a, b string) bool {
	x, errX := net.LookupPort("tcp", a)
	y, errY := net.LookupPort("tcp", b)
	return errX == nil && errY == nil && x == y && x != 0
}

// addresses are those that a host stands for, whether it is one or has a name.
func addresses(host string, look func(name string) []netip.Addr) []netip.Addr {
	if addr, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{addr.Unmap().WithZone("")}
	}
	return look(host)
}

// localhost looks up the one name that needs no asking.
func localhost(name string) []netip.Addr {
	if !strings.EqualFold(strings.TrimSuffix(name, "."), "localhost") {
		return nil
	}
	return []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.IPv6Loopback()}
}

// lookUp asks the system, for two seconds at most; what it does not know, it cannot be asked for either.
func lookUp(name string) []netip.Addr {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	found, _ := net.DefaultResolver.LookupNetIP(ctx, "ip", name)
	for i, addr := range found {
		found[i] = addr.Unmap().WithZone("")
	}
	return found
}

// arrives reports whether a connection to theirs is one to a listener on ours. To call the unspecified address is to
// call this machine.
func arrives(theirs, ours netip.Addr) bool {
	switch {
	case theirs.IsUnspecified():
		return ours.IsUnspecified() || ours.IsLoopback()
	case ours.IsUnspecified():
		return theirs.IsLoopback() || localAddress(theirs)
	}
	return theirs == ours
}

func localAddress(addr netip.Addr) bool {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return false
	}
	return slices.ContainsFunc(addrs, func(a net.Addr) bool {
		prefix, err := netip.ParsePrefix(a.String())
		return err == nil && prefix.Addr().Unmap() == addr
	})
}
