package normalize

import (
	"bytes"
	"net/http"
	"strings"
)

// label is what a Content-Type says of a body.
type label struct {
	media    string // in lower case
	charset  string
	boundary string // of multipart

	json, records, sequence, html, xml bool
}

func labelOf(header http.Header) label { return readLabel(header.Get("Content-Type")) }

func readLabel(value string) label {
	media, params, _ := strings.Cut(value, ";")
	l := label{media: strings.ToLower(trimSpace(media))}
	l.json, l.records, l.sequence = isJSONType(l.media), isRecordsType(l.media), isSequenceType(l.media)
	l.html, l.xml = l.media == "text/html", isXMLType(l.media)
	if params != "" {
		l.charset = param(params, "charset")
		if strings.HasPrefix(l.media, "multipart/") {
			l.boundary = param(params, "boundary")
		}
	}
	return l
}

// isText tells whether the media type is one of text, or there is none.
func (l *label) isText() bool {
	switch l.media {
	case "", "application/javascript", "application/ecmascript", "application/x-javascript", mediaForm:
		return true
	}
	return l.json || l.records || l.sequence || l.xml || strings.HasPrefix(l.media, "text/")
}

// hasBrackets tells whether what is promised has characters of ASCII in it, whatever else.
func (l *label) hasBrackets() bool { return l.json || l.records || l.sequence || l.html || l.xml }

// promisesTree tells whether a body is one that becomes a tree without being JSON, if it is what it is called.
func (l *label) promisesTree(data []byte) bool {
	return l.html || l.xml || hasXMLDeclaration(data) || l.media == mediaForm || l.media == mediaEvents ||
		strings.HasPrefix(l.media, "multipart/")
}

func hasXMLDeclaration(data []byte) bool {
	return bytes.HasPrefix(bytes.TrimPrefix(data, []byte(bom)), []byte("<?xml "))
}

// isXMLType tells whether a media type promises XML (RFC 7303).
func isXMLType(media string) bool {
	switch media {
	case "application/xml", "text/xml", "application/xml-external-parsed-entity", "text/xml-external-parsed-entity":
		return true
	}
	return strings.HasSuffix(media, "+xml")
}

// isSequenceType tells whether a media type promises JSON texts behind record separators (RFC 7464).
func isSequenceType(media string) bool {
	return media == "application/json-seq" || strings.HasSuffix(media, "+json-seq")
}

// param is the value of a header's parameter: the first of its name, unquoted. Unlike the standard library's it takes what
// is wrong elsewhere in the header.
func param(params, name string) string {
	for params != "" {
		var key, value string
		key, params = cutAny(params, ";=")
		if strings.HasPrefix(params, "=") {
			value, params = paramValue(strings.TrimLeft(params[1:], " \t"))
		}
		if _, params = cutAny(params, ";"); params != "" {
			params = params[1:]
		}
		if strings.EqualFold(trimSpace(key), name) {
			return value
		}
	}
	return ""
}

// cutAny cuts before the first of some bytes.
func cutAny(s, bytes string) (before, rest string) {
	if at := strings.IndexAny(s, bytes); at >= 0 {
		return s[:at], s[at:]
	}
	return s, ""
}

// paramValue reads a token or a quoted string (RFC 9110, section 5.6.4).
func paramValue(s string) (value, rest string) {
	if !strings.HasPrefix(s, `"`) {
		value, rest = cutAny(s, ";")
		return trimSpace(value), rest
	}
	var out []byte
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '"':
			return string(out), s[i+1:]
		case s[i] == '\\' && i+1 < len(s):
			i++
		}
		out = append(out, s[i])
	}
	return string(out), ""
}
