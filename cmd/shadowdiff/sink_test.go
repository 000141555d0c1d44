package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"

	"shadowdiff/fixtures"
	"shadowdiff/multicast"
	"shadowdiff/store"
)

// documented is the first block of a kind in a page of docs.
func documented(t *testing.T, page, kind string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../docs", page))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile("(?s)```" + kind + "\n(.*?)```").FindSubmatch(text)
	if m == nil {
		t.Fatalf("docs/%s has no block of %s", page, kind)
	}
	return string(m[1])
}

// startNginx starts the real one with the http part of a configuration, and ends it with the test.
func startNginx(t *testing.T, servers string) {
	t.Helper()
	path, err := exec.LookPath("nginx")
	if err != nil {
		if path = "/usr/sbin/nginx"; !executable(path) {
			t.Fatal("nginx is needed: apt-get install nginx-light, or run make test, which does")
		}
	}
	dir := t.TempDir()
	text := fmt.Sprintf("daemon off;\nworker_processes 1;\npid %[1]s/nginx.pid;\nerror_log stderr error;\nevents { worker_connections 512; }\n"+
		"http {\naccess_log off;\nclient_body_temp_path %[1]s/a;\nproxy_temp_path %[1]s/b;\nfastcgi_temp_path %[1]s/c;\nuwsgi_temp_path %[1]s/d;\nscgi_temp_path %[1]s/e;\n%[2]s}\n", dir, servers)
	if os.Getuid() == 0 {
		text = "user root;\n" + text // the folder is the test's
	}
	file := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "-e", "stderr", "-p", dir, "-c", file)
	var said journal
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &said, &said, 5*time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt) // killed, it would leave its worker behind
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("nginx said:\n%s", said.String())
		}
	})
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode()&0o111 != 0
}

// mirroringNginx is the documented configuration with the addresses of this test; share is what it mirrors.
func mirroringNginx(t *testing.T, primary, sink, share string) (address string) {
	t.Helper()
	spare, err := net.Listen("tcp", "127.0.0.1:0") // nginx takes no port of its own choice
	if err != nil {
		t.Fatal(err)
	}
	address = spare.Addr().String()
	spare.Close()
	text := documented(t, "mirroring/nginx.md", "nginx")
	for was, is := range map[string]string{
		"10.0.0.11:9001": primary, "10.0.0.20:8880": sink, "listen 80;": "listen " + address + ";", "10%     yes;": share + " yes;",
	} {
		if !strings.Contains(text, was) {
			t.Fatalf("the documented configuration lacks %q", was)
		}
		text = strings.Replace(text, was, is, 1)
	}
	startNginx(t, text)
	return address
}

// A real NGINX serves the clients and mirrors them: the run finds the seeded faults, and while the sink is gone clients
// see nothing of it.
func TestNginxMirrorsToTheSink(t *testing.T) {
	shops, err := openShops(fixtures.Faults())
	if err != nil {
		t.Fatal(err)
	}
	defer shops.close()
	l := serveFile(t, fmt.Sprintf("mode: sink\nprimary: %s\nsecondary: %s\ncandidate: %s\nverdict: {alpha: 0.01}\n",
		shops.url(multicast.Primary), shops.url(multicast.Secondary), shops.url(multicast.Candidate)))
	address := mirroringNginx(t, shops.addresses[multicast.Primary], strings.TrimPrefix(l.svc.ProxyURL(), "http://"), "99.99%")
	awaitPort(t, address)

	ctx, enough := context.WithCancel(t.Context())
	crowd := fixtures.Traffic{URL: "http://" + address, Rate: 400, Seed: 7}
	done := make(chan error, 1)
	go func() { done <- crowd.Run(ctx) }()
	want := []string{"GET /products/{id} body.discount presence", "GET /users/{id} body.last_seen type", "GET /orders/{id} header.cache-control value"}
	l.eventually("the faults are found", func() bool {
		got := confirmed(l.svc.db.Snapshot().Verdict)
		return !slices.ContainsFunc(want, func(effect string) bool { return !slices.Contains(got, effect) })
	})
	l.stop() // the sink is gone, the clients are not
	before := crowd.Counts().Answered
	l.eventually("the clients are answered on", func() bool {
		if len(done) > 0 {
			t.Fatal("the clients have ended")
		}
		return crowd.Counts().Answered >= before+500
	})
	enough()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	counts := crowd.Counts()
	if len(counts.NotOK) > 0 || counts.Errors > 8 { // those that were under way when it ended
		t.Errorf("clients saw %s: %s", counts, counts.LastErr)
	}
}

// awaitPort waits until somebody listens.
func awaitPort(t *testing.T, address string) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for timeout := time.After(90 * time.Second); ; {
		if conn, err := net.Dial("tcp", address); err == nil {
			conn.Close()
			return
		}
		select {
		case <-tick.C:
		case <-timeout:
			t.Fatalf("nobody listens on %s after 90 s", address)
		}
	}
}

// A sink that takes connections and never answers holds up the next request of a client's connection, by a second each. It
// is left alone after the third.
func TestNginxLeavesASinkThatHangsAlone(t *testing.T) {
	t.Parallel()
	shops, err := openShops(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer shops.close()
	hanging, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer hanging.Close()
	address := mirroringNginx(t, shops.addresses[multicast.Primary], hanging.Addr().String(), "99.99%")
	awaitPort(t, address)

	var transport http.Transport // with one connection
	defer transport.CloseIdleConnections()
	client := http.Client{Transport: &transport, Timeout: 30 * time.Second}
	began := time.Now()
	const asked = 100
	for range asked {
		resp, err := client.Get("http://" + address + "/health")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("a client got %s, %v", resp.Status, err)
		}
		resp.Body.Close()
	}
	if took := time.Since(began); took > asked/2*time.Second {
		t.Errorf("%d requests took %v", asked, took)
	}
}

