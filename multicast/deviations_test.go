package multicast

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/net/http/httpguts"
)

// deviation is one way in which the proxy is allowed to differ from a connection to the primary itself.
type deviation struct {
	name string
	says string // literally what docs/transparency.md says of it
	// What it allows, by changing what is wanted; nil where the comparison cannot see it.
	request func(c *comparison)       // in how a client's bytes are taken
	answer  func(c *answerComparison) // in how a primary's bytes are
	show    func(t *testing.T, d deviation)
}

// deviations are all that is allowed. Their order matters: what comes later sees what those before have allowed.
func deviations() []deviation {
	return slices.Concat(deviationsOfConnections(), deviationsOfUploads(), deviationsOfRequests(), deviationsOfAnswers())
}

func deviationsOfUploads() []deviation {
	return []deviation{
		{
			name: "client leaves",
			says: "A client that closes its side before it has its answer has left: the primary's work is cancelled, and nothing is answered.",
			request: func(c *comparison) {
				if s := c.interrupted(uploadGone); s != nil {
					c.allowInterrupted(0)
				}
			},
			show: showRequest("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nabc", mannerWhole, statuses, "200", ""),
		},
		{
			name: "broken body",
			says: "A request body that is none (a chunk without a size, say) is answered with 400 by the proxy, and cut off towards the primary.",
			request: func(c *comparison) {
				if s := c.interrupted(uploadBroken); s != nil {
					c.allowInterrupted(http.StatusBadRequest)
				}
			},
			show: showRequest("POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nzz\r\n", mannerWhole, statuses, "200", "400"),
		},
		{
			name:    "early answer",
			says:    "An answer that comes before the request body is whole ends an HTTP/1 connection: net/http cannot go on reading beside the primary's transport.",
			request: allowEarly,
			show:    showEarlyAnswer,
		},
	}
}

func deviationsOfConnections() []deviation {
	return []deviation{
		{
			name: "connect",
			says: "CONNECT is refused with 405: this is no forward proxy.",
			request: func(c *comparison) {
				c.allowRefused(http.StatusMethodNotAllowed, func(s seen) bool { return s.method == http.MethodConnect })
			},
			show: showRequest("CONNECT b:443 HTTP/1.1\r\nHost: b:443\r\n\r\n", mannerWhole, statuses, "200", "405"),
		},
		{
			name: "no request",
			says: "A method that is none, which HTTP/2 lets a client send, and a preface of HTTP/2 that breaks off are answered with 400.",
			request: func(c *comparison) {
				c.allowRefused(http.StatusBadRequest, func(s seen) bool { return s.method == "PRI" && s.proto == "2.0" })
			},
			show: func(t *testing.T, d deviation) {
				showRequest("PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n", mannerWhole, statuses, "200", "400")(t, d)
				showRefused(t, "G T", "/a", "a")
			},
		},
		{
			name:    "connections",
			says:    "The client's connection and the primary's are two: one ends or stays whatever the other does.",
			request: allowConnections,
			answer: func(c *answerComparison) {
				c.want.closes = false
			},
			show: showRequest("GET /a HTTP/1.1\r\nHost: a\r\n\r\n", mannerCloses, func(t talk) string { return fmt.Sprint(t.heard[0].closes) }, "true", "false"),
		},
	}
}

