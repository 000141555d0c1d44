package multicast

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// catalogue is a gRPC service whose messages are strings. A method that is nil is not there.
type catalogue struct {
	price func(context.Context, string) (string, error) // unary
	list  func(grpc.ServerStream) error                 // one question, many answers
	total func(grpc.ServerStream) error                 // many questions, one answer
	talk  func(grpc.ServerStream) error                 // both at once
}

func (c *catalogue) server() *grpc.Server {
	desc := &grpc.ServiceDesc{ServiceName: "shop.Catalogue", HandlerType: (*any)(nil)}
	if c.price != nil {
		desc.Methods = []grpc.MethodDesc{{MethodName: "Price", Handler: func(_ any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			in := new(wrapperspb.StringValue)
			if err := decode(in); err != nil {
				return nil, err
			}
			out, err := c.price(ctx, in.GetValue())
			return wrapperspb.String(out), err
		}}}
	}
	for name, handle := range map[string]func(grpc.ServerStream) error{"List": c.list, "Total": c.total, "Talk": c.talk} {
		if handle != nil {
			desc.Streams = append(desc.Streams, grpc.StreamDesc{
				StreamName: name, ServerStreams: name != "Total", ClientStreams: name != "List",
				Handler: func(_ any, stream grpc.ServerStream) error { return handle(stream) },
			})
		}
	}
	server := grpc.NewServer()
	server.RegisterService(desc, nil)
	return server
}

// serve starts the service with gRPC's own server; kill ends it with every connection.
func (c *catalogue) serve(t *testing.T) (address string, kill func()) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server, done := c.server(), make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(listener)
	}()
	kill = sync.OnceFunc(func() {
		server.Stop()
		<-done
	})
	t.Cleanup(kill)
	return "h2c://" + listener.Addr().String(), kill
}

// witness starts the service behind net/http's server, which shows what came: it goes to asked. The request is read to
// its end before the service sees it, so that nothing depends on which comes first.
func (c *catalogue) witness(t *testing.T, asked chan<- received) string {
	t.Helper()
	server := c.server()
	return newH2C(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked <- received{method: r.Method, target: r.RequestURI, host: r.Host, header: r.Header.Clone(), body: string(body)}
		r.Body = io.NopCloser(bytes.NewReader(body))
		server.ServeHTTP(w, r)
	})
}

// newH2C is an upstream that speaks HTTP/2 without TLS, and HTTP/1.1.
func newH2C(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetHTTP1(true)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	t.Cleanup(server.Close)
	return strings.Replace(server.URL, "http:", "h2c:", 1)
}

// grpc is one connection of a gRPC client to the proxy.
func (s *stage) grpc() *grpc.ClientConn {
	s.t.Helper()
	return newGRPCClient(s.t, s.addr, insecure.NewCredentials())
}

func newGRPCClient(t *testing.T, addr string, secured credentials.TransportCredentials) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:///"+addr, grpc.WithTransportCredentials(secured))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

const (
	priceMethod = "/shop.Catalogue/Price"
	listMethod  = "/shop.Catalogue/List"
	totalMethod = "/shop.Catalogue/Total"
	talkMethod  = "/shop.Catalogue/Talk"
)

func ask(ctx context.Context, conn *grpc.ClientConn, text string, options ...grpc.CallOption) (string, error) {
	out := new(wrapperspb.StringValue)
	err := conn.Invoke(ctx, priceMethod, wrapperspb.String(text), out, options...)
	return out.GetValue(), err
}

// talker is either end of a stream.
type talker interface {
	SendMsg(any) error
	RecvMsg(any) error
}

func say(stream talker, text string) error { return stream.SendMsg(wrapperspb.String(text)) }

func hear(stream talker) (string, error) {
	in := new(wrapperspb.StringValue)
	err := stream.RecvMsg(in)
	return in.GetValue(), err
}

// hears checks the next message.
func hears(t *testing.T, stream talker, want string) {
	t.Helper()
	if got, err := hear(stream); err != nil || got != want {
		t.Fatalf("heard %q, %v; want %q", got, err, want)
	}
}

func begin(t *testing.T, ctx context.Context, conn *grpc.ClientConn, method string) grpc.ClientStream {
	t.Helper()
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: method != totalMethod, ClientStreams: method != listMethod}, method)
	if err != nil {
		t.Fatal(err)
	}
	return stream
}

