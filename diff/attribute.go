package diff

import (
	"strconv"
	"strings"

	"shadowdiff/multicast"
)

// AttributeKind says what of a request, or of the primary's answer to it, an attribute is.
type AttributeKind uint8

// The numbers of the kinds are on the disk.
const (
	AttributeMethod       AttributeKind = iota
	AttributeHost                       // of the request
	AttributeStatus                     // of the primary's answer
	AttributeType                       // the media type of the primary's answer
	AttributeRequestSize                // a class of the request's body
	AttributeResponseSize               // a class of the primary's body
	AttributeClient                     // what kind of program the User-Agent names
	AttributeHeader                     // of the request
	AttributeQuery                      // a parameter
	AttributePath                       // a segment of the path

	attributeKinds
)

const (
	attributesKept  = 32 // of a route: the fixed ones, then what its requests bring
	attributeValues = 16 // of one attribute; what else there is counts together
	queryAttributes = 14
	attributeText   = 120 // bytes of a value that are kept

	markAbsent = 0
	markOther  = attributeValues + 1
	marks      = attributeValues + 2
)

// Attribute is one property of requests, with its values: 16 at most, the first ones there were, or of a parameter and a
// segment of the path those that tell most.
type Attribute struct {
	Kind   AttributeKind
	Name   string   // of a header, in lower case, or of a parameter; of a segment its place in the path, from 1
	Values []string // cut after 120 bytes
	Many   bool     // it has too many values to tell apart, or values that are not kept: Values has none, all count as other
	From   int64    // requests compared on the route before the attribute was known

	raw     string // as requests have the name
	closed  bool   // no more values are taken in
	lengths []int  // of the values as sent, which are told apart by that where they are cut
	last    int    // place of the value before
	counts  [marks]int64

	place int         // of a segment
	crowd *crowdTable // how often there were values that are not told apart; nil: there were none, or it is not known
	early []int64     // of the values, how many requests are counted for each that may have had another
	turn  int         // the value that was replaced last
}

// String names an attribute as pages and the API do: `query.currency`, `header.x-tenant`, `status`.
func (a *Attribute) String() string {
	switch a.Kind {
	case AttributeHeader:
		return "header." + a.Name
	case AttributeQuery:
		return "query." + a.Name
	case AttributePath:
		return "path." + a.Name
	}
	return a.Kind.String()
}

// String is the kind's word.
func (k AttributeKind) String() string {
	if k >= attributeKinds {
		return "unknown"
	}
	return [...]string{
		"method", "host", "status", "response type", "request size", "response size", "client", "header", "query", "path",
	}[k]
}

// fixedAttributes are those that every route has, in their places.
func fixedAttributes() []Attribute {
	list := make([]Attribute, 0, attributesKept)
	for kind := AttributeMethod; kind < AttributeHeader; kind++ {
		list = append(list, Attribute{Kind: kind})
	}
	for _, name := range [...]string{"Accept", "Accept-Language", "Content-Type"} {
		list = append(list, Attribute{Kind: AttributeHeader, Name: strings.ToLower(name), raw: name})
	}
	return list
}

// mark finds a value's place: from 1 on, or markOther. New ones are taken in while there is room.
func (a *Attribute) mark(value string, admit func(a *Attribute, value string) (string, bool)) uint8 {
	if a.Many {
		return markOther
	}
	if a.last < len(a.Values) && a.is(a.last, value) {
		return uint8(a.last + 1)
	}
	for i := range a.Values {
		if a.is(i, value) {
			a.last = i
			return uint8(i + 1)
		}
	}
	if len(a.Values) >= attributeValues || a.closed {
		return markOther
	}
	shown, ok := admit(a, value)
	if !ok {
		return markOther
	}
	a.last = len(a.Values)
	a.Values = append(a.Values, shown)
	a.lengths = append(a.lengths, len(value))
	return uint8(a.last + 1)
}

func (a *Attribute) is(i int, value string) bool {
	if a.lengths[i] != len(value) {
		return false
	}
	kept := a.Values[i]
	return len(kept) <= len(value) && value[:len(kept)] == kept
}

// crowded tells whether the values that are told apart say too little of the whole.
func (a *Attribute) crowded() bool {
	if a.Many || len(a.Values) < attributeValues {
		return false
	}
	return a.counts[markOther] >= 64 && a.counts[markOther]*4 > a.present()
}

// present is how many requests had the attribute.
func (a *Attribute) present() (n int64) {
	for _, c := range a.counts[1:] {
		n += c
	}
	return n
}

// seen is how many requests were looked at.
func (a *Attribute) seen() int64 { return a.counts[markAbsent] + a.present() }