func deviationsOfRequests() []deviation {
	each := func(allow func(c *comparison, s *seen)) func(*comparison) {
		return func(c *comparison) {
			for i := range c.want.seen {
				allow(c, &c.want.seen[i])
			}
		}
	}
	get := func(headers ...string) string {
		return "GET /a HTTP/1.1\r\nHost: a\r\n" + lines(headers) + "\r\n"
	}
	header := func(name string) func(talk) string {
		return func(t talk) string { return strings.Join(t.seen[0].header[name], "|") }
	}
	target := func(t talk) string { return t.seen[0].target }
	host := func(t talk) string { return t.seen[0].host }
	return []deviation{
		{
			name: "hop by hop",
			says: "Headers of one connection stay on it: Connection and what it lists, Keep-Alive, Proxy-Authenticate, Proxy-Authorization, Proxy-Connection, TE but for trailers, " +
				"Trailer, Transfer-Encoding, Upgrade but for the protocols that a tunnel is for (not HTTP/2 or TLS), in requests and beside 426; and Proxy, which programs take for a setting.",
			request: each(allowHopByHop),
			answer: func(c *answerComparison) {
				demanded := carried(c.want.header["Upgrade"])
				endToEndOnly(c.want.header)
				if c.want.status == http.StatusUpgradeRequired && len(demanded) > 0 {
					c.want.header["Upgrade"] = []string{strings.Join(demanded, ", ")}
				}
				for _, before := range c.want.interim {
					endToEndOnly(before.header)
				}
			},
			show: showRequest(get("Connection: X-A, close", "X-A: 1", "Keep-Alive: 5"), mannerWhole, func(t talk) string {
				return header("X-A")(t) + header("Connection")(t) + header("Keep-Alive")(t)
			}, "1X-A, close5", ""),
		},
		{
			name: "expect over HTTP/2",
			says: "Of a request in HTTP/2, an Expect of 100-continue is not passed on: the client is told to send its body at once.",
			show: showExpectOverHTTP2,
		},
		{
			name:    "absolute form",
			says:    "The absolute form of a target, `GET http://host/path`, goes on as the path alone, as every server but a forward proxy understands it; `OPTIONS http://host`, without a path, goes on as `OPTIONS *`.",
			request: each(allowAbsoluteForm),
			show:    showRequest("GET http://a/b%2Fc?d HTTP/1.1\r\nHost: a\r\n\r\n", mannerWhole, target, "http://a/b%2Fc?d", "/b%2Fc?d"),
		},
		{
			name: "spaces",
			says: "A space in a target, which HTTP/2 lets a client send, goes on as %20.",
			show: showSpaces,
		},
		{
			name:    "two slashes",
			says:    "In a path that begins with two slashes, bytes that may not stand in a URL are percent-encoded; any other path goes on byte for byte.",
			request: each(allowTwoSlashes),
			show:    showRequest("GET //a\"b<> HTTP/1.1\r\nHost: a\r\n\r\n", mannerWhole, target, "//a\"b<>", "//a%22b%3C%3E"),
		},
		{
			name: "forwarded",
			says: "X-Forwarded-For, X-Forwarded-Host and X-Forwarded-Proto say who asked. What an untrusted client says of that itself, in any X-Forwarded-* header, " +
				"Forwarded or X-Real-IP, is replaced, and left out where it has underscores for dashes.",
			request: each(allowForwarded),
			show:    showRequest(get("X-Forwarded-Host: evil"), mannerWhole, header("X-Forwarded-Host"), "evil", "a"),
		},
		{
			name:    "no host",
			says:    "A request with an empty Host, or with none as HTTP/1.0 allows, goes on with that of the primary's address.",
			request: each(allowNoHost),
			show: func(t *testing.T, d deviation) {
				s := newScene(t, false)
				showIn(t, s, d, "GET /a HTTP/1.0\r\n\r\n", mannerWhole, host, "", s.upstream[Primary].addr)
			},
		},
		{
			name: "odd host",
			says: "A host that may not stand in a Host header is answered with 400 in the absolute form, too, and in HTTP/2.",
			request: func(c *comparison) {
				c.allowRefused(http.StatusBadRequest, func(s seen) bool { return !httpguts.ValidHostHeader(s.host) })
			},
			show: func(t *testing.T, d deviation) {
				showRequest("GET http://\"b\"/ HTTP/1.1\r\nHost: a\r\n\r\n", mannerWhole, statuses, "200", "400")(t, d)
				showRefused(t, "GET", "/a", "a b/c")
			},
		},
		{
			name: "pragma",
			says: "`Pragma: no-cache` without Cache-Control is joined by `Cache-Control: no-cache`, which says the same, in requests as in answers of HTTP/1.",
			show: showPragma,
		},
		{
			name: "zone",
			says: "The zone of an IPv6 address in Host (`[fe80::1%eth0]`) is left out.",
			request: each(func(c *comparison, s *seen) {
				if c.version == "1.1" {
					allowZone(c, s)
				}
			}),
			show: showRequest("GET http://[fe80::1%25en0]/ HTTP/1.1\r\nHost: a\r\n\r\n", mannerWhole, host, "[fe80::1%en0]", "[fe80::1]"),
		},
		{
			name: "version",
			says: "Whatever version of HTTP/1 the client speaks, the primary is asked in HTTP/1.1; what HTTP/1.0 does not know (Expect, upgrades, informational answers, chunks) is not for such a client.",
			request: func(c *comparison) {
				each(allowVersion)(c)
				for i := range c.want.heard {
					if c.want.heard[i].version == "1.0" {
						c.want.heard[i].interim = nil
					}
				}
			},
			show: showRequest("GET /a HTTP/1.0\r\nHost: a\r\n\r\n", mannerWhole, func(t talk) string { return t.seen[0].proto }, "1.0", "1.1"),
		},
		{
			name: "over HTTP/2",
			says: "Towards HTTP/2 a request has no upgrade, its Cookie lines become one, of its User-Agent lines the first goes on unless it is empty, only POST, PUT and PATCH " +
				"say Content-Length: 0, and trailers that were not announced are left out. Expect is the primary's own server's to answer, also where there is no body.",
			request: each(allowOverHTTP2),
			show: func(t *testing.T, d deviation) {
				showIn(t, newScene(t, true), d, get("Cookie: a=b", "Cookie: c=d"), mannerWhole, header("Cookie"), "a=b|c=d", "a=b; c=d")
			},
		},
		{
			name: "length",
			says: "Content-Length is written in its shortest form, and as 0 with a POST, PUT or PATCH that has no body.",
			request: each(func(_ *comparison, s *seen) {
				if n, err := strconv.ParseUint(s.header.Get("Content-Length"), 10, 63); err == nil {
					s.header["Content-Length"] = []string{strconv.FormatUint(n, 10)}
				}
				if s.framing == "none" && (s.method == "POST" || s.method == "PUT" || s.method == "PATCH") {
					s.framing, s.header["Content-Length"] = "length", []string{"0"}
				}
			}),
			show: showRequest("POST /a HTTP/1.1\r\nHost: a\r\n\r\n", mannerWhole, header("Content-Length"), "", "0"),
		},
		{
			name: "trailers",
			says: "Trailers that frame a message (Content-Length, Transfer-Encoding, Host and the like), or whose name is none, are left out, and of a request also those " +
				"that say what the proxy says itself (X-Forwarded-For and the like).",
			request: each(func(_ *comparison, s *seen) {
				allowTrailers(s.trailer)
				maps.DeleteFunc(s.trailer, func(name string, _ []string) bool { return !trailable(name) })
			}),
			answer: func(c *answerComparison) {
				allowTrailers(c.want.trailer)
				c.want.names = strings.Join(slices.DeleteFunc(strings.Split(c.want.names, ", "), func(name string) bool {
					return name != "" && !token(name) || framesMessage(name)
				}), ", ")
			},
			show: showRequest("POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-A: 1\r\nContent-Length: 9\r\n\r\n", mannerWhole,
				func(t talk) string { return fmt.Sprint(t.seen[0].trailer) }, "map[Content-Length:[9] X-A:[1]]", "map[X-A:[1]]"),
		},
		{
			name: "late trailers of a request",
			says: "Of a request in HTTP/2, trailers that were not announced are left out.",
			show: showTrailersOverHTTP2,
		},
		{
			name: "spelling",
			says: "Header names arrive in their usual spelling and in alphabetical order, the values of one name in the order in which they were sent.",
			show: showBytes("GET /a HTTP/1.1\r\nhost: a\r\nx-b: 2\r\nX-A: 1\r\nx-b: 1\r\n\r\n", "GET /a HTTP/1.1\r\nHost: a\r\nX-A: 1\r\nX-B: 2\r\nX-B: 1\r\n\r\n"),
		},
		{
			name: "rewritten framing",
			says: "A message is framed anew, so that no two readers can disagree about its end: of Content-Length beside chunked, chunked alone goes on; chunk sizes and extensions, " +
				"folded lines and bare line feeds are written as they should be.",
			show: showBytes("POST /a HTTP/1.1\nHost: a\r\nContent-Length: 4\r\nX-A: 1\r\n 2\r\nTransfer-Encoding: chunked\r\n\r\n03;ext=1\r\nabc\r\n0\r\n\r\n",
				"POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nX-A: 1 2\r\n\r\n3\r\nabc\r\n0\r\n\r\n"),
		},
	}
}