// newGRPCStage is a proxy with default settings before one gRPC server, which is on all three sides.
func newGRPCStage(t *testing.T, c *catalogue) (s *stage, kill func()) {
	t.Helper()
	address, kill := c.serve(t)
	return newRawStage(t, address, address, address, nil), kill
}

// byMethod checks that so many requests were not shadowed, as is the default for POST.
func (s *stage) byMethod(requests int64) {
	s.t.Helper()
	s.counts(Counts{Requests: requests, Skipped: map[Reason]int64{ReasonMethod: requests}})
}

func TestGRPCUnary(t *testing.T) {
	s, _ := newGRPCStage(t, &catalogue{price: func(ctx context.Context, article string) (string, error) {
		in, _ := metadata.FromIncomingContext(ctx)
		_ = grpc.SetHeader(ctx, metadata.Pairs("x-shop", "north", "x-raw-bin", "\x00\xff"))
		_ = grpc.SetTrailer(ctx, metadata.Pairs("x-cost", "3", "x-cost", "4", "x-end-bin", "\xfe\x01"))
		return strings.Join(in["x-session"], ",") + " " + article, nil
	}})
	conn := s.grpc()
	ctx := metadata.AppendToOutgoingContext(patient(t), "x-session", "7", "x-session", "8")
	for _, article := range []string{"tea", "", strings.Repeat("long ", 100_000)} {
		for name, options := range map[string][]grpc.CallOption{"plain": nil, "gzip": {grpc.UseCompressor(gzip.Name)}} {
			var header, trailer metadata.MD
			got, err := ask(ctx, conn, article, append(options, grpc.Header(&header), grpc.Trailer(&trailer))...)
			if err != nil || got != "7,8 "+article {
				t.Errorf("%s: got %d bytes, %v", name, len(got), err)
			}
			if header.Get("x-shop")[0] != "north" || header.Get("x-raw-bin")[0] != "\x00\xff" {
				t.Errorf("%s: the header is %v", name, header)
			}
			if cost := trailer.Get("x-cost"); len(cost) != 2 || cost[0] != "3" || cost[1] != "4" || trailer.Get("x-end-bin")[0] != "\xfe\x01" {
				t.Errorf("%s: the trailer is %v", name, trailer)
			}
		}
	}
	s.byMethod(6)
}

// Over TLS as well, where HTTP/2 is agreed upon in the handshake.
func TestGRPCOverTLS(t *testing.T) {
	cert, key := pemFiles(t)
	shop := &catalogue{price: func(_ context.Context, article string) (string, error) { return "re: " + article, nil }}
	address, _ := shop.serve(t)
	s := newRawStage(t, address, "", "", func(c *Config) { c.TLS = ListenerTLS{cert, key} })
	secured := credentials.NewTLS(&tls.Config{InsecureSkipVerify: true}) // the certificate is its own
	if got, err := ask(patient(t), newGRPCClient(t, s.overTLS(), secured), "tea"); err != nil || got != "re: tea" {
		t.Errorf("got %q, %v", got, err)
	}
}

