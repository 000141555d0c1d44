package multicast

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"
)

// socketServer is a handler that accepts a WebSocket and hands it to talk. What ended talk is told on ended.
func socketServer(ended chan<- error, options *websocket.AcceptOptions, talk func(context.Context, *websocket.Conn) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, options)
		if err != nil {
			ended <- err
			return
		}
		defer conn.CloseNow()
		conn.SetReadLimit(-1)
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		ended <- talk(ctx, conn)
	}
}

func echoMessages(ctx context.Context, conn *websocket.Conn) error {
	for {
		kind, message, err := conn.Read(ctx)
		if err != nil {
			return err
		}
		if err := conn.Write(ctx, kind, message); err != nil {
			return err
		}
	}
}

// open is a WebSocket through the proxy.
func (s *stage) open(ctx context.Context, options *websocket.DialOptions) *websocket.Conn {
	s.t.Helper()
	conn, _, err := websocket.Dial(ctx, "ws://"+s.addr+"/ws?room=1", options)
	if err != nil {
		s.t.Fatal(err)
	}
	conn.SetReadLimit(-1)
	s.t.Cleanup(func() { _ = conn.CloseNow() })
	return conn
}

// onlyPrimary checks that so many requests were counted as upgrades, and that no shadow heard of one.
func (s *stage) onlyPrimary(upgrades int64) {
	s.t.Helper()
	s.counts(Counts{Requests: upgrades, Skipped: map[Reason]int64{ReasonUpgrade: upgrades}})
	for _, role := range [...]Role{Secondary, Candidate} {
		if asked := s.upstream[role].requests(); len(asked) > 0 {
			s.t.Errorf("the %s was asked %d times", role, len(asked))
		}
	}
}