func deviationsOfAnswers() []deviation {
	framed := func(t heard) string { return t.framing + " " + t.body }
	return []deviation{
		{
			name: "not HTTP",
			says: "What the primary sends in place of an answer and is none (no status line, a status below 100 or above 999, lengths that contradict each other, a Transfer-Encoding that is not `chunked`, once, a line that is no header, a switch of protocols that nobody asked for, " +
				"nothing at all, the reset of a stream of HTTP/2) becomes 502, and no address is named.",
			answer: func(c *answerComparison) {
				if c.broken == nil && c.want.status >= 200 {
					return
				}
				c.want = heard{version: "1.1", status: http.StatusBadGateway, interim: c.got.interim, framing: "length", body: "bad gateway\n", header: c.got.header}
				if c.method == "HEAD" {
					c.want.framing, c.want.body = "none", ""
				}
			},
			show: showAnswer("HTTP/1.1 099 Odd\r\nContent-Length: 2\r\n\r\nok", func(t heard) string { return fmt.Sprint(t.status, " ", t.body) }, "99 ok", "502 bad gateway\n"),
		},
		{
			name: "reset code",
			says: "An answer over HTTP/2 that breaks off ends with the code INTERNAL_ERROR, whichever the primary gave.",
			show: showResetCode,
		},
		{
			name: "status line",
			says: "The status line has the client's version and the usual phrase of the status, not the primary's.",
			answer: func(c *answerComparison) {
				c.want.version = "1.1"
			},
			show: showAnswer("HTTP/1.0 200 Fine\r\nContent-Length: 2\r\n\r\nok", func(t heard) string { return t.version }, "1.0", "1.1"),
		},
		{
			name: "answer framing",
			says: "An answer whose end is the end of the connection reaches an HTTP/1.1 client in chunks, and a chunked one reaches an HTTP/1.0 client up to the end of the connection.",
			answer: func(c *answerComparison) {
				switch c.want.framing {
				case "close", "chunked":
					c.want.framing, c.want.header["Transfer-Encoding"] = "chunked", []string{"chunked"}
				}
			},
			show: showAnswer("HTTP/1.1 200 OK\r\n\r\nok", framed, "close ok", "chunked ok"),
		},
		{
			name: "length without body",
			says: "Content-Length is left out of informational answers, out of 204 unless it is 0, out of 304 where it is no number, and towards HTTP/2 out of both.",
			answer: func(c *answerComparison) {
				if length := c.want.header.Get("Content-Length"); c.want.status == 204 && length != "0" || c.want.status == 304 && !digits(length) {
					delete(c.want.header, "Content-Length")
				}
				for _, before := range c.want.interim {
					delete(before.header, "Content-Length")
				}
			},
			show: showAnswer("HTTP/1.1 204 No Content\r\nContent-Length: 50\r\n\r\n", func(t heard) string { return t.header.Get("Content-Length") }, "50", ""),
		},
		{
			name: "late trailers",
			says: "A client of HTTP/1.1 that asks for trailers (TE: trailers) gets the answers of an HTTP/2 primary in chunks, since trailers may follow; for any other " +
				"those beside a length are lost, unless they were announced.",
			request: allowChunksForTrailers,
			show:    func(t *testing.T, _ deviation) { showLateTrailers(t) },
		},
		{
			name: "trailers of HEAD",
			says: "Trailers of an answer to HEAD, which HTTP/2 alone has, are left out.",
			show: showTrailersOfHead,
		},
		{
			name: "header names",
			says: "An answer's header line whose name is none is left out.",
			answer: func(c *answerComparison) {
				for _, h := range c.headers() {
					maps.DeleteFunc(h, func(name string, _ []string) bool { return !token(name) })
				}
			},
			show: showAnswer("HTTP/1.1 200 OK\r\nX-A : 1\r\nContent-Length: 2\r\n\r\nok", func(t heard) string { return fmt.Sprint(t.header["X-A "]) }, "[1]", "[]"),
		},
	}
}

