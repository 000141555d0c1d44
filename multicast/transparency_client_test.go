package multicast

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// heard is an answer as a client understands it.
type heard struct {
	version string // of the status line: 1.0 or 1.1
	status  int
	interim []interim
	header  http.Header
	framing string // none, length, chunked, close
	body    string
	trailer http.Header
	names   string // of the trailers that it announces, where there can be any
	closes  bool   // it says that the connection ends
	cut     bool   // it broke off
	garbage string // what stood where an answer should begin
}

// interim is an informational answer.
type interim struct {
	status int
	header http.Header
}

// reader understands answers, strictly: what it reads was written by net/http, so that anything odd is a finding.
type reader struct{ *bufio.Reader }

var errNoAnswer = errors.New("no answer")

// answer reads the next answer to a request with this method. It fails with errNoAnswer at a clean end.
func (r reader) answer(method string) (heard, error) {
	var t heard
	for {
		version, status, header, err := r.head()
		switch {
		case err != nil && version == "" && len(t.interim) == 0:
			return t, err
		case err != nil:
			t.cut = true
			return t, nil
		case status >= 200 || status == http.StatusSwitchingProtocols:
			t.version, t.status, t.header = version, status, header
			r.body(&t, method)
			return t, nil
		}
		t.interim = append(t.interim, interim{status, header})
	}
}

// head reads a status line and what follows up to the empty line.
func (r reader) head() (version string, status int, header http.Header, err error) {
	line, err := r.line()
	if err != nil {
		if line == "" && err == io.EOF {
			err = errNoAnswer
		}
		return "", 0, nil, fmt.Errorf("%w at %q", err, line)
	}
	rest, ok := strings.CutPrefix(line, "HTTP/")
	if !ok || len(rest) < 7 || rest[3] != ' ' || len(rest) > 7 && rest[7] != ' ' {
		return "", 0, nil, fmt.Errorf("status line %q", line)
	}
	status, err = strconv.Atoi(rest[4:7])
	if err != nil {
		return "", 0, nil, fmt.Errorf("status line %q", line)
	}
	header, err = r.header()
	return rest[:3], status, header, err
}

func (r reader) line() (string, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return line, err
	}
	line, ok := strings.CutSuffix(line, "\r\n")
	if !ok {
		return "", fmt.Errorf("bare line feed after %q", line)
	}
	return line, nil
}

func (r reader) header() (http.Header, error) {
	header := make(http.Header)
	for {
		line, err := r.line()
		if err != nil || line == "" {
			return header, err
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok || !token(name) {
			return header, fmt.Errorf("header line %q", line)
		}
		name = textproto.CanonicalMIMEHeaderKey(name)
		header[name] = append(header[name], strings.Trim(value, " \t"))
	}
}

func sortedList(lines []string) string {
	var names []string
	for _, name := range strings.Split(strings.Join(lines, ","), ",") {
		names = append(names, textproto.CanonicalMIMEHeaderKey(strings.TrimSpace(name)))
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// body reads what belongs to the head.
func (r reader) body(t *heard, method string) {
	defer delete(t.header, "Trailer")
	connection := strings.ToLower(strings.Join(t.header["Connection"], ","))
	t.closes = strings.Contains(connection, "close") || t.version == "1.0" && !strings.Contains(connection, "keep-alive")
	length, hasLength := t.header["Content-Length"]
	switch {
	case method == "HEAD" || t.status < 200 || t.status == 204 || t.status == 304:
		t.framing = "none"
	case slices.Equal(t.header["Transfer-Encoding"], []string{"chunked"}) && !hasLength:
		t.framing, t.names = "chunked", sortedList(t.header["Trailer"])
		t.cut = r.chunks(t) != nil
	case hasLength:
		t.framing = "length"
		n, err := strconv.ParseInt(strings.Join(length, ","), 10, 32)
		if err != nil {
			t.garbage = fmt.Sprintf("length %q", length)
			return
		}
		body := make([]byte, n)
		read, err := io.ReadFull(r, body)
		t.body, t.cut = string(body[:read]), err != nil
	default:
		t.framing, t.closes = "close", true
		body, err := io.ReadAll(r)
		// A server that refuses may close before it has read all: that resets the connection, and ends the answer.
		t.body, t.cut = string(body), err != nil && !errors.Is(err, syscall.ECONNRESET)
	}
}

func (r reader) chunks(t *heard) error {
	for {
		line, err := r.line()
		if err != nil {
			return err
		}
		size, err := strconv.ParseUint(line, 16, 31)
		if err != nil {
			return err
		}
		if size == 0 {
			t.trailer, err = r.header()
			return err
		}
		chunk := make([]byte, size)
		n, err := io.ReadFull(r, chunk)
		t.body += string(chunk[:n])
		if err != nil {
			return err
		}
		if end, err := r.line(); err != nil || end != "" {
			return fmt.Errorf("chunk ends with %q: %v", end, err)
		}
	}
}

// answers reads answers to these methods and to any that follow, up to n or to the end.
func (r reader) answers(methods []string, n int) (all []heard, err error) {
	for len(all) < n {
		method := ""
		if len(all) < len(methods) {
			method = methods[len(all)]
		}
		t, err := r.answer(method)
		if errors.Is(err, errNoAnswer) || errors.Is(err, syscall.ECONNRESET) {
			return all, nil
		}
		if err != nil {
			return append(all, heard{garbage: err.Error()}), err
		}
		all = append(all, t)
	}
	return all, nil
}

// speech is what a client sends: bytes, and how they are cut into writes.
type speech struct {
	bytes string
	cuts  uint64
}

// say sends it. An error is no finding: the other side may have closed.
func (s speech) say(conn net.Conn) {
	rest := s.bytes
	if s.cuts != 0 {
		random := rand.New(rand.NewPCG(s.cuts, s.cuts))
		for range random.IntN(6) {
			n := random.IntN(len(rest) + 1)
			if _, err := io.WriteString(conn, rest[:n]); err != nil {
				return
			}
			rest = rest[n:]
		}
	}
	_, _ = io.WriteString(conn, rest)
}

// hung is how long a client waits for an answer that must come.
const hung = 10 * time.Second

// call opens a connection from this address of the machine, by which what arrives behind the proxy is heard apart.
func call(addr string, from net.IP) (*net.TCPConn, error) {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: from}}
	conn, err := dialer.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	_ = conn.SetDeadline(time.Now().Add(hung))
	return conn.(*net.TCPConn), nil
}
