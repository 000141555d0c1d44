package traffic

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
)

// Format is how a file writes requests down.
type Format string

const (
	FormatHAR    Format = "har"    // HTTP Archive 1.2, as browsers and proxies save it
	FormatGor    Format = "gor"    // GoReplay
	FormatNDJSON Format = "ndjson" // recordings of shadowdiff
	FormatLog    Format = "log"    // access log, common or combined
	FormatCurl   Format = "curl"   // curl commands, as browsers copy them
)

// formats are all of them.
func formats() []Format {
	return []Format{FormatHAR, FormatGor, FormatNDJSON, FormatLog, FormatCurl}
}

// ParseFormat reads the name of a format; an empty one is none, and the file itself tells.
func ParseFormat(name string) (Format, error) {
	var names []string
	for _, f := range formats() {
		if string(f) == name || name == "" {
			return Format(name), nil
		}
		names = append(names, string(f))
	}
	return "", fmt.Errorf("%q is no format; there are %s", name, strings.Join(names, ", "))
}

var (
	looksHAR  = regexp.MustCompile(`^\s*\{\s*"log"\s*:`)
	looksGor  = regexp.MustCompile(`^[123] [0-9a-fA-F]+ \d+`)
	looksCurl = regexp.MustCompile(`^(\$ )?curl(\.exe)?\s`)
)

// detect tells the format by the beginning of a file. The first line that looks like one decides, so that some garbage
// before it does no harm. It answers with an empty one when no line does.
func detect(head []byte) Format {
	head = bytes.TrimPrefix(head, []byte("\xef\xbb\xbf"))
	if looksHAR.Match(head) {
		return FormatHAR
	}
	for line := range bytes.Lines(head) {
		line = trimEnd(line)
		switch {
		case looksGor.Match(line):
			return FormatGor
		case looksCurl.Match(bytes.TrimSpace(line)):
			return FormatCurl
		case looksLog.Match(line):
			return FormatLog
		case bytes.HasPrefix(line, []byte(`{"`)):
			return FormatNDJSON
		}
	}
	return ""
}
