package normalize

import (
	"fmt"
	"net/http"
	"strings"
)

// Describe says what bytes that are no text are: how many, of which media type by the numbers they begin with where that
// can be told (as browsers tell it, WHATWG MIME Sniffing), and their SHA-256.
func Describe(size int64, data []byte, sum [32]byte) string {
	text := fmt.Sprintf("%d bytes", size)
	if media := SniffedType(data); media != "" {
		text += ", " + media
	}
	return fmt.Sprintf("%s, sha256 %x", text, sum)
}

// SniffedType is the media type that the first bytes of what is no text tell; empty where they tell none.
func SniffedType(data []byte) string {
	media := http.DetectContentType(data)
	if media == "application/octet-stream" || strings.HasPrefix(media, "text/") {
		return ""
	}
	return media
}