// A status that comes in place of an answer, one after it, and one that the proxy's own answer turns into.
func TestGRPCErrors(t *testing.T) {
	const why = "100 % no “tea” here\nnor there"
	s, kill := newGRPCStage(t, &catalogue{
		price: func(ctx context.Context, _ string) (string, error) {
			_ = grpc.SetTrailer(ctx, metadata.Pairs("x-shelf", "4"))
			failure, err := status.New(codes.NotFound, why).WithDetails(wrapperspb.String("tea"))
			if err != nil {
				return "", err
			}
			return "", failure.Err()
		},
		list: func(stream grpc.ServerStream) error {
			_ = say(stream, "first")
			return status.Error(codes.DataLoss, why)
		},
	})
	conn, ctx := s.grpc(), patient(t)
	var trailer metadata.MD
	_, err := ask(ctx, conn, "tea", grpc.Trailer(&trailer))
	got := status.Convert(err)
	if got.Code() != codes.NotFound || got.Message() != why || len(got.Details()) != 1 || trailer.Get("x-shelf")[0] != "4" {
		t.Errorf("got %v with %v, trailer %v", err, got.Details(), trailer)
	}
	stream := begin(t, ctx, conn, listMethod)
	if err := errors.Join(say(stream, "all"), stream.CloseSend()); err != nil {
		t.Fatal(err)
	}
	hears(t, stream, "first")
	if _, err := hear(stream); status.Code(err) != codes.DataLoss || status.Convert(err).Message() != why {
		t.Errorf("after the first message: %v", err)
	}
	if err := conn.Invoke(ctx, "/shop.Catalogue/Nothing", wrapperspb.String(""), new(wrapperspb.StringValue)); status.Code(err) != codes.Unimplemented {
		t.Errorf("a method that is not there: %v", err)
	}
	early := begin(t, ctx, conn, "/shop.Catalogue/Nothing") // the answer does not wait for the end of what is asked
	if _, err := hear(early); status.Code(err) != codes.Unimplemented {
		t.Errorf("a method that is not there, still being asked: %v", err)
	}
	kill()
	if _, err := ask(ctx, conn, "tea"); status.Code(err) != codes.Unavailable {
		t.Errorf("a primary that is not there: %v", err)
	}
	s.byMethod(5)
}

// Each message arrives before the next is sent, whoever sends.
func TestGRPCStreams(t *testing.T) {
	next, heard := make(chan string), make(chan string)
	s, _ := newGRPCStage(t, &catalogue{
		list: func(stream grpc.ServerStream) error {
			if _, err := hear(stream); err != nil {
				return err
			}
			for text := range next {
				if err := say(stream, text); err != nil {
					return err
				}
			}
			return nil
		},
		total: func(stream grpc.ServerStream) error {
			for n := 0; ; n++ {
				text, err := hear(stream)
				if errors.Is(err, io.EOF) {
					return say(stream, fmt.Sprint(n, " heard"))
				}
				if err != nil {
					return err
				}
				heard <- text
			}
		},
	})
	conn, ctx := s.grpc(), patient(t)
	t.Run("server", func(t *testing.T) {
		stream := begin(t, ctx, conn, listMethod)
		if err := errors.Join(say(stream, "all"), stream.CloseSend()); err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{"one", "", strings.Repeat("three", 100_000), "four"} {
			next <- text
			hears(t, stream, text)
		}
		close(next)
		if _, err := hear(stream); !errors.Is(err, io.EOF) {
			t.Errorf("the end is %v", err)
		}
	})
	t.Run("client", func(t *testing.T) {
		stream := begin(t, ctx, conn, totalMethod)
		for _, text := range []string{"one", "", strings.Repeat("three", 100_000), "four"} {
			if err := say(stream, text); err != nil {
				t.Fatal(err)
			}
			select {
			case got := <-heard:
				if got != text {
					t.Errorf("the server heard %d bytes, want %d", len(got), len(text))
				}
			case <-ctx.Done():
				t.Fatal("the message waits for the next")
			}
		}
		if err := stream.CloseSend(); err != nil {
			t.Fatal(err)
		}
		hears(t, stream, "4 heard")
	})
	s.byMethod(2)
}

