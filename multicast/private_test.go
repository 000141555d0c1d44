package multicast

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// signing is a primary to which a connection is somebody's, once they have signed in on it in two steps; it tells everybody
// who they are, and on which connection they came.
func signing(t *testing.T) string {
	count := make(chan int, 1)
	count <- 0
	return raw(t, func(conn net.Conn, r *bufio.Reader) {
		n := <-count + 1
		count <- n
		who, challenged := "nobody", false
		for {
			req, err := http.ReadRequest(r)
			if err != nil {
				return
			}
			_, _ = io.Copy(io.Discard, req.Body)
			scheme, token, _ := strings.Cut(req.Header.Get("Authorization"), " ")
			challenge := ""
			switch {
			case token == "hello":
				challenged, challenge = true, "WWW-Authenticate: "+scheme+" challenge\r\n"
			case token != "" && challenged:
				who = token
			}
			body := fmt.Sprintf("%s %d", who, n)
			status := "200 OK"
			if challenge != "" || token != "" && !challenged {
				status = "401 Unauthorized"
			}
			fmt.Fprintf(conn, "HTTP/1.1 %s\r\n%sContent-Length: %d\r\n\r\n%s", status, challenge, len(body), body)
		}
	})
}

// Who signs in on a connection is the only one to use it, and nobody else is taken for them.
func TestWhoSignsInHasAConnectionOfTheirOwn(t *testing.T) {
	for _, scheme := range []string{"NTLM", "Negotiate", "negotiate", "Nego2"} {
		s := newRawStage(t, signing(t), signing(t), signing(t), nil)
		ask := func(w *wire, authorization string) (int, string) {
			t.Helper()
			if authorization != "" {
				authorization = "Authorization: " + scheme + " " + authorization + "\r\n"
			}
			w.send("GET /me HTTP/1.1\r\nHost: a\r\n" + authorization + "\r\n")
			res, body := w.response("GET")
			return res.StatusCode, body
		}
		ann, bob, passer := s.dial(), s.dial(), s.dial()
		if status, body := ask(ann, ""); status != 200 || !strings.HasPrefix(body, "nobody ") {
			t.Fatalf("before: %d %s", status, body)
		}
		// All steps of two clients in turn: each is on a connection of its own.
		for _, step := range []struct {
			token  string
			status int
		}{{"hello", 401}, {"ann", 200}, {"", 200}, {"", 200}} {
			ofAnn, ofBob := step.token, strings.Replace(step.token, "ann", "bob", 1)
			for _, one := range []struct {
				wire  *wire
				token string
				who   string
			}{{ann, ofAnn, "ann"}, {bob, ofBob, "bob"}} {
				status, body := ask(one.wire, one.token)
				if status != step.status || status == 200 && !strings.HasPrefix(body, one.who+" ") {
					t.Errorf("%s: %s asks with %q and gets %d %s", scheme, one.who, one.token, status, body)
				}
			}
			if _, body := ask(passer, ""); !strings.HasPrefix(body, "nobody ") {
				t.Errorf("%s: a passer-by is taken for %s", scheme, body)
			}
		}
		// What belonged to somebody ends with them.
		_, before := ask(ann, "")
		_, _ = ann.Close(), bob.Close()
		s.eventually("nobody has a way of their own", func() bool {
			left := 0
			s.proxy.private.ways.Range(func(any, any) bool { left++; return true })
			return left == 0
		})
		if _, after := ask(s.dial(), ""); !strings.HasPrefix(after, "nobody ") || after == before {
			t.Errorf("%s: a later client gets %s", scheme, after)
		}
		s.counts(Counts{Requests: 15, Skipped: map[Reason]int64{ReasonSignedIn: 9}, Exchanged: 6, Compared: 6})
	}
}

// Over HTTP/2 a connection is nobody's, but the primary's is.
func TestWhoSignsInOverHTTP2LeavesNoConnectionBehind(t *testing.T) {
	s := newRawStage(t, signing(t), signing(t), signing(t), nil)
	client := newGoClient(t, 2)
	for _, token := range []string{"hello", ""} {
		req, _ := http.NewRequest("GET", "http://"+s.addr+"/me", nil)
		if token != "" {
			req.Header.Set("Authorization", "Negotiate "+token)
		}
		res, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if want := map[string]string{"hello": "nobody 1", "": "nobody 2"}[token]; string(body) != want {
			t.Errorf("with %q: got %s", token, body)
		}
	}
}

// A server may part the scheme from what follows at a tab.
func TestWhatSignsIn(t *testing.T) {
	for authorization, want := range map[string]bool{
		"NTLM TlRM": true, " ntlm\tTlRM": true, "Negotiate\tYII": true, "Nego2 x": true, "NTLM": true,
		"Basic bnRsbQ==": false, "Bearer ntlm": false, "NT": false, "": false,
	} {
		if got := signsIn(http.Header{"Authorization": {authorization}}); got != want {
			t.Errorf("%q: %t", authorization, got)
		}
	}
}
