package multicast

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"syscall"
)

var (
	errSwitched   = errors.New("switched protocols without being asked")
	errHead       = errors.New("server response headers exceeded 1 MiB")
	errMemory     = errors.New("memory budget spent")
	errUnsendable = errors.New("request cannot be sent")
)

// failed says how a leg ended that brought no whole answer home.
func (s *shadow) failed(f *flight, res *Response, progress *progress, err error) {
	res.Outcome, res.Detail = outcome(f.recall.has(), progress, err, res.Status != 0)
	switch {
	case errors.Is(err, errMemory):
		f.fail(ReasonMemory)
	case scarce(err):
		f.fail(ReasonQueue)
		f.proxy.holdBack()
	}
	if res.Outcome != OutcomeCancelled {
		s.complain.warn("shadow failed", slog.String("role", s.role.String()),
			slog.String("outcome", string(res.Outcome)), slog.Any("err", err))
	}
}

// outcome tells the failures apart; recalled is a leg that is not wanted any more. The detail is for people, and holds no address.
func outcome(recalled bool, progress *progress, err error, head bool) (Outcome, string) {
	switch {
	case recalled:
		return OutcomeCancelled, "cancelled"
	case errors.Is(err, errMemory):
		return OutcomeCancelled, errMemory.Error()
	case scarce(err): // the machine's fault, and no answer of the shadow
		return OutcomeCancelled, errDescriptors.Error()
	case isTimeout(err):
		switch {
		case progress.overslept():
			return OutcomeCancelled, "shadowdiff stood still when the time was over"
		case !progress.connection.Load():
			return OutcomeTimeout, "no connection in time"
		case !head:
			return OutcomeTimeout, "no answer in time"
		}
		return OutcomeTimeout, "body not whole in time"
	case errors.Is(err, errUnsendable):
		return OutcomeProtocol, errUnsendable.Error()
	case !progress.connection.Load() || strings.Contains(err.Error(), "client conn could not be established"):
		return OutcomeDial, dialDetail(err)
	case strings.Contains(err.Error(), "remote error: tls"): // with TLS 1.3 this comes after the client is done
		return OutcomeDial, "TLS refused by the shadow"
	case !broken(err):
		return OutcomeProtocol, protocolDetail(err)
	case progress.reused.Load() && !progress.firstByte.Load():
		return OutcomeStale, "kept connection was closed"
	case head:
		return OutcomeReset, "connection ended before the body was whole"
	}
	return OutcomeReset, "connection ended without an answer"
}

func isTimeout(err error) bool {
	var timeout interface{ Timeout() bool }
	return errors.As(err, &timeout) && timeout.Timeout()
}

// broken reports whether the connection ended, as against bytes that are not HTTP.
func broken(err error) bool {
	var op *net.OpError
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.As(err, &op) ||
		strings.Contains(err.Error(), "unexpected EOF") || // net/http exports no value for these
		strings.Contains(err.Error(), "server closed idle connection") ||
		strings.Contains(err.Error(), "client connection lost") ||
		strings.Contains(err.Error(), "received from peer") || // the reset of a stream
		strings.Contains(err.Error(), "GOAWAY")
}

func dialDetail(err error) string {
	var (
		dns       *net.DNSError
		errno     syscall.Errno
		authority x509.UnknownAuthorityError
		name      x509.HostnameError
		invalid   x509.CertificateInvalidError
		record    tls.RecordHeaderError
	)
	switch {
	case errors.As(err, &dns):
		return "no such host"
	case errors.As(err, &authority):
		return "certificate of an unknown authority"
	case errors.As(err, &name):
		return "certificate for another name"
	case errors.As(err, &invalid):
		return "certificate not valid"
	case errors.As(err, &record):
		return "not TLS"
	case errors.As(err, &errno):
		return errno.Error()
	}
	return "no connection"
}

func protocolDetail(err error) string {
	text := err.Error()
	for _, known := range []string{
		errInformational.Error(), errSwitched.Error(), "malformed HTTP", "malformed MIME header", "malformed chunked encoding",
		"invalid byte in chunk length", "server response headers exceeded", "unsupported transfer encoding", "bad Content-Length",
	} {
		if strings.Contains(text, known) {
			return known
		}
	}
	return "not HTTP"
}