// Both sides speak in turn on one stream; the server may greet before it is asked, and go on when the client is done.
func TestGRPCBidi(t *testing.T) {
	s, _ := newGRPCStage(t, &catalogue{talk: func(stream grpc.ServerStream) error {
		if err := stream.SendHeader(metadata.Pairs("x-ready", "yes")); err != nil {
			return err
		}
		if err := say(stream, "welcome"); err != nil {
			return err
		}
		for {
			text, err := hear(stream)
			if errors.Is(err, io.EOF) {
				stream.SetTrailer(metadata.Pairs("x-last", "bye"))
				return errors.Join(say(stream, "one more"), say(stream, "and one"))
			}
			if err != nil {
				return err
			}
			if err := say(stream, "re: "+text); err != nil {
				return err
			}
		}
	}})
	conn, ctx := s.grpc(), patient(t)
	stream := begin(t, ctx, conn, talkMethod)
	if header, err := stream.Header(); err != nil || len(header.Get("x-ready")) != 1 {
		t.Fatalf("the header is %v, %v", header, err)
	}
	hears(t, stream, "welcome")
	for i := range 100 {
		text := strings.Repeat("x", i*i) // up to more than one frame holds
		if err := say(stream, text); err != nil {
			t.Fatal(err)
		}
		hears(t, stream, "re: "+text)
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	hears(t, stream, "one more")
	hears(t, stream, "and one")
	if _, err := hear(stream); !errors.Is(err, io.EOF) {
		t.Errorf("the end is %v", err)
	}
	if last := stream.Trailer().Get("x-last"); len(last) != 1 || last[0] != "bye" {
		t.Errorf("the trailer is %v", stream.Trailer())
	}
	s.byMethod(1)
}

// A hundred calls at once on one connection, each held until all are there.
func TestGRPCParallel(t *testing.T) {
	const calls = 100
	var all sync.WaitGroup
	all.Add(calls)
	s, _ := newGRPCStage(t, &catalogue{price: func(_ context.Context, article string) (string, error) {
		all.Done()
		all.Wait()
		return "re: " + article, nil
	}})
	conn, ctx := s.grpc(), patient(t)
	failures := make(chan error, calls)
	for i := range calls {
		go func() {
			got, err := ask(ctx, conn, fmt.Sprint(i))
			if err == nil && got != fmt.Sprint("re: ", i) {
				err = fmt.Errorf("call %d got %q", i, got)
			}
			failures <- err
		}()
	}
	for range calls {
		if err := <-failures; err != nil {
			t.Error(err)
		}
	}
	s.byMethod(calls)
}

// Deadlines and cancels reach the server; a server that dies in a stream is never mistaken for the stream's end.
func TestGRPCEndsEarly(t *testing.T) {
	begun, ended := make(chan bool, 1), make(chan error, 1)
	wait := func(ctx context.Context) error {
		_, limited := ctx.Deadline()
		begun <- limited
		<-ctx.Done()
		ended <- ctx.Err()
		return status.FromContextError(ctx.Err()).Err()
	}
	s, kill := newGRPCStage(t, &catalogue{
		price: func(ctx context.Context, _ string) (string, error) { return "", wait(ctx) },
		list:  func(stream grpc.ServerStream) error { return wait(stream.Context()) },
		talk: func(stream grpc.ServerStream) error {
			_ = say(stream, "welcome")
			return wait(stream.Context())
		},
	})
	conn, ctx := s.grpc(), patient(t)

	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	_, err := ask(short, conn, "tea")
	cancel()
	// The server knows the deadline too: where it gives up first, the proxy has no answer to pass on.
	if code := status.Code(err); code != codes.DeadlineExceeded && code != codes.Unavailable {
		t.Errorf("after the deadline: %v", err)
	}
	select {
	case limited := <-begun:
		if err := <-ended; !limited || err == nil {
			t.Errorf("the server's deadline is set: %t; it ended with %v", limited, err)
		}
	default: // the deadline was over before the server was asked
	}

	leaving, leave := context.WithCancel(ctx)
	stream := begin(t, leaving, conn, listMethod)
	if err := errors.Join(say(stream, "all"), stream.CloseSend()); err != nil {
		t.Fatal(err)
	}
	<-begun
	leave()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the server ended with %v", err)
	}

	stream = begin(t, ctx, conn, talkMethod)
	hears(t, stream, "welcome")
	<-begun
	kill()
	if _, err := hear(stream); err == nil || errors.Is(err, io.EOF) || ctx.Err() != nil {
		t.Errorf("after the server's death: %v", err)
	}
	<-ended
	s.eventually("placed", func() bool { return s.proxy.Counts().Open == 0 })
}

