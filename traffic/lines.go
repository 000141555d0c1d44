package traffic

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

// maxLine is the longest line that is taken for a request: a recorded exchange with two bodies fits.
const maxLine = 64 << 20

var errLongLine = fmt.Errorf("longer than %d MiB", maxLine>>20)

// lines reads a text line by line.
type lines struct {
	r      *bufio.Reader
	raw    bool // lines are returned with their ends
	number int  // of the line that was read last, from 1
	ended  bool
}

// next returns a line, without its end unless raw. It is the caller's until the next call. A line that is too long is read to
// its end and told as errLongLine; any other error is the end.
func (l *lines) next() ([]byte, error) {
	if l.ended {
		return nil, io.EOF
	}
	var whole []byte
	long := false
	for {
		part, err := l.r.ReadSlice('\n')
		if err == nil && whole == nil && !long {
			l.number++
			return l.cut(part), nil
		}
		if long = long || len(whole)+len(part) > maxLine; !long {
			whole = append(whole, part...)
		} else {
			whole = nil
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err == io.EOF && len(whole) == 0 && !long:
			l.ended = true
			return nil, io.EOF
		case err != nil && err != io.EOF:
			l.ended = true
			l.number++
			return nil, err
		}
		l.ended = err == io.EOF
		l.number++
		if long {
			return nil, errLongLine
		}
		return l.cut(whole), nil
	}
}

func (l *lines) cut(line []byte) []byte {
	if l.raw {
		return line
	}
	return trimEnd(line)
}

func trimEnd(line []byte) []byte {
	if n := len(line); n > 0 && line[n-1] == '\n' {
		line = line[:n-1]
	}
	if n := len(line); n > 0 && line[n-1] == '\r' {
		line = line[:n-1]
	}
	return line
}
