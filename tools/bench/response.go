package main

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
)

// response is one answer as a client has it. The body is a part of the buffer that it was read from.
type response struct {
	status int
	body   []byte
	last   bool // the server closes the connection after it
}

var (
	crlf     = []byte("\r\n")
	headEnd  = []byte("\r\n\r\n")
	httpText = []byte("HTTP/1.")
)

// parseResponse reads the response at the beginning of buf, whose body must come with Content-Length. It returns how many
// bytes the response has, or 0 when more of it has to come.
func parseResponse(buf []byte) (response, int, error) {
	end := bytes.Index(buf, headEnd)
	if end < 0 {
		return response{}, 0, nil
	}
	line, fields, _ := bytes.Cut(buf[:end], crlf)
	res := response{}
	if !bytes.HasPrefix(line, httpText) || len(line) < 12 {
		return res, 0, fmt.Errorf("the status line is %q", line)
	}
	var err error
	if res.status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return res, 0, fmt.Errorf("the status line is %q", line)
	}
	length := -1
	for len(fields) > 0 {
		var field []byte
		field, fields, _ = bytes.Cut(fields, crlf)
		name, value, _ := bytes.Cut(field, []byte(":"))
		switch value = bytes.TrimSpace(value); {
		case bytes.EqualFold(name, []byte("Content-Length")):
			if length, err = strconv.Atoi(string(value)); err != nil || length < 0 {
				return res, 0, fmt.Errorf("the length is %q", value)
			}
		case bytes.EqualFold(name, []byte("Connection")):
			res.last = bytes.EqualFold(value, []byte("close"))
		}
	}
	if length < 0 {
		return res, 0, errors.New("the response has no length")
	}
	size := end + len(headEnd) + length
	if len(buf) < size {
		return res, 0, nil
	}
	res.body = buf[end+len(headEnd) : size]
	return res, size, nil
}
