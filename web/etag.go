package web

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"

	"shadowdiff/store"
)

// gzipTag ends the entity tags of answers that are compressed: strong tags of the same answer in two codings differ.
//
// Source: RFC 9110, section 8.8.3.3.
const gzipTag = "-gz"

// newBoot tells this process from those before it, which gave their snapshots the same numbers.
func newBoot() string { return rand.Text()[:12] }

// fresh names the state that an answer is made of, by a strong entity tag made of the snapshot's version, this process and
// the request's parameters, and answers 304 when the caller has just that. The handler is done then.
func (s *Server) fresh(w http.ResponseWriter, r *http.Request, snap *store.Snapshot) bool {
	of := fmt.Appendf(nil, "%d %d %s?%s", snap.Run.ID, snap.Time.UnixNano(), r.URL.Path, r.URL.RawQuery)
	return unchanged(w, r, fmt.Sprintf("%s.%d.%s", s.boot, snap.Version, digest(of)))
}

// digest names bytes by 96 bits of their SHA-256.
func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return base64.RawURLEncoding.EncodeToString(sum[:12])
}

// unchanged is fresh with any name of a state.
func unchanged(w http.ResponseWriter, r *http.Request, state string) bool {
	if acceptsGzip(r.Header) {
		state += gzipTag
	}
	tag, h := `"`+state+`"`, w.Header()
	h.Set("ETag", tag)
	h.Set("Cache-Control", "no-cache") // kept, but asked about each time
	if !tagListed(r.Header.Values("If-None-Match"), tag) {
		return false
	}
	w.WriteHeader(http.StatusNotModified)
	return true
}

// tagListed tells whether If-None-Match names the tag, by weak comparison, or with * any at all.
//
// Source: RFC 9110, sections 8.8.3.2 and 13.1.2.
func tagListed(lines []string, tag string) bool {
	for _, line := range lines {
		if strings.TrimSpace(line) == "*" {
			return true
		}
		for rest := line; ; {
			one, after, ok := nextTag(rest)
			if !ok {
				break // nothing more, or no list of tags: the request is answered as if it had not been sent
			}
			if one == tag {
				return true
			}
			rest = after
		}
	}
	return false
}

// nextTag takes the first entity tag off a list, without its mark of weakness.
func nextTag(list string) (tag, rest string, ok bool) {
	list = strings.TrimPrefix(strings.TrimLeft(list, ", \t"), "W/")
	if !strings.HasPrefix(list, `"`) {
		return "", "", false
	}
	end := strings.IndexByte(list[1:], '"')
	if end < 0 {
		return "", "", false
	}
	tag, rest = list[:end+2], strings.TrimLeft(list[end+2:], " \t")
	if rest != "" && rest[0] != ',' {
		return "", "", false
	}
	return tag, rest, true
}
