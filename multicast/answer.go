package multicast

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// answer passes the primary's answer on.
func (v *visit) answer(res *http.Response) {
	withoutBody(res)
	announced := v.head(res)
	v.body(res)
	v.trailers(res, announced)
}

// head passes on the head of the answer, and returns the names of the trailers that it announces. It leaves with the first
// bytes of the body if those are there already, and at once if the client is still sending.
func (v *visit) head(res *http.Response) (announced []string) {
	demanded := v.demanded(res)
	removeHopByHop(res.Header)
	h := v.client.Header()
	maps.Copy(h, res.Header)
	v.leaveUnsaid(h)
	v.tellOfNoBody(h, res.StatusCode)
	trailers := (len(res.Trailer) > 0 || v.mayTrail(res)) && v.in.ProtoAtLeast(1, 1) && bodied(v.in.Method, res.StatusCode)
	if v.in.ProtoMajor == 1 && (trailers || res.ContentLength < 0) {
		// Said aloud, or net/http gives a short answer a length, and one with a length no trailers.
		delete(h, "Content-Length")
		h["Transfer-Encoding"] = []string{"chunked"}
	}
	if len(res.Trailer) > 0 {
		for name := range res.Trailer {
			announced = append(announced, name)
		}
		slices.Sort(announced)
		h["Trailer"] = []string{strings.Join(announced, ", ")}
	}
	v.closeUnread()
	if demanded != "" && h["Connection"] == nil {
		h["Connection"], h["Upgrade"] = []string{"Upgrade"}, []string{demanded}
	}
	if demanded != "" || upgrades(v.in) {
		spellWebSocket(h)
	}
	if v.flight != nil {
		v.flight.head(res)
	}
	if v.tap != nil {
		v.tap.head(res)
	}
	v.status = res.StatusCode
	v.headed()
	v.client.WriteHeader(res.StatusCode)
	if v.leadsUpload(res) {
		v.flush()
	}
	return announced
}

// demanded are the protocols to which the client has to switch if it wants to be answered (RFC 9110, section 15.5.22), and can.
func (v *visit) demanded(res *http.Response) string {
	if res.StatusCode != http.StatusUpgradeRequired || v.setup.primary.h2c || v.in.ProtoMajor != 1 || v.in.Close {
		return ""
	}
	return strings.Join(carried(res.Header["Upgrade"]), ", ")
}

// leaveUnsaid keeps net/http from adding what the primary did not say. A length is needed in HTTP/1 alone.
func (v *visit) leaveUnsaid(h http.Header) {
	unsaid := []string{"Content-Type", "Date"}
	if v.in.ProtoMajor == 2 {
		unsaid = append(unsaid, "Content-Length")
	}
	for _, name := range unsaid {
		if h[name] == nil {
			h[name] = nil
		}
	}
}

// leadsUpload tells of a head that is to leave at once, since the client is still sending: net/http waits 50 ms for an
// upload before it has an answer end. Over HTTP/2 it does not, and there a head that ends its stream, as that of a gRPC
// call that failed, is not to be parted from its end. Before Go 1.27 the body of such an answer is not http.NoBody.
func (v *visit) leadsUpload(res *http.Response) bool {
	alone := res.Body == http.NoBody || res.ContentLength == 0 && res.Header["Content-Length"] == nil
	return v.upload != nil && !v.upload.whole() && (v.in.ProtoMajor == 1 || !alone)
}

// mayTrail reports whether trailers may come that were not announced, to a client that says it wants such: HTTP/2 has them
// beside a length.
func (v *visit) mayTrail(res *http.Response) bool {
	return res.ProtoMajor == 2 && res.Body != http.NoBody && names(v.in.Header["Te"], "trailers")
}

// tellOfNoBody has an answer without a body say what the primary said of the one that it might have. net/http leaves that
// out, but not where it is spelled in another way. A length that a client might wait for stays out, and so it does towards
// HTTP/2: Go's own client would take the answer for one that was cut off.
func (v *visit) tellOfNoBody(h http.Header, status int) {
	length := h.Get("Content-Length")
	if status == http.StatusNoContent && length == "0" || status == http.StatusNotModified && digits(length) {
		if v.in.ProtoMajor == 1 {
			h["Content-length"], h["Content-Length"] = h["Content-Length"], nil
		}
	}
	if !bodied(http.MethodGet, status) && v.in.ProtoMajor == 2 {
		h["Content-Length"] = nil
	}
	if status == http.StatusNotModified && h["Content-Type"] != nil {
		h["Content-type"], h["Content-Type"] = h["Content-Type"], nil
	}
}