// Where routes opt in, a call with one answer is shadowed and compared, with its trailers; streams never are.
func TestGRPCShadowed(t *testing.T) {
	var asked [3]chan received
	var address [3]string
	for role := range asked {
		asked[role] = make(chan received, 8)
		shop := &catalogue{
			price: func(ctx context.Context, article string) (string, error) {
				_ = grpc.SetTrailer(ctx, metadata.Pairs("x-role", Role(role).String()))
				if article == "gone" {
					return "", status.Error(codes.NotFound, "no more")
				}
				return article + " for " + Role(role).String(), nil
			},
			list: func(stream grpc.ServerStream) error { return say(stream, "all") },
			total: func(stream grpc.ServerStream) error {
				for {
					if _, err := hear(stream); err != nil {
						return say(stream, "done")
					}
				}
			},
		}
		address[role] = shop.witness(t, asked[role])
	}
	s := newRawStage(t, address[Primary], address[Secondary], address[Candidate], func(c *Config) {
		shadow := true
		c.Routes = []RouteConfig{
			{Match: "POST " + priceMethod, Shadow: &shadow, Streams: true}, {Match: "POST /shop.Catalogue/*", Shadow: &shadow},
		}
	})
	conn := s.grpc()
	ctx := metadata.AppendToOutgoingContext(patient(t), "x-session", "7")

	for article, want := range map[string]codes.Code{"tea": codes.OK, "gone": codes.NotFound} {
		var trailer metadata.MD
		got, err := ask(ctx, conn, article, grpc.Trailer(&trailer))
		if status.Code(err) != want || err == nil && got != article+" for primary" || trailer.Get("x-role")[0] != "primary" {
			t.Errorf("%s: got %q, %v, %v", article, got, err, trailer)
		}
		var arrived [3]received
		for role := range asked {
			arrived[role] = <-asked[role]
			r := arrived[role]
			if r.method != "POST" || r.target != priceMethod || r.header.Get("Te") != "trailers" || r.header.Get("X-Session") != "7" ||
				r.header.Get("Content-Type") != "application/grpc" || !strings.HasSuffix(r.body, article) {
				t.Errorf("%s: the %s got %+v", article, Role(role), r)
			}
			delete(r.header, "X-Shadow-Request")
			delete(r.header, "X-Shadow-Id")
			if r.body != arrived[Primary].body || !maps.EqualFunc(r.header, arrived[Primary].header, equalLines) {
				t.Errorf("%s: the %s got %+v, the primary %+v", article, Role(role), r, arrived[Primary])
			}
		}
		ex := s.exchange()
		for role, res := range ex.Responses {
			code := res.Trailer.Get("Grpc-Status") + res.Header.Get("Grpc-Status") // the latter where there is nothing but a status
			if res.Outcome != OutcomeOK || res.Status != 200 || code != fmt.Sprint(int(want)) {
				t.Errorf("%s: the %s answered %s %d, status %q", article, Role(role), res.Outcome, res.Status, code)
			}
			if want == codes.OK && !strings.HasSuffix(string(res.Body), article+" for "+Role(role).String()) {
				t.Errorf("%s: the %s answered %q", article, Role(role), res.Body)
			}
		}
	}

	for _, method := range []string{listMethod, totalMethod} {
		stream := begin(t, ctx, conn, method)
		if err := errors.Join(say(stream, "all"), stream.CloseSend()); err != nil {
			t.Fatal(err)
		}
		if _, err := hear(stream); err != nil {
			t.Errorf("%s: %v", method, err)
		}
		<-asked[Primary]
	}
	s.counts(Counts{Requests: 4, Exchanged: 2, Compared: 2, Skipped: map[Reason]int64{ReasonStream: 2}})
	for _, role := range [...]Role{Secondary, Candidate} {
		if len(asked[role]) > 0 {
			t.Errorf("the %s was asked for a stream", role)
		}
	}
}

func equalLines(a, b []string) bool { return strings.Join(a, "\n") == strings.Join(b, "\n") }

// A stream whose answer begins before the question has ended is one that nobody can repeat, opted in or not.
func TestGRPCBidiIsNotShadowed(t *testing.T) {
	shop := &catalogue{talk: func(stream grpc.ServerStream) error {
		text, err := hear(stream)
		return errors.Join(err, say(stream, "re: "+text))
	}}
	address, _ := shop.serve(t)
	s := newRawStage(t, address, "http://127.0.0.1:1", "http://127.0.0.1:1", func(c *Config) {
		shadow := true
		c.Routes = []RouteConfig{{Match: "POST /shop.Catalogue/*", Shadow: &shadow}}
	})
	stream := begin(t, patient(t), s.grpc(), talkMethod)
	if err := say(stream, "tea"); err != nil {
		t.Fatal(err)
	}
	hears(t, stream, "re: tea")
	if _, err := hear(stream); !errors.Is(err, io.EOF) {
		t.Errorf("the end is %v", err)
	}
	s.counts(Counts{Requests: 1, Skipped: map[Reason]int64{ReasonRequestIncomplete: 1}})
}
