package traffic

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// looksLog is a line of the common or combined log format, as nginx and Apache write it, with what may follow; and with
// the host before it, as Apache's vhost_combined has.
var looksLog = regexp.MustCompile(`^(?:(\S+:\d+) )?\S+ \S+ .*?\[(\d{2}/[A-Z][a-z]{2}/\d{4}:\d{2}:\d{2}:\d{2} [+-]\d{4})\] "((?:[^"\\]|\\.)*)" (\d{3}) (?:\d+|-)(?: "((?:[^"\\]|\\.)*)" "((?:[^"\\]|\\.)*)")?`)

const logTime = "02/Jan/2006:15:04:05 -0700"

// accessLog reads access logs. They tell times to the second; the requests of one second are spread over it, so that a
// replay at the pace of the log does not ask them all at once.
type accessLog struct {
	lines  lines
	second []logged // that is handed on
	ahead  *logged  // the first line of the next one
	err    error    // behind what is ahead
}

// logged is a line: a request, or what is wrong with it.
type logged struct {
	rec *Record
	bad *Bad
}

// maxSecond bounds how many lines of one second are held.
const maxSecond = 100_000

func newAccessLog(text *bufio.Reader) *accessLog { return &accessLog{lines: lines{r: text}} }

func (a *accessLog) next() (*Record, error) {
	if len(a.second) == 0 {
		a.gather()
	}
	if len(a.second) == 0 {
		return nil, a.err
	}
	first := a.second[0]
	a.second = a.second[1:]
	if first.bad != nil {
		return nil, first.bad
	}
	return first.rec, nil
}

// gather reads the lines of one second.
func (a *accessLog) gather() {
	var recs []*Record
	for len(a.second) < maxSecond && a.err == nil {
		one := a.ahead
		if a.ahead = nil; one == nil {
			if one, a.err = a.read(); a.err != nil {
				break
			}
		}
		if one.rec != nil {
			if len(recs) > 0 && !one.rec.Time.Equal(recs[0].Time) {
				a.ahead = one
				break
			}
			recs = append(recs, one.rec)
		}
		a.second = append(a.second, *one)
	}
	for i, rec := range recs {
		rec.Time = rec.Time.Add(time.Second * time.Duration(i) / time.Duration(len(recs)))
	}
}

func (a *accessLog) read() (*logged, error) {
	if a.err != nil {
		return nil, a.err
	}
	for {
		text, err := a.lines.next()
		switch {
		case errors.Is(err, errLongLine):
			return &logged{bad: &Bad{Line: a.lines.number, Why: err.Error()}}, nil
		case err != nil:
			return nil, err
		case len(bytes.TrimSpace(text)) == 0:
			continue
		}
		rec, err := parseLogLine(string(text))
		if err != nil {
			return &logged{bad: &Bad{Line: a.lines.number, Why: err.Error()}}, nil
		}
		rec.Line = a.lines.number
		return &logged{rec: rec}, nil
	}
}

func parseLogLine(text string) (*Record, error) {
	m := looksLog.FindStringSubmatch(text)
	if m == nil {
		return nil, errors.New("no line of an access log in the common or combined format")
	}
	host, at, request, status, referer, agent := m[1], m[2], m[3], m[4], m[5], m[6]
	when, err := time.Parse(logTime, at)
	if err != nil {
		return nil, fmt.Errorf("%q is no time", at)
	}
	method, rest, _ := strings.Cut(unescapeLog(request), " ")
	target, proto, _ := strings.Cut(rest, " ")
	if !strings.HasPrefix(proto, "HTTP/") {
		return nil, fmt.Errorf("%q is no request line", shorten(request))
	}
	r := &Record{Time: when.UTC(), Request: Request{Method: method, Host: host, Header: http.Header{}}}
	if err := r.Request.setTarget(target); err != nil {
		return nil, err
	}
	for name, value := range map[string]string{"Referer": referer, "User-Agent": agent} {
		if value != "" && value != "-" {
			r.Request.Header.Set(name, unescapeLog(value))
		}
	}
	r.Request.Cut = method != http.MethodGet && method != http.MethodHead
	code, err := strconv.Atoi(status)
	if err != nil || code < 100 {
		return nil, fmt.Errorf("%s is no status", status)
	}
	return r, r.Request.check()
}

// unescapeLog undoes what nginx and Apache write for bytes that would end a field: \x22, \" and the like.
func unescapeLog(text string) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c != '\\' || i+1 == len(text) {
			b.WriteByte(c)
			continue
		}
		i++
		switch text[i] {
		case 'x':
			if n, err := strconv.ParseUint(text[i+1:min(i+3, len(text))], 16, 8); err == nil && i+3 <= len(text) {
				b.WriteByte(byte(n))
				i += 2
				continue
			}
			b.WriteString(`\x`)
		case 'n':
			b.WriteByte('\n')
		case 'r':
			b.WriteByte('\r')
		case 't':
			b.WriteByte('\t')
		default:
			b.WriteByte(text[i])
		}
	}
	return b.String()
}