// interrupted returns the last request if its body ended so.
func (c *comparison) interrupted(how int32) *seen {
	last := len(c.want.seen) - 1
	if last < 0 || c.want.seen[last].cut != how {
		return nil
	}
	return &c.want.seen[last]
}

// allowInterrupted: the primary may see a part of the request, or nothing if the proxy was faster; the client gets this
// status, or nothing if it is 0, unless the primary's answer was faster, which ends the connection or is cut off.
func (c *comparison) allowInterrupted(status int) {
	last := len(c.want.seen) - 1
	want := c.want.seen[last]
	c.want.seen = c.want.seen[:last]
	if len(c.got.seen) > last {
		if got := c.got.seen[last]; got.cut != 0 && strings.HasPrefix(want.body, got.body) {
			want.body, want.cut = got.body, got.cut
		}
		c.want.seen = append(c.want.seen, want)
	}
	answer := c.want.heard[min(last, len(c.want.heard)):]
	c.want.heard = c.want.heard[:min(last, len(c.want.heard))]
	if len(c.got.heard) <= last {
		return
	}
	got := c.got.heard[last]
	if got.status == status || got.status == 0 && want.endless || len(answer) > 0 && got.status == answer[0].status && strings.HasPrefix(answer[0].body, got.body) && (got.cut || got.closes) {
		c.want.heard = append(c.want.heard, got)
	}
}

