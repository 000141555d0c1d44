package multicast

import (
	"maps"
	"slices"
	"time"
)

// Config is how the proxy serves, samples and shadows. Its keys stand at the top level of the configuration file.
type Config struct {
	Listen         string         `yaml:"listen"`          // client traffic
	TLS            ListenerTLS    `yaml:"tls"`             // of client traffic
	Primary        string         `yaml:"primary"`         // URL: scheme, host, port and a base path; required
	Secondary      string         `yaml:"secondary"`       // empty: no control
	Candidate      string         `yaml:"candidate"`       // empty: a plain proxy
	Sample         Share          `yaml:"sample"`          // share of the eligible requests
	SampleBy       string         `yaml:"sample_by"`       // header.NAME, cookie.NAME or client_ip; empty: counted
	Methods        []string       `yaml:"methods"`         // what may be shadowed; all else is only proxied
	Dispatch       string         `yaml:"dispatch"`        // "head" or "start"
	Upstream       UpstreamConfig `yaml:"upstream"`        // how the primary is spoken to
	Server         ServerConfig   `yaml:"server"`          // how clients are listened to
	TrustedProxies []string       `yaml:"trusted_proxies"` // addresses and networks whose forwarding headers are kept
	RouteHeader    string         `yaml:"route_header"`    // a request header that names the route; empty: none
	Lineage        []string       `yaml:"lineage"`         // response headers that tell the data; who tells others is not compared
	Shadow         ShadowConfig   `yaml:"shadow"`          // how the shadows are asked
	Routes         []RouteConfig  `yaml:"routes"`          // first match wins
	Guard          GuardConfig    `yaml:"guard"`           // beyond these limits shadowing pauses
	Ramp           RampConfig     `yaml:"ramp"`            // steps by which Sample rises
	Record         RecordConfig   `yaml:"record"`          // what is kept of the traffic, to be replayed
}

// The values of Dispatch.
const (
	DispatchHead  = "head"  // when the primary's response head is in
	DispatchStart = "start" // when the request body is whole
)

// UpstreamConfig is how the primary is spoken to.
type UpstreamConfig struct {
	DialTimeout time.Duration `yaml:"dial_timeout"`
	HeadTimeout time.Duration `yaml:"head_timeout"` // over it the client gets 504; 0: none
	IdleTimeout time.Duration `yaml:"idle_timeout"` // of kept connections
	TLS         TLSConfig     `yaml:"tls"`
}

// TLSConfig is how a certificate is checked and which one is shown. The three files are PEM.
type TLSConfig struct {
	CA                 string `yaml:"ca"`          // instead of the system's roots
	Cert               string `yaml:"cert"`        // with Key: the certificate shown to the server
	Key                string `yaml:"key"`         //
	ServerName         string `yaml:"server_name"` // instead of the address's host
	InsecureSkipVerify bool   `yaml:"insecure_skip_verify"`
}

// ServerConfig is how clients are listened to.
type ServerConfig struct {
	ReadHeaderTimeout time.Duration `yaml:"read_header_timeout"`
	IdleTimeout       time.Duration `yaml:"idle_timeout"`   // of a connection between two requests
	TunnelTimeout     time.Duration `yaml:"tunnel_timeout"` // of a tunnel in which neither side sends; 0: none
	MaxHeader         Size          `yaml:"max_header"`
	Drain             time.Duration `yaml:"drain"` // what is under way may take so long to end at shutdown
}

// ShadowConfig is how the shadows are asked, and what that may cost.
type ShadowConfig struct {
	Timeout         time.Duration     `yaml:"timeout"`           // from asking: dial, head and body
	Concurrency     int               `yaml:"concurrency"`       // requests in flight per role
	Queue           int               `yaml:"queue"`             // waiting exchanges; 0: none waits
	MaxRequestBody  Size              `yaml:"max_request_body"`  // 0: only requests without a body
	MaxResponseBody Size              `yaml:"max_response_body"` // over it: compared by length and hash
	Memory          Size              `yaml:"memory"`            // all captured bytes together
	Host            string            `yaml:"host"`              // "keep", "target" or a fixed value
	SetHeaders      map[string]string `yaml:"set_headers"`
	RemoveHeaders   []string          `yaml:"remove_headers"`
	Candidate       RoleConfig        `yaml:"candidate"`
	Secondary       RoleConfig        `yaml:"secondary"`
}

