//go:build linux

package multicast

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// However a tunnel ends, no descriptor and no half-closed connection of the proxy stays.
func TestTunnelsLeaveNothing(t *testing.T) {
	for name, end := range map[string]func(s *stage, client, primary *wire){
		"the client ends, the primary closes": func(_ *stage, client, primary *wire) {
			closeWrite(t, client)
			primary.gone()
			_ = primary.Close()
			client.gone()
			_ = client.Close()
		},
		"the primary ends, the client closes": func(_ *stage, client, primary *wire) {
			closeWrite(t, primary)
			client.gone()
			_ = client.Close()
			primary.gone()
			_ = primary.Close()
		},
		"both end": func(_ *stage, client, primary *wire) {
			closeWrite(t, primary)
			closeWrite(t, client)
			client.gone()
			primary.gone()
			_ = client.Close()
			_ = primary.Close()
		},
		"the client is lost": func(_ *stage, client, primary *wire) {
			client.reset()
			primary.gone()
			_ = primary.Close()
		},
		"the primary is lost": func(_ *stage, client, primary *wire) {
			primary.reset()
			client.gone()
			_ = client.Close()
		},
		"the client is lost after the primary ended": func(_ *stage, client, primary *wire) {
			closeWrite(t, primary)
			client.gone()
			client.reset()
			primary.gone()
			_ = primary.Close()
		},
		"the proxy ends": func(s *stage, client, primary *wire) {
			s.cancel()
			client.gone()
			primary.gone()
			_ = client.Close()
			_ = primary.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			address, conns, _ := switching(t, switched)
			s := newRawStage(t, address, "http://127.0.0.1:1", "http://127.0.0.1:1", nil)
			base := s.resources()
			client := s.upgrade("")
			client.head()
			end(s, client, <-conns)
			s.eventually("the tunnel is gone", func() bool { return s.tunnels() == 0 })
			s.eventually("its descriptors are closed", func() bool { return s.resources().descriptors <= base.descriptors })
			s.eventually("no connection is half closed", func() bool { return len(halfClosed(t, s.addr, strings.TrimPrefix(address, "http://"))) == 0 })
		})
	}
}

// halfClosed lists the connections from or to these addresses that have sent their end and wait for the other's.
func halfClosed(t *testing.T, addresses ...string) (lines []string) {
	t.Helper()
	table, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(table)) {
		fields := strings.Fields(line)
		if len(fields) < 4 || fields[3] != "05" { // FIN_WAIT2
			continue
		}
		for _, address := range addresses {
			_, port, _ := strings.Cut(address, ":")
			var n int
			_, _ = fmt.Sscan(port, &n)
			if end := fmt.Sprintf(":%04X", n); strings.HasSuffix(fields[1], end) || strings.HasSuffix(fields[2], end) {
				lines = append(lines, line)
			}
		}
	}
	return lines
}
