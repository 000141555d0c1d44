package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/textproto"
	"os"
	"regexp"
	"strconv"
	"strings"

	"shadowdiff/multicast"
	"shadowdiff/normalize"
)

// diffCase is what one call of diff compares.
type diffCase struct {
	left, right string // what the sides are called
	route       string
	config      normalize.Config
	answers     [3]*multicast.Response // by role; the left is the primary's, and there may be no secondary's
	bodiesOnly  bool
}

// readFiles reads two answers, or three, from files.
func (o *diffOptions) readFiles(left, right string, std stdio) (*diffCase, error) {
	c := &diffCase{left: left, right: right, route: o.route, bodiesOnly: !o.http}
	var err error
	if c.config, err = readRules(o.rules, std); err != nil {
		return nil, err
	}
	files := [3]string{multicast.Primary: left, multicast.Candidate: right, multicast.Secondary: o.secondary}
	for role, file := range files {
		if file == "" && multicast.Role(role) == multicast.Secondary {
			continue
		}
		if c.answers[role], err = o.readAnswer(file, std); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// readAnswer reads one side. Without -http a file is a body and nothing else: its label only says how to read it.
func (o *diffOptions) readAnswer(file string, std stdio) (*multicast.Response, error) {
	data, err := readInput(file, std)
	if err != nil {
		return nil, err
	}
	if o.http {
		r, warning, err := parseResponse(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if warning != "" {
			fmt.Fprintf(std.err, "shadowdiff diff: %s: %s\n", file, warning)
		}
		return r, nil
	}
	r := &multicast.Response{Outcome: multicast.OutcomeOK, Status: http.StatusOK, Header: http.Header{}, Body: data, Size: int64(len(data))}
	contentType := o.contentType
	if contentType == "" {
		contentType = contentTypeOf(file)
	}
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	return r, nil
}

func readInput(file string, std stdio) ([]byte, error) {
	if file != "-" {
		return os.ReadFile(file)
	}
	data, err := io.ReadAll(std.in)
	if err != nil {
		return nil, fmt.Errorf("read standard input: %w", err)
	}
	return data, nil
}

var statusLine = regexp.MustCompile(`^HTTP/\d(?:\.\d)? (\d{3})(?: .*)?$`)

// parseResponse reads a response as curl -i saves it: heads of informational answers first, then the one that counts,
// then the body, whose chunks --raw leaves as they were sent.
func parseResponse(data []byte) (r *multicast.Response, warning string, err error) {
	r = &multicast.Response{Outcome: multicast.OutcomeOK}
	in := bufio.NewReader(bytes.NewReader(data))
	for r.Status < 200 && r.Status != http.StatusSwitchingProtocols {
		if err := readHead(in, r); err != nil {
			return nil, "", err
		}
	}
	r.Body, _ = io.ReadAll(in) // from memory: it cannot fail
	if strings.EqualFold(r.Header.Get("Transfer-Encoding"), "chunked") && isChunked(r.Body) {
		if err := unchunk(r); err != nil {
			return nil, "", fmt.Errorf("the body's chunks are broken: %w", err)
		}
	} else if n, err := strconv.Atoi(r.Header.Get("Content-Length")); err == nil && n != len(r.Body) && len(r.Body) > 0 {
		warning = fmt.Sprintf("the body has %d bytes, Content-Length says %d", len(r.Body), n)
	}
	r.Size = int64(len(r.Body))
	return r, warning, nil
}

func readHead(in *bufio.Reader, r *multicast.Response) error {
	tp := textproto.NewReader(in)
	line, err := tp.ReadLine()
	match := statusLine.FindStringSubmatch(line)
	if match == nil {
		if err != nil && err != io.EOF {
			return err
		}
		return fmt.Errorf("a status line such as \"HTTP/1.1 200 OK\" is expected, not %.60q", line)
	}
	r.Status, _ = strconv.Atoi(match[1]) // three digits
	header, err := tp.ReadMIMEHeader()
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read the headers: %w", err)
	}
	r.Header = http.Header(header)
	return nil
}

var chunkLine = regexp.MustCompile(`^[0-9A-Fa-f]{1,16}[ \t]*(?:;[^\r\n]*)?\r?\n`)

// isChunked tells whether a body still has its chunks: without --raw, curl keeps the header and takes them away.
func isChunked(body []byte) bool { return chunkLine.Match(body) }

func unchunk(r *multicast.Response) error {
	in := bufio.NewReader(bytes.NewReader(r.Body))
	body, err := io.ReadAll(httputil.NewChunkedReader(in))
	if err != nil {
		return err
	}
	trailer, err := textproto.NewReader(in).ReadMIMEHeader()
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read the trailers: %w", err)
	}
	r.Body, r.Trailer = body, http.Header(trailer)
	return nil
}

// contentTypeOf tells what a file holds by its name.
func contentTypeOf(file string) string {
	switch {
	case strings.HasSuffix(file, ".json"):
		return "application/json"
	case strings.HasSuffix(file, ".ndjson"), strings.HasSuffix(file, ".jsonl"):
		return "application/x-ndjson"
	case strings.HasSuffix(file, ".html"), strings.HasSuffix(file, ".htm"):
		return "text/html"
	case strings.HasSuffix(file, ".xml"):
		return "application/xml"
	}
	return ""
}