// allowEarly also allows what the primary's own server does with a body that its handler has not read: it may close, or
// refuse what it takes for the next request. Whether the body was broken the proxy may know before the answer or after.
func allowEarly(c *comparison) {
	if c.manner != mannerEarly && c.manner != mannerEcho {
		return
	}
	for i := range min(len(c.got.heard), len(c.want.heard), len(c.want.seen)) {
		want, got := c.want.heard[i], c.got.heard[i]
		if c.want.seen[i].framing == "none" {
			continue
		}
		refused := got.status == http.StatusBadRequest && want.status != got.status
		if !got.closes {
			if i == len(c.want.seen)-1 {
				c.got.seen, c.got.heard, c.want.heard = c.got.seen[:min(i+1, len(c.got.seen))], c.got.heard[:i+1], c.want.heard[:i+1]
			}
			continue
		}
		c.want.heard, c.want.seen = slices.Clone(c.want.heard[:i+1]), c.want.seen[:i+1]
		broken := c.want.seen[i].cut == uploadBroken
		if s := &c.want.seen[i]; i < len(c.got.seen) && c.got.seen[i].cut != 0 && strings.HasPrefix(s.body, c.got.seen[i].body) {
			s.body, s.cut, s.trailer = c.got.seen[i].body, c.got.seen[i].cut, c.got.seen[i].trailer
		}
		if broken && got.cut && strings.HasPrefix(want.body, got.body) { // with the upload
			want.body, want.cut = got.body, true
			c.want.heard[i] = want
		}
		if refused {
			c.want.heard[i] = got
			if len(c.got.seen) == i {
				c.want.seen = c.want.seen[:i]
			}
		} else if !want.closes {
			want.closes, want.header = true, want.header.Clone()
			want.header["Connection"] = []string{"close"}
			c.want.heard[i] = want
		}
		return
	}
}

// allowRefused: the first such request is answered with this status, and the primary does not see it. What follows on the
// connection is not compared: after CONNECT some versions of net/http go on to read requests, and others do not.
func (c *comparison) allowRefused(status int, such func(s seen) bool) {
	i := slices.IndexFunc(c.want.seen, such)
	if i < 0 {
		return
	}
	c.want.seen, c.want.heard = c.want.seen[:i], slices.Clone(c.want.heard[:min(i, len(c.want.heard))])
	if len(c.got.heard) > i && c.got.heard[i].status == status {
		c.want.heard = append(c.want.heard, c.got.heard[i])
	}
	c.got.seen, c.got.heard = c.got.seen[:min(i, len(c.got.seen))], c.got.heard[:min(i+1, len(c.got.heard))]
}