func patient(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// Many messages of every size, both ways at once, plain and compressed.
func TestWebSocketMessages(t *testing.T) {
	for name, mode := range map[string]websocket.CompressionMode{
		"plain": websocket.CompressionDisabled, "compressed": websocket.CompressionContextTakeover,
	} {
		t.Run(name, func(t *testing.T) {
			ended := make(chan error, 1)
			s := newStage(t, map[Role]http.HandlerFunc{
				Primary: socketServer(ended, &websocket.AcceptOptions{CompressionMode: mode, Subprotocols: []string{"chat.v2"}}, echoMessages),
			}, nil)
			ctx := patient(t)
			conn := s.open(ctx, &websocket.DialOptions{
				CompressionMode: mode, Subprotocols: []string{"chat.v1", "chat.v2"},
				HTTPHeader: http.Header{"Origin": {"http://" + s.addr}, "Cookie": {"sid=1"}}, // the server compares Origin with Host
			})
			if got := conn.Subprotocol(); got != "chat.v2" {
				t.Errorf("the subprotocol is %q", got)
			}
			const messages = 60
			sent := make(chan error, 1)
			go func() {
				for i := range messages {
					size := messageSize(i)
					if err := conn.Write(ctx, messageKind(i), bytes.Repeat([]byte{byte('a' + i%26)}, size)); err != nil {
						sent <- err
						return
					}
				}
				sent <- nil
			}()
			for i := range messages {
				size := messageSize(i)
				kind, message, err := conn.Read(ctx)
				if err != nil {
					t.Fatal(err)
				}
				if kind != messageKind(i) || !bytes.Equal(message, bytes.Repeat([]byte{byte('a' + i%26)}, size)) {
					t.Fatalf("message %d came back as %s of %d bytes, want %d", i, kind, len(message), size)
				}
			}
			if err := <-sent; err != nil {
				t.Error(err)
			}
			if err := conn.Close(websocket.StatusNormalClosure, ""); err != nil {
				t.Error(err)
			}
			if err := <-ended; websocket.CloseStatus(err) != websocket.StatusNormalClosure {
				t.Errorf("the server ended with %v", err)
			}
			asked := s.upstream[Primary].requests()[0]
			if asked.target != "/ws?room=1" || asked.host != s.addr || asked.header.Get("Cookie") != "sid=1" ||
				asked.header.Get("X-Forwarded-For") != "127.0.0.1" || asked.header.Get("Sec-Websocket-Version") != "13" {
				t.Errorf("the primary got %+v", asked)
			}
			s.onlyPrimary(1)
		})
	}
}

// messageSize is that of a frame of each kind, and once more than a frame of that kind should be.
func messageSize(i int) int {
	if i == 50 {
		return 1 << 20
	}
	return []int{0, 1, 125, 126, 4096, 65535, 65536}[i%7]
}

func messageKind(i int) websocket.MessageType {
	if i%2 == 0 {
		return websocket.MessageText
	}
	return websocket.MessageBinary
}

// A message that is sent in pieces arrives in pieces: the first one before the last is written.
func TestWebSocketPieces(t *testing.T) {
	ended, first := make(chan error, 1), make(chan string, 1)
	s := newStage(t, map[Role]http.HandlerFunc{
		Primary: socketServer(ended, nil, func(ctx context.Context, conn *websocket.Conn) error {
			_, message, err := conn.Reader(ctx)
			if err != nil {
				return err
			}
			piece := make([]byte, 5)
			if _, err := io.ReadFull(message, piece); err != nil {
				return err
			}
			first <- string(piece)
			rest, err := io.ReadAll(message)
			if err != nil {
				return err
			}
			return conn.Write(ctx, websocket.MessageText, rest)
		}),
	}, nil)
	ctx := patient(t)
	conn := s.open(ctx, nil)
	message, err := conn.Writer(ctx, websocket.MessageText)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(message, "hello"+strings.Repeat(".", 8192)) // enough to leave the writer's buffer
	select {
	case piece := <-first:
		if piece != "hello" {
			t.Errorf("the first piece is %q", piece)
		}
	case <-ctx.Done():
		t.Fatal("the first piece waits for the rest")
	}
	_, _ = io.WriteString(message, " world")
	if err := message.Close(); err != nil {
		t.Fatal(err)
	}
	if _, got, err := conn.Read(ctx); err != nil || !strings.HasSuffix(string(got), ". world") {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	s.onlyPrimary(1)
}

// Over TLS as well, which is where most WebSockets are.
func TestWebSocketOverTLS(t *testing.T) {
	cert, key := pemFiles(t)
	ended := make(chan error, 1)
	primary := newHandlerServer(t, socketServer(ended, nil, echoMessages))
	s := newRawStage(t, primary, "http://127.0.0.1:1", "http://127.0.0.1:1", func(c *Config) { c.TLS = ListenerTLS{cert, key} })
	ctx := patient(t)
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} // the certificate is its own
	t.Cleanup(transport.CloseIdleConnections)
	conn, _, err := websocket.Dial(ctx, "wss://"+s.overTLS()+"/ws", &websocket.DialOptions{HTTPClient: &http.Client{Transport: transport}})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.CloseNow()
	for i := range 10 {
		text := fmt.Sprint("message ", i)
		if err := conn.Write(ctx, websocket.MessageText, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if _, got, err := conn.Read(ctx); err != nil || string(got) != text {
			t.Errorf("got %q, %v", got, err)
		}
	}
	if err := conn.Close(websocket.StatusNormalClosure, ""); err != nil {
		t.Error(err)
	}
	if err := <-ended; websocket.CloseStatus(err) != websocket.StatusNormalClosure {
		t.Errorf("the server ended with %v", err)
	}
	s.counts(Counts{Requests: 1, Skipped: map[Reason]int64{ReasonUpgrade: 1}})
}

// The server speaks first, pings, and pushes more than any buffer holds while the client says nothing.
func TestWebSocketServerSpeaksFirst(t *testing.T) {
	ended := make(chan error, 1)
	const size, messages = 256 << 10, 16
	want := sha256.Sum256(bytes.Repeat([]byte("x"), size*messages))
	s := newStage(t, map[Role]http.HandlerFunc{
		Primary: socketServer(ended, nil, func(ctx context.Context, conn *websocket.Conn) error {
			for range messages {
				if err := conn.Write(ctx, websocket.MessageBinary, bytes.Repeat([]byte("x"), size)); err != nil {
					return err
				}
			}
			listening := conn.CloseRead(ctx) // answers the pong, and ends with the client's close
			if err := conn.Ping(ctx); err != nil {
				return fmt.Errorf("ping: %w", err)
			}
			<-listening.Done()
			return nil
		}),
	}, nil)
	ctx := patient(t)
	conn := s.open(ctx, nil)
	got := sha256.New()
	for range messages {
		_, message, err := conn.Read(ctx)
		if err != nil {
			t.Fatal(err)
		}
		got.Write(message)
	}
	if !bytes.Equal(got.Sum(nil), want[:]) {
		t.Error("the messages came changed")
	}
	conn.CloseRead(ctx)
	if err := conn.Ping(ctx); err != nil {
		t.Errorf("ping: %v", err)
	}
	_ = conn.Close(websocket.StatusNormalClosure, "")
	if err := <-ended; err != nil {
		t.Error(err)
	}
	s.onlyPrimary(1)
}

// The handshake that ends a WebSocket reaches the other side with its code and reason, whoever begins it.
func TestWebSocketCloseHandshake(t *testing.T) {
	t.Run("client", func(t *testing.T) {
		ended := make(chan error, 1)
		s := newStage(t, map[Role]http.HandlerFunc{Primary: socketServer(ended, nil, echoMessages)}, nil)
		conn := s.open(patient(t), nil)
		if err := conn.Close(4001, "going home"); err != nil {
			t.Errorf("the client's close: %v", err)
		}
		var closed websocket.CloseError
		if err := <-ended; !errors.As(err, &closed) || closed.Code != 4001 || closed.Reason != "going home" {
			t.Errorf("the server saw %v", err)
		}
		s.onlyPrimary(1)
	})
	t.Run("server", func(t *testing.T) {
		ended := make(chan error, 1)
		s := newStage(t, map[Role]http.HandlerFunc{
			Primary: socketServer(ended, nil, func(ctx context.Context, conn *websocket.Conn) error {
				if _, _, err := conn.Read(ctx); err != nil {
					return err
				}
				return conn.Close(4002, "closing time")
			}),
		}, nil)
		ctx := patient(t)
		conn := s.open(ctx, nil)
		if err := conn.Write(ctx, websocket.MessageText, []byte("last orders?")); err != nil {
			t.Fatal(err)
		}
		_, _, err := conn.Read(ctx)
		var closed websocket.CloseError
		if !errors.As(err, &closed) || closed.Code != 4002 || closed.Reason != "closing time" {
			t.Errorf("the client saw %v", err)
		}
		if err := <-ended; err != nil {
			t.Errorf("the server's close: %v", err)
		}
		s.onlyPrimary(1)
	})
}

// A side that goes without a word takes the other one with it.
func TestWebSocketLost(t *testing.T) {
	t.Run("client", func(t *testing.T) {
		ended := make(chan error, 1)
		s := newStage(t, map[Role]http.HandlerFunc{Primary: socketServer(ended, nil, echoMessages)}, nil)
		_ = s.open(patient(t), nil).CloseNow()
		if err := <-ended; err == nil || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the server saw %v", err)
		}
		s.onlyPrimary(1)
	})
	t.Run("server", func(t *testing.T) {
		ended := make(chan error, 1)
		s := newStage(t, map[Role]http.HandlerFunc{
			Primary: socketServer(ended, nil, func(ctx context.Context, conn *websocket.Conn) error {
				return conn.Write(ctx, websocket.MessageText, []byte("and gone"))
			}),
		}, nil)
		ctx := patient(t)
		conn := s.open(ctx, nil)
		if _, message, err := conn.Read(ctx); err != nil || string(message) != "and gone" {
			t.Errorf("got %q, %v", message, err)
		}
		if _, _, err := conn.Read(ctx); err == nil || ctx.Err() != nil {
			t.Errorf("after the end: %v", err)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
		s.onlyPrimary(1)
	})
}

// A primary that refuses the upgrade answers as it would have directly.
func TestWebSocketRefused(t *testing.T) {
	s := newStage(t, map[Role]http.HandlerFunc{Primary: func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Why", "members only")
		http.Error(w, "not today", http.StatusForbidden)
	}}, nil)
	_, res, err := websocket.Dial(patient(t), "ws://"+s.addr+"/ws", nil)
	if err == nil || res == nil {
		t.Fatalf("got %v, %v", res, err)
	}
	body, _ := io.ReadAll(res.Body)
	if res.StatusCode != http.StatusForbidden || res.Header.Get("X-Why") != "members only" || string(body) != "not today\n" {
		t.Errorf("got %s %q %q", res.Status, res.Header, body)
	}
	s.onlyPrimary(1)
}

// Many WebSockets at once beside plain requests, which are shadowed as ever.
func TestWebSocketsBesideRequests(t *testing.T) {
	const sockets = 16
	ended := make(chan error, sockets)
	chat := socketServer(ended, nil, echoMessages)
	s := newStage(t, map[Role]http.HandlerFunc{Primary: func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/ws" {
			chat(w, r)
			return
		}
		answer(200, "hello")(w, r)
	}}, nil)
	ctx := patient(t)
	var conns []*websocket.Conn
	for range sockets {
		conns = append(conns, s.open(ctx, nil))
	}
	for i, conn := range conns {
		text := fmt.Sprintf("socket %d", i)
		if err := conn.Write(ctx, websocket.MessageText, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if _, message, err := conn.Read(ctx); err != nil || string(message) != text {
			t.Errorf("socket %d got %q, %v", i, message, err)
		}
		if res, body := s.get("/plain"); res.StatusCode != 200 || body != "hello" {
			t.Errorf("got %s %q", res.Status, body)
		}
	}
	for _, conn := range conns {
		if err := conn.Close(websocket.StatusNormalClosure, ""); err != nil {
			t.Error(err)
		}
		<-ended
	}
	s.counts(Counts{Requests: 2 * sockets, Exchanged: sockets, Compared: sockets, Skipped: map[Reason]int64{ReasonUpgrade: sockets}})
}