// bodied reports whether an answer may have a body.
func bodied(method string, status int) bool {
	return method != http.MethodHead && status != http.StatusNoContent && status != http.StatusNotModified
}

// closeUnread ends an HTTP/1 connection after this answer if the request body has not come to its end: net/http would
// go on to read it beside the primary's transport.
func (v *visit) closeUnread() {
	if v.upload != nil && v.in.ProtoMajor == 1 && !v.in.Close && !v.upload.whole() {
		v.client.Header().Set("Connection", "close")
	}
}

// body passes on the body as it comes. What has come never waits for what has not: the link flushes before it waits.
func (v *visit) body(res *http.Response) {
	defer res.Body.Close()
	carrier := v.proxy.buffers.carry(res.ContentLength)
	defer carrier.end()
	direct := v.link != nil && res.ProtoMajor == 1
	if direct {
		v.link.stream(v)
	}
	for {
		if !direct && res.ContentLength != 0 { // who waits there is a goroutine of the transport
			v.flush()
		}
		n, err := res.Body.Read(carrier.buf)
		if v.flight != nil {
			v.flight.answerRead(carrier.buf[:n], err, res)
		}
		if v.tap != nil {
			v.tap.answerRead(carrier.buf[:n], err, res)
		}
		if n > 0 {
			start := time.Now()
			if _, err := v.client.Write(carrier.buf[:n]); err != nil {
				v.gone = true
				v.abort()
			}
			carrier.carried(n, time.Since(start))
		}
		if err == io.EOF {
			return
		}
		if err != nil {
			v.broke = !v.clientGone() // or there was nobody left to read for
			v.abort()
		}
	}
}

func (v *visit) flush() { _ = http.NewResponseController(v.client).Flush() }

// abort cuts the client off, after what there is of the answer: it shall not take a part for the whole.
func (v *visit) abort() {
	if v.link != nil {
		v.link.release(v)
	}
	v.flush()
	panic(http.ErrAbortHandler)
}

// trailers passes on what follows the body.
func (v *visit) trailers(res *http.Response, announced []string) {
	if len(res.Trailer) == 0 {
		return
	}
	h := v.client.Header()
	for _, name := range announced {
		delete(h, name) // a header of the same name is no trailer
	}
	for name, values := range res.Trailer {
		switch {
		case frames(name):
		case slices.Contains(announced, name):
			h[name] = values
		default:
			h[http.TrailerPrefix+name] = values
		}
	}
}

// failed answers for a primary that did not. The client learns no address.
func (v *visit) failed(err error) {
	if v.clientGone() {
		v.gone = true
		panic(http.ErrAbortHandler) // nobody is there to be answered
	}
	if v.upload != nil && v.upload.broken() {
		v.unreadable(err)
		return
	}
	status := http.StatusBadGateway
	if isTimeout(err) || errors.Is(err, context.DeadlineExceeded) {
		status = http.StatusGatewayTimeout
	}
	if v.flight != nil {
		v.flight.fail(ReasonPrimaryFailed)
	}
	v.proxy.complain.warn("primary failed", slog.Int("status", status), slog.Any("err", err))
	if scarce(err) {
		v.proxy.holdBack()
	}
	v.headed()
	v.closeUnread()
	v.refuse(status)
}

var errRequest = errors.New("the method or the host cannot be sent on")

// unreadable refuses what is no request, or has a body that is none. The primary has no part in that.
func (v *visit) unreadable(err error) {
	if v.flight != nil {
		v.flight.fail(ReasonRequestIncomplete)
	}
	v.proxy.complain.warn("a request was refused", slog.Int("status", http.StatusBadRequest), slog.Any("err", err))
	v.closeUnread()
	v.refuse(http.StatusBadRequest)
}

func (v *visit) refuse(status int) {
	h := v.client.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	v.status = status
	v.client.WriteHeader(status)
	_, _ = io.WriteString(v.client, strings.ToLower(http.StatusText(status))+"\n")
}
