package traffic

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// curlList reads a list of curl commands as a shell would, and runs nothing. A command may go on over several lines.
type curlList struct {
	lines   lines
	ahead   string // a line that was read too far
	aheadAt int
}

const (
	maxCommand      = 4 << 20
	maxCommandLines = 10_000
)

func newCurlList(text *bufio.Reader) *curlList { return &curlList{lines: lines{r: text}} }

func (c *curlList) next() (*Record, error) {
	for {
		text, line, err := c.line()
		if err != nil {
			return nil, err
		}
		trimmed := strings.TrimSpace(text)
		if trimmed == "" || strings.HasPrefix(trimmed, "#") {
			continue
		}
		words, err := c.command(text, line)
		if err == nil {
			var rec *Record
			if rec, err = parseCurl(words); err == nil {
				rec.Line = line
				return rec, nil
			}
		}
		return nil, &Bad{Line: line, Why: err.Error()}
	}
}

// line is the next one, with its number.
func (c *curlList) line() (string, int, error) {
	if c.aheadAt > 0 {
		text, at := c.ahead, c.aheadAt
		c.ahead, c.aheadAt = "", 0
		return text, at, nil
	}
	text, err := c.lines.next()
	if errors.Is(err, errLongLine) {
		return "", 0, &Bad{Line: c.lines.number, Why: err.Error()}
	}
	return string(text), c.lines.number, err
}

var (
	errOpen     = errors.New("the command does not end: a quote is open, or the next line is missing")
	errNoSimple = errors.New("no plain curl command: shadowdiff runs no shell")
)

// command reads the words of the command that begins with a line, and further lines while it is not complete.
func (c *curlList) command(text string, first int) ([]string, error) {
	for n := 1; ; n++ {
		words, err := split(text)
		open := endsOpen(text)
		if err == nil && !open || err != nil && !open && !syntax.IsIncomplete(err) {
			return words, err
		}
		if len(text) > maxCommand || n > maxCommandLines {
			return nil, errOpen
		}
		more, at, err := c.line()
		if err != nil {
			if err == io.EOF && open {
				return split(strings.TrimRight(text, "\\"))
			}
			return nil, errOpen
		}
		if looksCurl.MatchString(strings.TrimSpace(more)) { // the one before never ends
			c.ahead, c.aheadAt = more, at
			return nil, errOpen
		}
		text += "\n" + more
	}
}