// Bodies come along, a share is a share, and the URI is the client's however the mirror's own location is called.
func TestNginxMirrorsBodiesAndAShare(t *testing.T) {
	shops, err := openShops(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer shops.close()
	l := serveFile(t, fmt.Sprintf("mode: sink\nprimary: %s\nsecondary: %s\ncandidate: %s\nmethods: [GET, POST]\n",
		shops.url(multicast.Primary), shops.url(multicast.Secondary), shops.url(multicast.Candidate)))
	address := mirroringNginx(t, shops.addresses[multicast.Primary], strings.TrimPrefix(l.svc.ProxyURL(), "http://"), "50%")
	awaitPort(t, address)
	const asked = 400
	for i := range asked {
		resp, err := http.Post(fmt.Sprintf("http://%s/orders?n=%d", address, i), "application/json", strings.NewReader(`{"items":[{"id":"p1"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusCreated {
			t.Fatalf("a client got %s", resp.Status)
		}
	}
	c := l.settled()
	if c.Requests < asked/4 || c.Requests > asked*3/4 || c.Exchanged != c.Requests {
		t.Errorf("of %d requests half are mirrored; counts are %+v", asked, c)
	}
	l.flush()
	snap := l.svc.db.Snapshot()
	if routes := snap.Tallies.Routes; len(routes) != 1 || routes[0].Route != "POST /orders" {
		t.Errorf("routes are %+v", routes)
	}
	if samples, _, err := l.svc.db.Samples(t.Context(), store.Filter{Limit: 1}); err != nil || len(samples) != 1 {
		t.Errorf("samples are %v, %v", samples, err)
	} else if s, err := l.svc.db.Sample(t.Context(), samples[0].ID); err != nil || string(s.Request.Body) != `{"items":[{"id":"p1"}]}` || !strings.HasPrefix(s.Request.Target, "/orders?n=") {
		t.Errorf("a sample has %+v, %v", s.Request, err)
	}
}

// The dashboard stands behind NGINX as the page on operating has it: pages, links, the stream of events and the switch.
func TestTheDashboardBehindNginx(t *testing.T) {
	t.Parallel()
	address := freeAddresses(t, 1)[0]
	l := serveFile(t, fmt.Sprintf("primary: http://127.0.0.1:9001\nweb: {base_url: \"http://%s/shadowdiff\"}\n", address))
	text := strings.ReplaceAll(documented(t, "operating.md", "nginx"), "http://127.0.0.1:8881", l.svc.AdminURL())
	startNginx(t, "server {\nlisten "+address+";\n"+text+"}\n")
	awaitPort(t, address)
	page := "http://" + address + "/shadowdiff/"
	res, err := http.Get(page)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(res.Body)
	res.Body.Close()
	if err != nil || res.StatusCode != http.StatusOK || !strings.Contains(string(body), `href="/shadowdiff/rules"`) {
		t.Errorf("%s, %v: %.2000s", res.Status, err, body)
	}
	req, err := http.NewRequest(http.MethodPut, page+"api/v1/shadowing", strings.NewReader(`{"enabled":false}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Origin", "http://"+address)
	if res, err = http.DefaultClient.Do(req); err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusOK || l.svc.proxy.Shadowing().Enabled {
		t.Errorf("the switch: %s", res.Status)
	}
	events, err := http.Get(page + "api/v1/events")
	if err != nil {
		t.Fatal(err)
	}
	defer events.Body.Close()
	if line, err := bufio.NewReader(events.Body).ReadString('\n'); err != nil || line == "" {
		t.Errorf("events: %q, %v", line, err)
	}
}

// What the page on Traefik names in one place is there in another.
func TestTheTraefikPageHoldsTogether(t *testing.T) {
	t.Parallel()
	files := blocks(t, "../../docs/mirroring/traefik.md", "yaml")
	if len(files) != 2 {
		t.Fatalf("%d files", len(files))
	}
	var static struct {
		EntryPoints map[string]any `yaml:"entryPoints"`
		Providers   struct{ File struct{ Filename string } }
	}
	var dynamic struct {
		HTTP struct {
			Routers map[string]struct {
				EntryPoints []string
				Service     string
			}
			Services map[string]struct {
				Mirroring struct {
					Service string
					Mirrors []struct {
						Name    string
						Percent int
					}
				}
				LoadBalancer struct {
					Servers          []struct{ URL string }
					ServersTransport string `yaml:"serversTransport"`
				} `yaml:"loadBalancer"`
			}
			ServersTransports map[string]any `yaml:"serversTransports"`
		}
	}
	for i, into := range []any{&static, &dynamic} {
		if err := yaml.Load([]byte(files[i]), into); err != nil {
			t.Fatal(err)
		}
	}
	shop := dynamic.HTTP.Services[dynamic.HTTP.Routers["shop"].Service].Mirroring
	if static.Providers.File.Filename == "" || len(static.EntryPoints) != 1 || len(shop.Mirrors) != 1 || shop.Mirrors[0].Percent != 10 {
		t.Fatalf("%+v, %+v", static, dynamic)
	}
	for _, name := range []string{shop.Service, shop.Mirrors[0].Name} {
		balancer := dynamic.HTTP.Services[name].LoadBalancer
		if len(balancer.Servers) != 1 {
			t.Errorf("%s has no server", name)
		}
		if transport := balancer.ServersTransport; transport != "" && dynamic.HTTP.ServersTransports[transport] == nil {
			t.Errorf("there is no transport %s", transport)
		}
	}
}