// The values of ShadowConfig.Host that are no fixed value.
const (
	HostKeep   = "keep"   // the client's
	HostTarget = "target" // the shadow's own
)

// RoleConfig changes ShadowConfig for one role. What is left out is as for both; headers to set and to remove are added
// to those of both, and where a name is in both lists to set, the role's value wins.
type RoleConfig struct {
	Timeout       *time.Duration    `yaml:"timeout"`
	Concurrency   *int              `yaml:"concurrency"`
	Host          *string           `yaml:"host"`
	SetHeaders    map[string]string `yaml:"set_headers"`
	RemoveHeaders []string          `yaml:"remove_headers"`
	TLS           TLSConfig         `yaml:"tls"`
}

// RouteConfig changes the configuration for the requests that match. What is left out is as for all.
type RouteConfig struct {
	Match           string         `yaml:"match"` // [METHOD] [host]/path; {x} is one segment, a last /* the rest
	Name            string         `yaml:"name"`  // how pages call it; empty: Match
	Sample          *Share         `yaml:"sample"`
	Shadow          *bool          `yaml:"shadow"`  // false: never; true: the method in Match may be shadowed, whatever it is
	Methods         []string       `yaml:"methods"` // instead of the general ones
	Timeout         *time.Duration `yaml:"timeout"` // of both shadows, also where a role has its own
	MaxRequestBody  *Size          `yaml:"max_request_body"`
	MaxResponseBody *Size          `yaml:"max_response_body"`
	Streams         bool           `yaml:"streams"` // also event streams, gRPC and the like, which may have no end
}

// DefaultConfig is the configuration of which only the addresses are missing.
func DefaultConfig() Config {
	return Config{
		Listen:   ":8880",
		Sample:   Whole,
		Methods:  []string{"GET", "HEAD"},
		Dispatch: DispatchHead,
		Upstream: UpstreamConfig{DialTimeout: 10 * time.Second, IdleTimeout: 90 * time.Second},
		Server: ServerConfig{
			ReadHeaderTimeout: 10 * time.Second,
			IdleTimeout:       120 * time.Second,
			TunnelTimeout:     time.Hour,
			MaxHeader:         1 * MiB,
			Drain:             10 * time.Second,
		},
		Shadow: ShadowConfig{
			Timeout:         5 * time.Second,
			Concurrency:     64,
			Queue:           256,
			MaxRequestBody:  256 * KiB,
			MaxResponseBody: 1 * MiB,
			Memory:          64 * MiB,
			Host:            HostKeep,
		},
		Ramp:   RampConfig{Hold: 10 * time.Minute},
		Record: defaultRecordConfig(),
	}
}

// address is where a role listens; empty where there is none.
func (c *Config) address(role Role) string {
	return [...]string{c.Primary, c.Secondary, c.Candidate}[role]
}

// role returns what the configuration adds for one shadow.
func (c *ShadowConfig) role(r Role) *RoleConfig {
	if r == Candidate {
		return &c.Candidate
	}
	return &c.Secondary
}

func (c *ShadowConfig) concurrency(role Role) int {
	if own := c.role(role).Concurrency; own != nil {
		return *own
	}
	return c.Concurrency
}

func (c *ShadowConfig) timeout(role Role) time.Duration {
	if own := c.role(role).Timeout; own != nil {
		return *own
	}
	return c.Timeout
}

// Unfair reports whether the two shadows are treated differently, so that what differs between them may be of the
// set-up's making.
func (c *ShadowConfig) Unfair() bool {
	a, b := c.Candidate, c.Secondary
	host := func(r RoleConfig) string {
		if r.Host != nil {
			return *r.Host
		}
		return c.Host
	}
	return c.timeout(Candidate) != c.timeout(Secondary) || c.concurrency(Candidate) != c.concurrency(Secondary) ||
		host(a) != host(b) || !maps.Equal(a.SetHeaders, b.SetHeaders) || !slices.Equal(a.RemoveHeaders, b.RemoveHeaders)
}