// allowConnections: a primary that ends its connection does not end the client's, which lives on until the client asks
// for its end. What follows on it the primary itself never saw.
func allowConnections(c *comparison) {
	if last := len(c.want.seen) - 1; last >= 0 && c.want.seen[last].cut != 0 {
		return // an upload's end decides
	}
	for i := range min(len(c.want.heard), len(c.want.seen)) {
		if c.turnedAway(i) {
			c.want.seen, c.want.heard = c.want.seen[:i], append(slices.Clone(c.want.heard[:i]), c.got.heard[i])
			c.got.heard = c.got.heard[:i+1]
			return
		}
		t := &c.want.heard[i]
		if c.manner != mannerCloses && (c.manner != mannerCut && c.manner != mannerShort || t.cut) {
			return
		}
		delete(t.header, "Connection")
		if t.closes = endsConnection(c.want.seen[i]) || t.framing == "close"; t.closes {
			if t.version == "1.1" {
				t.header["Connection"] = []string{"close"}
			}
			continue
		}
		if t.version == "1.0" {
			t.header["Connection"] = []string{"keep-alive"}
		}
		c.want.seen, c.want.heard = c.want.seen[:i+1], c.want.heard[:i+1]
		c.got.seen, c.got.heard = c.got.seen[:min(i+1, len(c.got.seen))], c.got.heard[:min(i+1, len(c.got.heard))]
		return
	}
}

// turnedAway reports whether an HTTP/2 primary, which had ended its connection after another request, did not look at this one,
// whose body was not whole: it is not sent again.
func (c *comparison) turnedAway(i int) bool {
	return c.version == "2.0" && c.manner == mannerCloses && c.want.seen[i].framing != "none" &&
		len(c.got.seen) == i && i < len(c.got.heard) && c.got.heard[i].status == http.StatusBadGateway
}

// endsConnection reports whether the client asks for the end of the connection. In the first line net/http takes a space for a
// comma.
func endsConnection(s seen) bool {
	lines := s.header["Connection"]
	if len(lines) > 0 && names([]string{strings.Join(strings.Fields(lines[0]), ",")}, "close") {
		return true
	}
	return names(lines, "close") || s.proto == "1.0" && !names(lines, "keep-alive")
}

func allowHopByHop(_ *comparison, s *seen) {
	upgrade := ""
	if names(s.header["Connection"], "upgrade") && s.proto != "1.0" {
		upgrade = strings.Join(carried(s.header["Upgrade"]), ", ")
	}
	trailers := names(s.header["Te"], "trailers")
	endToEndOnly(s.header)
	if trailers {
		s.header["Te"] = []string{"trailers"}
	}
	if upgrade != "" {
		s.header["Connection"], s.header["Upgrade"] = []string{"Upgrade"}, []string{upgrade}
	}
}

// endToEndOnly leaves what is not of one connection. What frames the message, says who asked or guards against loops
// cannot be listed away.
func endToEndOnly(h http.Header) {
	listed := strings.Join(h["Connection"], ",")
	for name := range h {
		kept := name == "Content-Length" || strings.HasPrefix(name, "X-Forwarded-") || name == "Forwarded" || name == "X-Real-Ip" || name == "X-Shadow-Request"
		if names([]string{listed}, name) && !kept {
			delete(h, name)
		}
	}
	for _, name := range strings.Fields("Connection Keep-Alive Proxy-Authenticate Proxy-Authorization Proxy-Connection Te Trailer Transfer-Encoding Upgrade Proxy") {
		delete(h, name)
	}
}

func allowAbsoluteForm(_ *comparison, s *seen) {
	if strings.HasPrefix(s.target, "/") || s.target == "*" {
		return
	}
	path, query, hasQuery := strings.Cut(s.target, "?")
	if _, rest, ok := strings.Cut(path, "://"); ok {
		_, after, slash := strings.Cut(rest, "/")
		if path = "/" + after; !slash && !hasQuery && s.method == http.MethodOptions {
			path = "*"
		}
	} else if u, err := url.ParseRequestURI(s.target); err == nil {
		path = cmp.Or(u.EscapedPath(), "/")
	}
	if s.target = path; hasQuery {
		s.target += "?" + query
	}
}

