package main

import (
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"shadowdiff/fixtures"
	"shadowdiff/multicast"
)

// shops are the three instances, each on a socket of its own.
type shops struct {
	servers   [3]*http.Server
	addresses [3]string
	serving   sync.WaitGroup
}

// shopName is what an instance calls itself.
func shopName(role multicast.Role) string {
	name, _ := fixtures.InstanceName(role.String()) // knows every role
	return name
}

func openShops(faults []fixtures.Fault) (*shops, error) {
	s := &shops{}
	for _, role := range []multicast.Role{multicast.Primary, multicast.Secondary, multicast.Candidate} {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			s.close()
			return nil, fmt.Errorf("listening for a shop: %w", err)
		}
		handler := fixtures.NewUpstream(shopName(role), nil)
		if role == multicast.Candidate {
			handler = fixtures.NewUpstream(shopName(role), faults)
		}
		s.addresses[role] = ln.Addr().String()
		s.servers[role] = &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
		s.serving.Go(func() { s.servers[role].Serve(ln) })
	}
	return s, nil
}

func (s *shops) url(role multicast.Role) string { return "http://" + s.addresses[role] }

func (s *shops) close() {
	for _, server := range s.servers {
		if server != nil {
			server.Close()
		}
	}
	s.serving.Wait()
}
