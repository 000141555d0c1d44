package multicast

import "strings"

// parts are what compose builds requests of: first what is usual, then what is odd, then what is wrong.
func parts() (methods, targets, versions, headers, bodies []string) {
	methods = []string{
		"GET", "POST", "HEAD", "PUT", "OPTIONS", "DELETE", "TRACE", "FOO", "CONNECT", "get", "PRI", "G\x00T", "", "M-SEARCH", "PATCH", " GET",
	}
	targets = []string{
		"/a", "/", "/a/b?c=d", "/a%2Fb%2fc%20d%7Ee", "/a|b\"c{d}\xc3\xa9^", "/q?x=1;y=2&z=%zz&&b", "//a//b/", "//a\"b<>", "/a/../b/./c", "/a;p=1?b?c",
		"/a%00b", "/%", "*", "http://b/c", "http://b:80", "http://b?q", "HTTP://B/%2F", "https://b/c", "ftp://b/c", "http:///a", "http://u:p@b/c", "b:80", "a", "?q", "#f",
		"/a#f", "/a?b#c", "/a\x80", "/a\x01", "/a\x7f", "/a?", "/a?\xff", "/a?b\"<>", "/\\a", "http:/a", "http:a", "//", "///", "//b:80/", "//[::1", "/a//b", "", "/a b",
		"/" + strings.Repeat("x", 9000), "http://b/a\"b", "http://b//c", "http://b/\xc3\xa9", "*a", "/*", "/:a", "http://[::1%25en0]/a", "http://b%41/a", "http://b/?", "http://B:/a",
	}
	versions = []string{
		"HTTP/1.1", "HTTP/1.0", "HTTP/1.1", "HTTP/1.2", "HTTP/2.0", "HTTP/3.0", "HTTP/0.9", "http/1.1", "HTTP/1.1 ", "", "HTTP/01.1", "HTTP/1.1\t", "HTTP/1.9",
	}
	headers = []string{
		"Host: a", "Host: Shop.Example:8080", "Host:", "Host: a\r\nHost: b", "Host: a b", "Host: a/b", "Host: \xc3\xa9", "Host: [fe80::1%25en0]", "Host: [fe80::1%en0]:80", "Host: a,b", "Host: a@b", "Host: !$&'()*+,;=:_~%",
		"Content-Length: 3", "Content-Length: 0", "Content-Length: 003", "Content-Length: +3", "Content-Length: -3", "Content-Length: 3, 3", "Content-Length: 3\r\nContent-Length: 3",
		"Content-Length: 3\r\nContent-Length: 4", "Content-Length: 99999999999999999999", "Content-Length:", "Content-Length: 0x3", "Content-Length: 3 ", "Content-Length: 1 2",
		"Transfer-Encoding: chunked", "Transfer-Encoding: Chunked", "Transfer-Encoding: gzip, chunked", "Transfer-Encoding: chunked, chunked", "Transfer-Encoding: identity", "Transfer-Encoding: xchunked",
		"Transfer-Encoding : chunked", "Transfer-Encoding:\x0bchunked", "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity", "Transfer-Encoding:", " Transfer-Encoding: chunked", "Transfer-Encoding: \"chunked\"",
		"Connection: close", "Connection: keep-alive", "Connection: Keep-Alive, X-A", "Connection: close, X-A", "Connection: X-Forwarded-For, X-Shadow-Request, X-Forwarded-Host", "Connection: content-length", "Connection: host",
		"Connection: transfer-encoding", "Connection: Expect", "Connection: User-Agent, Accept-Encoding", "Connection: Te", "Connection: Cookie", "Connection:", "Connection: ,,", "Connection: close\r\nConnection: keep-alive", "Connection: X-\xff",
		"Connection: Upgrade\r\nUpgrade: websocket", "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA", "Upgrade: websocket", "Connection: upgrade", "Connection: Upgrade\r\nUpgrade: \xff", "Connection: Upgrade\r\nUpgrade: a, b", "Connection: Upgrade\r\nUpgrade: TLS/1.2",
		"Expect: 100-continue", "Expect: 100-Continue", "Expect: something", "Expect:", "Expect: 100-continue, something",
		"TE: trailers", "TE: trailers, gzip;q=0.5", "TE: gzip", "TE:", "Trailer: X-Req", "Trailer: Content-Length", "Trailer: X-Req, X-Not", "Trailer:", "Trailer: a b", "Keep-Alive: 5", "Proxy-Connection: close", "Proxy: http://evil", "Proxy-Authorization: x", "Proxy-Authenticate: x",
		"X-A: 1", "x-a: 2", "X-A:  3\t", "X-A:", "X-A: \x00", "X-A: \xff\xfe", "X-A: a\tb", "X-A: a\x01b", "X-A: 1\r\n 2", "X-A: 1\r\n\t2", "X-A: 1\n", "X-A 1", ": x", "X A: 1", "X-A : 1", "X\x80: 1", "X-A: a\rb", "X_A: 1", "X.A!#: 1",
		"Cookie: a=b", "Cookie: a=b\r\nCookie: c=d", "Cookie: a=b; c=d", "User-Agent: me", "User-Agent:", "User-Agent: a\r\nUser-Agent: b", "Accept-Encoding: gzip", "Accept-Encoding:", "Range: bytes=0-1", "If-None-Match: \"e\"", "Authorization: x",
		"X-Forwarded-For: 1.2.3.4", "X-Forwarded-Host: evil", "X-Forwarded-Proto: gopher", "X-Forwarded-Port: 1", "Forwarded: for=9.9.9.9", "X-Real-IP: 6.6.6.6", "X_Forwarded_For: 1.2.3.4",
		"X-Shadow-Id: mine", "Idempotency-Key: k", "X-Idempotency-Key: k", "X-HTTP-Method-Override: DELETE", "Traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "Date: never", "Content-Type: text/plain", "Via: 1.0 x", "Max-Forwards: 0",
		"X-Shadow-Request: 1", "X-Long: " + strings.Repeat("y", 5000), ":authority: b", "Content-Encoding: gzip", "Http2-Settings: x", "Te: trailers\r\nConnection: Te", "Content-Md5: x", "Pragma: no-cache",
	}
	bodies = []string{
		"", "abc", "3\r\nabc\r\n0\r\n\r\n", "abcd", "ab", "0\r\n\r\n", "3\r\nabc\r\n2\r\nde\r\n0\r\nX-Req: v\r\n\r\n", "3;ext=1\r\nabc\r\n0;x\r\n\r\n", "3\nabc\n0\n\n", "3\r\nabcd\r\n0\r\n\r\n", "0003\r\nabc\r\n000\r\n\r\n", "3 \r\nabc\r\n0\r\n\r\n",
		"ffffffffffffffff\r\nabc", "fffffffffffffffff\r\nabc", "-1\r\nabc", "+3\r\nabc\r\n0\r\n\r\n", "0x3\r\nabc\r\n0\r\n\r\n", "3\r\nab", "zz\r\n", "3\r\nabc\r\n0\r\nContent-Length: 9\r\nX-B: 1\r\n\r\n", "3\r\nabc\r\n0\r\nX-Req : v\r\n\r\n", "3\r\nabc\r\n0\r\n X: v\r\n\r\n",
		"3\r\nabc\r\n0\r\nX-Req: \x00\r\n\r\n", "3\r\nabc\r\n0\r\nX-Req: v\nX-C: w\n\n", "3\r\nabc0\r\n\r\n", "A\r\n0123456789\r\n0\r\nHost: b\r\nX-Req: 1\r\nX-Req: 2\r\nTransfer-Encoding: chunked\r\n\r\n", "3\r\nabc\r\n0\r\n", "3\rabc\r0\r\r", "\r\n", "\r\n\r\n", "3;" + strings.Repeat("e", 5000) + "\r\nabc\r\n0\r\n\r\n",
		"400\r\n" + strings.Repeat("z", 1024) + "\r\n0\r\n\r\n", "3\r\nabc\r\n0\r\n\r", strings.Repeat("\r\n", 10),
	}
	return methods, targets, versions, headers, bodies
}

