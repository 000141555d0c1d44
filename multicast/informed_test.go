package multicast

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"testing"
)

// Informational answers come first, with their own headers only and each name's lines in order; and the answer after them
// has what the primary said and nothing more, whichever version the client speaks. The shadows say other things before
// theirs, which count for nothing.
func TestInformedAndAnswered(t *testing.T) {
	const final = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\nX-A: 1\r\n\r\n<html>"
	for _, major := range []int{1, 2} {
		primary := script(t, "HTTP/1.1 103 Early Hints\r\nLink: </b>\r\nLink: </a>\r\nConnection: X-Hop\r\nX-Hop: 1\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n"+final, false)
		shadow := script(t, "HTTP/1.1 102 Processing\r\nX-Other: 1\r\n\r\n"+final, false)
		s := newRawStage(t, primary, shadow, script(t, final, false), nil)
		for range 2 {
			var informed []string
			ctx := httptrace.WithClientTrace(patient(t), &httptrace.ClientTrace{Got1xxResponse: func(code int, h textproto.MIMEHeader) error {
				informed = append(informed, fmt.Sprint(code, " ", http.Header(h)))
				return nil
			}})
			r, err := http.NewRequestWithContext(ctx, "GET", "http://"+s.addr+"/a", nil)
			if err != nil {
				t.Fatal(err)
			}
			res, err := newGoClient(t, major).Do(r)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(res.Body)
			_ = res.Body.Close()
			if got, want := strings.Join(informed, ", "), "103 map[Link:[</b> </a>]], 102 map[]"; got != want {
				t.Errorf("HTTP/%d: informed of %s, not %s", major, got, want)
			}
			if got, want := fmt.Sprint(res.Header), "map[Content-Length:[6] X-A:[1]]"; err != nil || got != want || string(body) != "<html>" || res.ProtoMajor != major {
				t.Errorf("HTTP/%d: got %s %q over %s, %v", major, got, body, res.Proto, err)
			}
			ex := s.exchange()
			for role, res := range ex.Responses {
				if got := fmt.Sprint(res.Header); res.Outcome != OutcomeOK || got != "map[Content-Length:[6] X-A:[1]]" {
					t.Errorf("HTTP/%d: the %s has %s, %s", major, Role(role), res.Outcome, got)
				}
			}
		}
		s.counts(Counts{Requests: 2, Exchanged: 2, Compared: 2})
	}
}
