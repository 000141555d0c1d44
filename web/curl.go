package web

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-chi/chi/v5"

	"shadowdiff/multicast"
	"shadowdiff/store"
)

// sampleAndRole finds the sample that the path names, and reads which role of it is meant.
func (s *Server) sampleAndRole(r *http.Request) (*store.Sample, multicast.Role, error) {
	q, err := readQuery(r, "role")
	if err != nil {
		return nil, 0, err
	}
	role, err := q.role()
	if err != nil {
		return nil, 0, err
	}
	sample, err := s.findSample(r)
	return sample, role, err
}

// sampleCurl answers GET /api/v1/samples/{id}/curl: a command that asks one role what the client asked.
func (s *Server) sampleCurl(w http.ResponseWriter, r *http.Request) error {
	sample, role, err := s.sampleAndRole(r)
	if err != nil {
		return err
	}
	base := s.address(role)
	if base == "" {
		return refuse(http.StatusConflict, "there is no %s to ask: its address is not configured", role)
	}
	if sample.RequestCut {
		return refuse(http.StatusConflict, "sample %d holds only the first %d bytes of the request's body, so no command can send it again",
			sample.ID, len(sample.Request.Body))
	}
	writeBytes(w, http.StatusOK, "text/plain; charset=utf-8", curlOf(sample, role, base))
	return nil
}

// role reads the parameter of this name, the primary without it.
func (q query) role() (multicast.Role, error) {
	word, err := q.choice("role", "primary", "secondary", "candidate")
	for _, role := range roles {
		if role.String() == word {
			return role, err
		}
	}
	return multicast.Primary, err
}

// address is where a role is asked, without a slash at its end; empty when there is none.
func (s *Server) address(role multicast.Role) string {
	to := s.deps.Instance().Targets
	return strings.TrimSuffix(map[multicast.Role]string{
		multicast.Primary: to.Primary, multicast.Secondary: to.Secondary, multicast.Candidate: to.Candidate,
	}[role], "/")
}

// curlLongest is the longest body, in bytes, that stands in the command itself: a longer argument is more than some
// systems take, and is handed over by a pipe.
const curlLongest = 64 << 10

// curlOf writes a command for any POSIX shell. Every text of the request stands in single quotes, in which a shell reads
// nothing; bytes that a terminal would not keep as they are go through base64.
func curlOf(sample *store.Sample, role multicast.Role, base string) []byte {
	req := &sample.Request
	var out, args bytes.Buffer
	method := shellWord(req.Method)
	if req.Method == http.MethodHead {
		args.WriteString("curl --head")
	} else {
		args.WriteString("curl --request " + method)
	}
	args.WriteString(" --globoff --path-as-is")
	for _, line := range curlHeaders(req) {
		args.WriteString(" \\\n  --header " + shellWord(line))
	}
	if codings := strings.ToLower(req.Header.Get("Accept-Encoding")); strings.Contains(codings, "gzip") || strings.Contains(codings, "deflate") {
		args.WriteString(" \\\n  --compressed")
	}
	feed := curlBody(&args, req)
	args.WriteString(" \\\n  --url " + shellWord(base+req.Target) + "\n")

	fmt.Fprintf(&out, "# Sample %d: what the client asked, for the %s.\n", sample.ID, role)
	for _, sign := range []string{"[redacted", "%5Bredacted"} {
		if bytes.Contains(args.Bytes(), []byte(sign)) || bytes.Contains(req.Body, []byte(sign)) {
			out.WriteString("# Secrets were taken out before it was kept: put your own in the place of " + sign + "...\n")
		}
	}
	if len(req.Trailer) > 0 {
		out.WriteString("# The trailers of the request are left out: curl sends none.\n")
	}
	out.WriteString(feed)
	out.Write(args.Bytes())
	return out.Bytes()
}

// curlHeaders are the lines to send, sorted, and those without which curl would send lines of its own.
func curlHeaders(req *multicast.Request) []string {
	lines := []string{"Host: " + req.Host}
	for _, name := range slices.Sorted(maps.Keys(req.Header)) {
		switch http.CanonicalHeaderKey(name) {
		case "Host", "Content-Length", "Transfer-Encoding", "Connection", "Expect":
			continue // curl's own affair
		}
		for _, value := range req.Header[name] {
			if value == "" {
				lines = append(lines, name+";") // curl's way to say that there is no value
			} else {
				lines = append(lines, name+": "+value)
			}
		}
	}
	own := []string{"Accept", "User-Agent"}
	if hasBody(req) {
		own = append(own, "Content-Type", "Expect")
	}
	for _, name := range own {
		if len(req.Header.Values(name)) == 0 || name == "Expect" {
			lines = append(lines, name+":")
		}
	}
	return lines
}

// hasBody tells whether something is to be sent, be it nothing at all that is said to be so long.
func hasBody(req *multicast.Request) bool {
	takesOne := req.Method == http.MethodPost || req.Method == http.MethodPut || req.Method == http.MethodPatch
	return req.Method != http.MethodHead && (len(req.Body) > 0 || takesOne)
}

// curlBody adds the body to the arguments, or what hands it over by a pipe.
func curlBody(args *bytes.Buffer, req *multicast.Request) (feed string) {
	switch {
	case !hasBody(req):
		return ""
	case !typed(req.Body):
		feed = "printf %s " + shellWord(base64.StdEncoding.EncodeToString(req.Body)) + " | base64 -d | "
	case len(req.Body) > curlLongest || bytes.HasPrefix(req.Body, []byte("@")): // to curl, @ begins a file's name
		feed = "printf %s " + shellWord(string(req.Body)) + " | "
	default:
		args.WriteString(" \\\n  --data-binary " + shellWord(string(req.Body)))
		return ""
	}
	args.WriteString(" \\\n  --data-binary @-")
	return feed
}

// typed tells whether a body is text that outlives being copied to a terminal.
func typed(body []byte) bool {
	return utf8.Valid(body) && !bytes.ContainsFunc(body, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r == 0x7f })
}

// shellWord is a text as one word of a POSIX shell.
func shellWord(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// sampleName is the file as which an export of a sample is kept.
func sampleName(r *http.Request, extension string) string {
	return "shadowdiff-sample-" + chi.URLParam(r, "id") + extension
}
