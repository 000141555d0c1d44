package multicast

import (
	"crypto/sha256"
	"net/http"
	"time"
)

// Role names one of the three instances that answer a request.
type Role uint8

const (
	Primary   Role = iota // serves the client
	Secondary             // the same known-good code; the control
	Candidate             // the code on trial
)

// String is the role's word in the configuration, the API and the metrics.
func (r Role) String() string { return [...]string{"primary", "secondary", "candidate"}[r] }

// Outcome says how one leg of an exchange ended; empty when the role was not asked.
type Outcome string

const (
	OutcomeOK        Outcome = "ok"
	OutcomeDial      Outcome = "dial"      // refused, no such name, no TLS
	OutcomeTimeout   Outcome = "timeout"   // not whole within shadow.timeout
	OutcomeReset     Outcome = "reset"     // the connection ended before the answer was whole
	OutcomeStale     Outcome = "stale"     // a reused connection ended before any byte of the answer
	OutcomeProtocol  Outcome = "protocol"  // not HTTP
	OutcomeOversize  Outcome = "oversize"  // over 64 times max_response_body
	OutcomeCancelled Outcome = "cancelled" // the switch went off, the process ends, or it stood still at the deadline
)

// Outcomes are all of them.
func Outcomes() []Outcome {
	return []Outcome{
		OutcomeOK, OutcomeDial, OutcomeTimeout, OutcomeReset, OutcomeStale, OutcomeProtocol, OutcomeOversize, OutcomeCancelled,
	}
}

// Exchange is one sampled request and its three responses. Deliver owns it until it returns, but reads its headers only;
// then the bodies' room is given to other exchanges, so whoever keeps bytes of them longer copies these: a build with the
// race detector overwrites the rest. Deliver may set Unknown, where an exchange turns out to be one that cannot be judged,
// and it is counted so.
type Exchange struct {
	ID        string      // X-Shadow-Id as the shadows saw it: 32 hex digits
	Time      time.Time   // when the request arrived
	Route     string      // name that the configuration or route_header gives; empty: named from the path
	Request   Request     // as the primary received it
	Responses [3]Response // by Role
	Unknown   Reason      // why it cannot be judged; empty when it can

	// Configured says that Route is the name of a configured route, of which there are only so many. Otherwise it is what
	// a client says in route_header.
	Configured bool

	account *account
}

// Response returns the answer of one role.
func (ex *Exchange) Response(r Role) *Response { return &ex.Responses[r] }

// Reserve takes n bytes from the memory budget, beside those captured, until the exchange has been delivered; it
// answers false when the budget is spent. Decoders call it before they inflate.
func (ex *Exchange) Reserve(n int64) bool { return ex.account == nil || ex.account.take(n) }

// Request is what the client asked, without hop-by-hop headers.
type Request struct {
	Method  string
	Target  string // path and query, byte for byte as received
	Host    string
	Header  http.Header
	Trailer http.Header
	Body    []byte // whole
}

// Response is one role's answer as far as it came.
type Response struct {
	Outcome  Outcome // the primary's is ok when its answer was whole, else reset
	Detail   string  // what failed, for people and without addresses; empty when ok
	Status   int     // 0 when no head came
	Header   http.Header
	Trailer  http.Header
	Body     []byte            // as sent, before any content coding is undone; nil when Over
	Size     int64             // bytes of the body as sent; where Outcome is oversize, what was read of them
	Over     bool              // longer than max_response_body: only Size and Hash are known
	Hash     [sha256.Size]byte // of the whole body; set when Over
	Duration time.Duration     // from asking to the end of the body
}

// Deliver takes one finished exchange, in the comparers' pool and never on the client's path. A panic in it loses that
// exchange alone, counted as unknown{panic}.
type Deliver func(*Exchange)