func allowTwoSlashes(_ *comparison, s *seen) {
	path, query, hasQuery := strings.Cut(s.target, "?")
	if !strings.HasPrefix(path, "//") {
		return
	}
	var b strings.Builder
	for _, c := range []byte(path) {
		if c <= ' ' || c >= 0x7f || strings.IndexByte("\"<>\\^`{|}#", c) >= 0 {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	if s.target = b.String(); hasQuery {
		s.target += "?" + query
	}
}

func allowForwarded(c *comparison, s *seen) {
	for name := range s.header {
		dashed := http.CanonicalHeaderKey(strings.ReplaceAll(name, "_", "-"))
		if strings.HasPrefix(dashed, "X-Forwarded-") || dashed == "X-Real-Ip" && name != dashed {
			delete(s.header, name)
		}
	}
	s.header["X-Forwarded-For"] = []string{c.from}
	s.header["X-Forwarded-Proto"] = []string{"http"}
	if s.host != "" {
		s.header["X-Forwarded-Host"] = []string{s.host}
	}
	if s.header["Forwarded"] != nil {
		s.header["Forwarded"] = []string{forwarded(c.from, s.host, "http")}
	}
	if s.header["X-Real-Ip"] != nil {
		s.header["X-Real-Ip"] = []string{c.from}
	}
}

func allowNoHost(c *comparison, s *seen) {
	if s.host == "" {
		s.host = c.primary
	}
}

func allowZone(_ *comparison, s *seen) {
	if before, after, ok := strings.Cut(s.host, "%"); ok && strings.HasPrefix(before, "[") {
		if _, port, ok := strings.Cut(after, "]"); ok {
			s.host = before + "]" + port
		}
	}
}

func allowChunksForTrailers(c *comparison) {
	for i := range min(len(c.want.seen), len(c.want.heard)) {
		asked, answered := c.want.seen[i], &c.want.heard[i]
		if answered.header["X-Content-Type-Options"] != nil {
			continue // the proxy's own, which may come instead
		}
		if c.version == "2.0" && names(asked.header["Te"], "trailers") && answered.version == "1.1" && answered.framing == "length" && answered.body != "" {
			answered.framing = "chunked"
			answered.header["Transfer-Encoding"] = []string{"chunked"}
			delete(answered.header, "Content-Length")
		}
	}
}

func allowVersion(c *comparison, s *seen) {
	if s.proto == "1.0" {
		delete(s.header, "Expect")
	}
	s.proto = c.version
}

func allowOverHTTP2(c *comparison, s *seen) {
	if c.version != "2.0" {
		return
	}
	delete(s.header, "Connection")
	delete(s.header, "Upgrade")
	if cookies := s.header["Cookie"]; cookies != nil {
		s.header["Cookie"] = []string{strings.Join(cookies, "; ")}
	}
	if agents := s.header["User-Agent"]; agents != nil && agents[0] == "" {
		delete(s.header, "User-Agent")
	} else if agents != nil {
		s.header["User-Agent"] = agents[:1]
	}
	if s.header.Get("Content-Length") == "0" {
		s.framing = "none"
		delete(s.header, "Content-Length")
	}
	if !slices.ContainsFunc(s.announced, func(name string) bool { return token(name) && !framesMessage(name) }) {
		s.trailer = nil
	}
	if names(s.header["Expect"], "100-continue") {
		delete(s.header, "Expect")
		for i := range min(len(c.want.heard), len(c.got.heard)) {
			for _, heard := range [...]*heard{&c.want.heard[i], &c.got.heard[i]} { // which may share their memory
				heard.interim = slices.DeleteFunc(slices.Clone(heard.interim), isContinue)
			}
		}
	}
}

func isContinue(before interim) bool { return before.status == http.StatusContinue }

func allowTrailers(h http.Header) {
	for name := range h {
		if !token(name) || framesMessage(name) {
			delete(h, name)
		}
	}
}

func framesMessage(name string) bool {
	return slices.Contains(strings.Fields("Connection Content-Length Host Keep-Alive Proxy Proxy-Authenticate Proxy-Authorization "+
		"Proxy-Connection Te Trailer Transfer-Encoding Upgrade"), name)
}

func statuses(t talk) string {
	var all []string
	for _, heard := range t.heard {
		all = append(all, strconv.Itoa(heard.status))
	}
	return strings.Join(all, " ")
}

// showRequest shows a deviation in what comes of the client's bytes: this way directly, that way through the proxy, and
// nothing else differs.
func showRequest(say string, manner int32, look func(talk) string, direct, through string) func(*testing.T, deviation) {
	return func(t *testing.T, d deviation) { showIn(t, newScene(t, false), d, say, manner, look, direct, through) }
}

func showIn(t *testing.T, s *scene, d deviation, say string, manner int32, look func(talk) string, direct, through string) {
	gotDirect, gotThrough, met := s.try(t, speech{say, 0}, manner)
	if !slices.Contains(met, d.name) {
		t.Errorf("met %q", met)
	}
	if got := look(gotDirect); got != direct {
		t.Errorf("directly it is %q, not %q", got, direct)
	}
	if got := look(gotThrough); got != through {
		t.Errorf("through the proxy it is %q, not %q", got, through)
	}
}

// showAnswer shows a deviation in what comes of the primary's bytes.
func showAnswer(say string, look func(heard) string, direct, through string) func(*testing.T, deviation) {
	return func(t *testing.T, d deviation) {
		gotDirect, gotThrough, met := newStageOfBytes(t).try(t, scripted{speech{say, 0}, false, false}, "GET")
		if !slices.Contains(met, d.name) {
			t.Errorf("met %q", met)
		}
		if got := look(gotDirect); got != direct {
			t.Errorf("directly it is %q, not %q", got, direct)
		}
		if got := look(gotThrough); got != through {
			t.Errorf("through the proxy it is %q, not %q", got, through)
		}
	}
}

// showBytes shows what only the bytes tell, of which a primary on net/http knows nothing.
func showBytes(say, arrives string) func(*testing.T, deviation) {
	return func(t *testing.T, _ deviation) {
		arrived := make(chan string, 1)
		primary := raw(t, func(conn net.Conn, r *bufio.Reader) {
			head, ok := readHead(r)
			if ok && strings.Contains(head, "chunked") {
				body := make([]byte, len("3\r\nabc\r\n0\r\n\r\n"))
				_, _ = io.ReadFull(r, body)
				head += string(body)
			}
			arrived <- head
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		})
		s := newRawStage(t, primary, "http://127.0.0.1:1", "http://127.0.0.1:1", nil)
		w := s.dial()
		w.send(say)
		w.response("GET")
		got := <-arrived
		for _, own := range []string{"X-Forwarded-For: 127.0.0.1\r\n", "X-Forwarded-Host: a\r\n", "X-Forwarded-Proto: http\r\n"} {
			got = strings.Replace(got, own, "", 1)
		}
		if got != arrives {
			t.Errorf("the primary got\n%q, not\n%q", got, arrives)
		}
	}
}

// showEarlyAnswer waits for the answer before it sends the rest of the body.
func showEarlyAnswer(t *testing.T, _ deviation) {
	s := newScene(t, false)
	for addr, closes := range map[string]bool{s.direct.addr: false, s.addr: true} {
		s.direct.manner.Store(mannerEarly)
		s.upstream[Primary].manner.Store(mannerEarly)
		conn, err := call(addr, net.IPv4(127, 0, 0, 1))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(conn, "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n")
		got, err := reader{bufio.NewReader(conn)}.answer("POST")
		if err != nil || got.status != 200 || got.closes != closes {
			t.Errorf("got %+v, %v", got, err)
		}
		_ = conn.Close()
	}
}

// Each deviation is shown by an example in which nothing else differs.
func TestDeviations(t *testing.T) {
	for _, d := range deviations() {
		t.Run(d.name, func(t *testing.T) { d.show(t, d) })
	}
}

// What the page lists is what is allowed, sentence by sentence.
func TestDeviationsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../docs/transparency.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## What is changed\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var documented, allowed []string
	for _, item := range strings.Split(section, "\n- ")[1:] {
		item, _, _ = strings.Cut(item, "\n\n")
		documented = append(documented, strings.Join(strings.Fields(item), " "))
	}
	for _, d := range deviations() {
		allowed = append(allowed, d.says)
	}
	slices.Sort(documented)
	slices.Sort(allowed)
	if !slices.Equal(documented, allowed) {
		t.Errorf("documented is\n%s\n\nallowed is\n%s", strings.Join(documented, "\n"), strings.Join(allowed, "\n"))
	}
}