// endsOpen tells that the line goes on in the next.
func endsOpen(text string) bool {
	n := len(text) - len(strings.TrimRight(text, `\`))
	return n%2 == 1
}

// split reads the words of one command.
func split(text string) ([]string, error) {
	text = strings.TrimPrefix(strings.TrimSpace(text), "$ ")
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		if syntax.IsIncomplete(err) {
			return nil, err
		}
		return nil, fmt.Errorf("no command: %w", err)
	}
	if len(file.Stmts) == 0 {
		return nil, errNoSimple
	}
	stmt := file.Stmts[0]
	call, plain := stmt.Cmd.(*syntax.CallExpr)
	if len(file.Stmts) > 1 || !plain || len(call.Assigns) > 0 || stmt.Negated {
		return nil, errNoSimple
	}
	words, err := expand.Fields(&expand.Config{Env: expand.FuncEnviron(func(string) string { return "" }), NoUnset: true}, call.Args...)
	if err != nil {
		return nil, fmt.Errorf("it takes something from the shell: %w", err)
	}
	return words, nil
}

// curlCommand is one command, as far as it says what is asked.
type curlCommand struct {
	method string
	url    string
	header http.Header
	unset  []string // headers that curl is told not to send
	data   [][]byte
	get    bool // data go to the query
	head   bool
	json   bool
}

func parseCurl(words []string) (*Record, error) {
	if len(words) == 0 || words[0] != "curl" && words[0] != "curl.exe" {
		return nil, errors.New("no curl command")
	}
	c := curlCommand{header: http.Header{}}
	args := words[1:]
	for len(args) > 0 {
		word := args[0]
		args = args[1:]
		if !strings.HasPrefix(word, "-") || word == "-" {
			if err := c.setURL(word); err != nil {
				return nil, err
			}
			continue
		}
		var err error
		if args, err = c.option(word, args); err != nil {
			return nil, err
		}
	}
	return c.record()
}

func (c *curlCommand) setURL(text string) error {
	if c.url != "" {
		return errors.New("it asks for several URLs")
	}
	c.url = text
	return nil
}

// option takes one word that begins with a dash; short ones may stand together, and have their value behind them.
func (c *curlCommand) option(word string, args []string) (rest []string, err error) {
	if strings.HasPrefix(word, "--") {
		return c.apply(word, args)
	}
	for i := 1; i < len(word); i++ {
		short := "-" + word[i:i+1]
		long, known := curlShort[short]
		if !known {
			return nil, fmt.Errorf("shadowdiff does not know curl's %s", short)
		}
		if curlTakes(long) && i+1 < len(word) {
			_, err := c.apply(long, []string{word[i+1:]})
			return args, err
		}
		if args, err = c.apply(long, args); err != nil {
			return nil, err
		}
	}
	return args, nil
}

// curlShort are the short names of curl's options that may stand in a list.
var curlShort = map[string]string{
	"-X": "--request", "-H": "--header", "-d": "--data", "-G": "--get", "-I": "--head", "-A": "--user-agent", "-e": "--referer",
	"-b": "--cookie", "-u": "--user", "-F": "--form", "-T": "--upload-file", "-o": "--output", "-w": "--write-out",
	"-m": "--max-time", "-x": "--proxy", "-s": "--silent", "-S": "--show-error", "-k": "--insecure", "-L": "--location",
	"-i": "--include", "-v": "--verbose", "-f": "--fail", "-g": "--globoff", "-#": "--progress-bar", "-0": "--http1.0",
	"-4": "--ipv4", "-6": "--ipv6", "-N": "--no-buffer", "-O": "--remote-name", "-c": "--cookie-jar",
	"-E": "--cert", "-D": "--dump-header",
}

// curlIgnored are options that do not change what is asked; true: with a value.
var curlIgnored = map[string]bool{
	"--silent": false, "--show-error": false, "--insecure": false, "--location": false, "--include": false, "--verbose": false,
	"--fail": false, "--globoff": false, "--progress-bar": false, "--http1.0": false, "--http1.1": false, "--http2": false,
	"--http2-prior-knowledge": false, "--http3": false, "--ipv4": false, "--ipv6": false, "--no-buffer": false,
	"--remote-name": false, "--path-as-is": false, "--fail-with-body": false, "--no-progress-meter": false, "--parallel": false,
	"--output": true, "--write-out": true, "--max-time": true, "--connect-timeout": true, "--proxy": true, "--cookie-jar": true,
	"--cert": true, "--key": true, "--cacert": true, "--retry": true, "--resolve": true, "--dump-header": true,
	"--connect-to": true, "--interface": true, "--max-redirs": true, "--ciphers": true, "--tls-max": true, "--noproxy": true,
	"--raw": false, "--tr-encoding": false, "--ssl-no-revoke": false, "--tlsv1.2": false, "--tlsv1.3": false, "--proto": true,
}

// curlTakes tells whether an option has a value.
func curlTakes(long string) bool {
	switch long {
	case "--request", "--header", "--data", "--data-ascii", "--data-raw", "--data-binary", "--data-urlencode", "--json",
		"--user-agent", "--referer", "--cookie", "--user", "--form", "--upload-file", "--url":
		return true
	}
	return curlIgnored[long]
}

// apply takes one option by its long name, with its value from args.
func (c *curlCommand) apply(long string, args []string) (rest []string, err error) {
	value := ""
	if curlTakes(long) {
		if len(args) == 0 {
			return nil, fmt.Errorf("curl's %s has no value", long)
		}
		value, args = args[0], args[1:]
	}
	switch long {
	case "--request":
		c.method = value
	case "--url":
		err = c.setURL(value)
	case "--header":
		err = c.addHeader(value)
	case "--user-agent":
		c.header.Set("User-Agent", value)
	case "--referer":
		c.header.Set("Referer", value)
	case "--cookie":
		if !strings.Contains(value, "=") {
			return nil, errors.New("it reads cookies from a file")
		}
		c.header.Set("Cookie", value)
	case "--user":
		c.header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(value)))
	case "--data", "--data-ascii", "--data-binary", "--json", "--data-raw", "--data-urlencode":
		err = c.addData(long, value)
	case "--get":
		c.get = true
	case "--head":
		c.head = true
	case "--compressed":
		c.header.Set("Accept-Encoding", "deflate, gzip, br, zstd")
	case "--form", "--upload-file":
		return nil, fmt.Errorf("curl's %s sends a file or a form of parts, which is not replayed", long)
	default:
		if _, known := curlIgnored[long]; !known {
			return nil, fmt.Errorf("shadowdiff does not know curl's %s", long)
		}
	}
	return args, err
}

func (c *curlCommand) addHeader(text string) error {
	if strings.HasPrefix(text, "@") {
		return errors.New("it reads headers from a file")
	}
	if name, found := strings.CutSuffix(text, ";"); found && !strings.Contains(text, ":") { // an empty value
		c.header.Add(name, "")
		return nil
	}
	name, value, found := strings.Cut(text, ":")
	if !found {
		return fmt.Errorf("%q is no header", shorten(text))
	}
	if value = strings.TrimSpace(value); value == "" { // curl is told not to send what it would
		c.unset = append(c.unset, name)
		return nil
	}
	c.header.Add(name, value)
	return nil
}

func (c *curlCommand) addData(long, value string) error {
	if long != "--data-raw" && strings.HasPrefix(value, "@") {
		return errors.New("it reads its data from a file")
	}
	data := []byte(value)
	switch long {
	case "--data", "--data-ascii":
		data = []byte(strings.NewReplacer("\r", "", "\n", "").Replace(value)) // as curl does
	case "--data-urlencode":
		name, text, named := strings.Cut(value, "=")
		if !named {
			name, text = "", value
		}
		if data = []byte(url.QueryEscape(text)); named && name != "" {
			data = append([]byte(name+"="), data...)
		}
	case "--json":
		c.json = true
	}
	c.data = append(c.data, data)
	return nil
}

func (c *curlCommand) record() (*Record, error) {
	if c.url == "" {
		return nil, errors.New("it names no URL")
	}
	if !strings.Contains(c.url, "://") {
		c.url = "http://" + c.url
	}
	r := &Record{Request: Request{Method: http.MethodGet, Header: c.header}}
	if err := r.Request.setURL(c.url); err != nil {
		return nil, err
	}
	separator := "&"
	if c.json {
		separator = ""
	}
	data := bytes.Join(c.data, []byte(separator))
	switch {
	case c.head:
		r.Request.Method = http.MethodHead
	case c.data != nil && !c.get:
		r.Request.Method, r.Request.Body = http.MethodPost, data
		kind := "application/x-www-form-urlencoded"
		if c.json {
			kind = "application/json"
		}
		c.preset("Content-Type", kind)
	}
	if c.get && len(data) > 0 {
		join := "?"
		if strings.Contains(r.Request.Target, "?") {
			join = "&"
		}
		r.Request.Target += join + string(data)
	}
	if c.method != "" {
		r.Request.Method = c.method
	}
	if c.json {
		c.preset("Accept", "application/json")
	}
	c.preset("Accept", "*/*")
	c.preset("User-Agent", "curl")
	for _, name := range c.unset {
		c.header.Del(name)
	}
	if host := c.header.Get("Host"); host != "" {
		r.Request.Host = host
	}
	r.Request.tidy()
	return r, r.Request.check()
}

// preset is what curl sends of itself.
func (c *curlCommand) preset(name, value string) {
	if c.header[name] == nil {
		c.header.Set(name, value)
	}
}
