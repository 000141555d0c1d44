package web

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"shadowdiff/multicast"
)

// rawOf writes an answer as it would stand on the wire, its body decoded.
func rawOf(resp *multicast.Response) string {
	var b strings.Builder
	if resp.Status > 0 {
		fmt.Fprintf(&b, "HTTP/1.1 %d %s\n", resp.Status, http.StatusText(resp.Status))
	}
	for _, name := range slices.Sorted(maps.Keys(resp.Header)) {
		for _, value := range resp.Header[name] {
			fmt.Fprintf(&b, "%s: %s\n", name, value)
		}
	}
	b.WriteString("\n" + printable(resp.Body))
	return b.String()
}

const (
	printMost = 256 << 10 // bytes of a body that a page prints raw
	dumpMost  = 1 << 10   // bytes of a binary body
)

// printable shows text as it is and anything else as a dump of its beginning.
func printable(body []byte) string {
	if utf8.Valid(body) && bytes.IndexByte(body, 0) < 0 {
		if len(body) > printMost {
			return strings.ToValidUTF8(string(body[:printMost]), "") + fmt.Sprintf("\n… %s more", size(int64(len(body)-printMost)))
		}
		return string(body)
	}
	if len(body) > dumpMost {
		return hex.Dump(body[:dumpMost]) + fmt.Sprintf("… %s more", size(int64(len(body)-dumpMost)))
	}
	return hex.Dump(body)
}