// compose makes requests of a fuzzer's bytes, each of which picks a part. Few picks make a usual request.
func compose(picks []byte) string {
	methods, targets, versions, headers, bodies := parts()
	pick := func(from []string) string {
		if len(picks) == 0 {
			return from[0]
		}
		n := int(picks[0])
		picks = picks[1:]
		return from[n%len(from)]
	}
	count := func(limit int) int {
		if len(picks) == 0 {
			return 0
		}
		n := int(picks[0])
		picks = picks[1:]
		return n % limit
	}
	var b strings.Builder
	for again := true; again; again = len(picks) > 0 && b.Len() < 64<<10 {
		b.WriteString(pick(methods) + " " + pick(targets) + " " + pick(versions) + "\r\n")
		if count(8) != 7 {
			b.WriteString("Host: a\r\n")
		}
		for range count(6) {
			b.WriteString(pick(headers) + "\r\n")
		}
		b.WriteString("\r\n" + pick(bodies))
	}
	return b.String()
}

// answerParts are what composeAnswer builds answers of: a head, and what follows it.
func answerParts() (heads, rests []string) {
	heads = []string{
		"HTTP/1.1 200 OK", "HTTP/1.0 200 OK", "HTTP/1.1 200", "HTTP/1.1 200 ", "HTTP/1.1 099 X", "HTTP/1.1 000 X", "HTTP/1.1 999 X", "HTTP/1.1 600 X", "HTTP/1.1 20 OK", "HTTP/1.1 2000 OK", "HTTP/2.0 200 OK", "HTTP/1.2 200 OK", "HTTP/0.9 200 OK", "http/1.1 200 OK", "ICY 200 OK", "HTTP/1.1 +20 OK", "HTTP/1.1  200 OK", " HTTP/1.1 200 OK",
		"HTTP/1.1 204 No Content", "HTTP/1.1 304 Not Modified", "HTTP/1.1 205 Reset", "HTTP/1.1 101 Switching Protocols", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade", "HTTP/1.1 200 \xff\x01", "HTTP/1.1 302 Found\r\nLocation: http://evil/", "HTTP/1.1 503 No\r\nRetry-After: 1", "HTTP/1.1 407 P\r\nProxy-Authenticate: Basic", "HTTP/1.1 401 U\r\nWWW-Authenticate: Basic",
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK", "HTTP/1.1 103 H\r\nLink: </a>\r\nLink: </b>\r\n\r\nHTTP/1.1 200 OK", "HTTP/1.1 102 P\r\n\r\nHTTP/1.1 103 H\r\nConnection: X-H\r\nX-H: 1\r\n\r\nHTTP/1.1 200 OK", "HTTP/1.1 103 H\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\nTrailer: X\r\n\r\nHTTP/1.1 200 OK", "HTTP/1.1 199 H\r\n\r\nHTTP/1.1 200 OK",
	}
	rests = []string{
		"Content-Length: 2\r\n\r\nok", "Content-Length: 3\r\n\r\nok", "Content-Length: 1\r\n\r\nok", "Content-Length: 0\r\n\r\n", "\r\n", "\r\nok", "Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", "Transfer-Encoding: chunked\r\nContent-Length: 9\r\n\r\n2\r\nok\r\n0\r\n\r\n",
		"Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n", "Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\nzz", "Transfer-Encoding: chunked\r\n\r\n2;x=y\r\nok\r\n0\r\nX-T: 1\r\nX-T: 2\r\n\r\n", "Transfer-Encoding: chunked\r\nTrailer: X-T, X-U\r\n\r\n2\r\nok\r\n0\r\nX-T: 1\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nContent-Length: 1\r\nX-V: 1\r\nConnection: a\r\n\r\n",
		"Transfer-Encoding: gzip\r\n\r\nok", "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", "Transfer-Encoding: identity\r\n\r\nok", "Content-Length: 2\r\nContent-Length: 2\r\n\r\nok", "Content-Length: 2\r\nContent-Length: 3\r\n\r\nok", "Content-Length: 2, 2\r\n\r\nok", "Content-Length: -2\r\n\r\nok", "Content-Length: +2\r\n\r\nok", "Content-Length: 02\r\n\r\nok", "Content-Length:\r\n\r\nok", "Content-Length: 99999999999999999999\r\n\r\nok",
		"Connection: close\r\nContent-Length: 2\r\n\r\nok", "Connection: close, X-A\r\nX-A: 1\r\nContent-Length: 2\r\n\r\nok", "Connection: X-A\r\nX-A: 1\r\nContent-Length: 2\r\n\r\nok", "Connection: content-length\r\nContent-Length: 2\r\n\r\nok", "Keep-Alive: 5\r\nProxy-Connection: x\r\nTe: x\r\nUpgrade: h2c\r\nContent-Length: 2\r\n\r\nok", "Connection: keep-alive\r\nContent-Length: 2\r\n\r\nok",
		"X-A: 1\nContent-Length: 2\n\nok", "X-A: 1\r\n 2\r\nContent-Length: 2\r\n\r\nok", "X-A : 1\r\nContent-Length: 2\r\n\r\nok", "X A: 1\r\nContent-Length: 2\r\n\r\nok", ": 1\r\nContent-Length: 2\r\n\r\nok", "X-A\r\nContent-Length: 2\r\n\r\nok", "X-A: \x00\r\nContent-Length: 2\r\n\r\nok", "X-A: \xff\x80\r\nContent-Length: 2\r\n\r\nok", "X-A: a\rb\r\nContent-Length: 2\r\n\r\nok", "X-A: a\x01\x7fb\r\nContent-Length: 2\r\n\r\nok", "X-\xff: 1\r\nContent-Length: 2\r\n\r\nok", "x-lower: 1\r\nX_U: 2\r\nContent-Length: 2\r\n\r\nok",
		"Set-Cookie: a=b\r\nSet-Cookie: c=d\r\nContent-Length: 2\r\n\r\nok", "Content-Type:\r\nDate:\r\nContent-Length: 2\r\n\r\n<p", "Date: a\r\nDate: b\r\nContent-Type: a\r\nContent-Type: b\r\nContent-Length: 2\r\n\r\nok", "Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\nok", "Trailer: X-A\r\nContent-Length: 2\r\n\r\nok", "Transfer-Encoding: chunked\r\nTrailer: Content-Length\r\n\r\n0\r\n\r\n", "Transfer-Encoding: chunked\r\nTrailer: a b\r\n\r\n0\r\n\r\n",
		"Content-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison", "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison", "Content-Length: 2\r\n\r\nokgarbage", "X-Long: " + strings.Repeat("z", 20000) + "\r\nContent-Length: 2\r\n\r\nok", "Content-Length: 40000\r\n\r\n" + strings.Repeat("b", 40000), "Content-Length: 40000\r\n\r\n" + strings.Repeat("b", 39000), "Transfer-Encoding: chunked\r\n\r\n" + strings.Repeat("1\r\nx\r\n", 500) + "0\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n" + strings.Repeat("1\r\nx\r\n", 500), strings.Repeat("Xa: 1\r\n", 300) + "Content-Length: 2\r\n\r\nok",
		"Transfer-Encoding: chunked\r\n\r\n" + "ffffffffffffffff\r\nx", "Transfer-Encoding: chunked\r\n\r\n" + "00000000000000000002\r\nok\r\n0\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n2\nok\n0\n\n", "Transfer-Encoding: chunked\r\n\r\n2\r\nokX\r\n0\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX: \x00\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n", "X-Content-Type-Options: a\r\nServer: s\r\nVia: v\r\nAge: 1\r\nContent-Length: 2\r\n\r\nok", "Http2-Settings: x\r\nProxy-Authenticate: a\r\nProxy-Authentication-Info: b\r\nContent-Length: 2\r\n\r\nok",
	}
	return heads, rests
}

// composeAnswer makes an answer of a fuzzer's bytes.
func composeAnswer(picks []byte) string {
	heads, rests := answerParts()
	var b strings.Builder
	for i := 0; i+1 < len(picks) || i == 0; i += 2 {
		head, rest := 0, 0
		if i < len(picks) {
			head = int(picks[i])
		}
		if i+1 < len(picks) {
			rest = int(picks[i+1])
		}
		b.WriteString(heads[head%len(heads)] + "\r\n" + rests[rest%len(rests)])
	}
	return b.String()
}