// gather has all values count as other.
func gather(counts *[marks]int64) {
	for m := 1; m < markOther; m++ {
		counts[markOther] += counts[m]
		counts[m] = 0
	}
}

// sizeClass is the class of a body's size.
func sizeClass(bytes int64) string {
	switch {
	case bytes <= 0:
		return "empty"
	case bytes <= 1<<10:
		return "up to 1 KiB"
	case bytes <= 10<<10:
		return "1 to 10 KiB"
	case bytes <= 100<<10:
		return "10 to 100 KiB"
	case bytes <= 1<<20:
		return "100 KiB to 1 MiB"
	}
	return "over 1 MiB"
}

// statuses are the texts of the usual codes, so that none is made for each request.
func statusText(code int) string {
	switch code {
	case 200:
		return "200"
	case 201:
		return "201"
	case 204:
		return "204"
	case 304:
		return "304"
	case 404:
		return "404"
	}
	return strconv.Itoa(code)
}

// clientKind is what kind of program a User-Agent names: a browser by its name, anything else by the first word.
func clientKind(agent string) string {
	family := ""
	switch {
	case strings.Contains(agent, "Edg"):
		family = "Edge"
	case strings.Contains(agent, "OPR/"):
		family = "Opera"
	case strings.Contains(agent, "Firefox/"), strings.Contains(agent, "FxiOS/"):
		family = "Firefox"
	case strings.Contains(agent, "HeadlessChrome/"):
		family = "HeadlessChrome"
	case strings.Contains(agent, "Chrome/"), strings.Contains(agent, "CriOS/"):
		family = "Chrome"
	case strings.Contains(agent, "Safari/"):
		family = "Safari"
	default:
		end := strings.IndexAny(agent, "/ ;(")
		if end < 0 {
			end = len(agent)
		}
		return agent[:min(end, 40)]
	}
	if strings.Contains(agent, "Mobile") {
		family += ", mobile"
	}
	return family
}

// mediaType is a Content-Type without its parameters.
func mediaType(line string) string {
	if i := strings.IndexByte(line, ';'); i >= 0 {
		line = line[:i]
	}
	return strings.TrimSpace(line)
}

// learntName tells whether a header may be an attribute by itself: not what holds secrets, names one request, or says how
// the connection is to be used.
func learntName(name string) bool {
	switch name {
	case "Accept", "Accept-Language", "Content-Type", "User-Agent", "Accept-Encoding", "Age", "Connection", "Content-Length",
		"Content-Encoding", "Date", "Expect", "Forwarded", "From", "Host", "If-Match", "If-Modified-Since", "If-None-Match",
		"If-Range", "If-Unmodified-Since", "Keep-Alive", "Max-Forwards", "Origin", "Priority", "Range", "Referer", "Te", "Trailer",
		"Traceparent", "Tracestate", "Baggage", "B3", "Transfer-Encoding", "Upgrade", "Upgrade-Insecure-Requests", "Via",
		"X-Real-Ip", "True-Client-Ip", "X-Client-Ip", "X-Cluster-Client-Ip", "X-Runtime", "X-Response-Time", "Digest":
		return false
	}
	for _, begin := range [...]string{"X-Forwarded-", "X-Shadow-", "X-B3-", "X-Amzn-", "Cf-", "X-Envoy-", "Sec-Fetch-", "X-Datadog-"} {
		if strings.HasPrefix(name, begin) {
			return false
		}
	}
	lower := strings.ToLower(name)
	for _, part := range [...]string{"request-id", "correlation", "trace", "idempotency", "span-id"} {
		if strings.Contains(lower, part) {
			return false
		}
	}
	return !secretName(lower)
}

// secretName tells whether what is called so may be a secret whatever the configuration redacts.
func secretName(name string) bool {
	name = strings.ToLower(name)
	for _, part := range [...]string{
		"auth", "token", "secret", "passw", "passwd", "pwd", "session", "cookie", "csrf", "xsrf", "signature", "credential",
		"jwt", "nonce", "apikey", "api-key", "api_key", "access-key", "access_key", "otp", "bearer", "private",
	} {
		if strings.Contains(name, part) {
			return true
		}
	}
	switch name {
	case "sig", "sid", "pin", "key", "code", "state", "email", "phone", "ssn":
		return true
	}
	return false
}

// header is the first line of a header; canonical is its name as net/http has it.
func header(h map[string][]string, canonical string) (string, bool) {
	lines := h[canonical]
	if len(lines) == 0 {
		return "", false
	}
	return lines[0], true
}

// primaryOf is the primary's answer.
func primaryOf(ex *multicast.Exchange) *multicast.Response { return ex.Response(multicast.Primary) }
