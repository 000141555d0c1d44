package mirrors

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	bootstrap "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	manager "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	istio "istio.io/api/networking/v1"
	"sigs.k8s.io/yaml"
)

// block is the only one in a language that a page on mirroring has.
func block(t *testing.T, page, language string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../../docs/mirroring", page))
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```$").FindAllSubmatch(text, -1)
	if len(found) != 1 {
		t.Fatalf("%s has %d blocks of %s", page, len(found), language)
	}
	return string(found[0][1])
}

// strictly decodes YAML as its readers do, and refuses what the type does not know.
func strictly(text string, into proto.Message) error {
	asJSON, err := yaml.YAMLToJSONStrict([]byte(text))
	if err != nil {
		return err
	}
	return protojson.Unmarshal(asJSON, into)
}

// Envoy's own types take the page's configuration, and its parts find each other.
func TestEnvoyMirrors(t *testing.T) {
	text := block(t, "envoy.md", "yaml")
	var b bootstrap.Bootstrap
	if err := strictly(text, &b); err != nil {
		t.Fatal(err)
	}
	if err := b.ValidateAll(); err != nil {
		t.Error(err)
	}
	clusters := map[string]bool{}
	for _, c := range b.GetStaticResources().GetClusters() {
		clusters[c.GetName()] = c.GetLoadAssignment().GetClusterName() == c.GetName()
	}
	var m manager.HttpConnectionManager
	filter := b.GetStaticResources().GetListeners()[0].GetFilterChains()[0].GetFilters()[0]
	if err := filter.GetTypedConfig().UnmarshalTo(&m); err != nil {
		t.Fatal(err)
	}
	if err := m.ValidateAll(); err != nil {
		t.Error(err)
	}
	route := m.GetRouteConfig().GetVirtualHosts()[0].GetRoutes()[0].GetRoute()
	policies := route.GetRequestMirrorPolicies()
	if len(policies) != 1 || policies[0].GetRuntimeFraction().GetDefaultValue().GetNumerator() != 10 {
		t.Fatalf("the policies are %v", policies)
	}
	for _, name := range []string{route.GetCluster(), policies[0].GetCluster()} {
		if !clusters[name] {
			t.Errorf("there is no whole cluster %q", name)
		}
	}
	if err := strictly(strings.Replace(text, "runtime_fraction", "runtime_fractoin", 1), &bootstrap.Bootstrap{}); err == nil {
		t.Error("a misspelt field passes")
	}
}

// Istio's own types take the page's objects.
func TestIstioMirrors(t *testing.T) {
	kinds := map[string]proto.Message{"VirtualService": &istio.VirtualService{}, "DestinationRule": &istio.DestinationRule{}}
	decoded := 0
	for doc := range strings.SplitSeq(block(t, "istio.md", "yaml"), "---\n") {
		var object struct {
			APIVersion, Kind string
			Metadata         struct{ Name, Namespace string }
			Spec             map[string]any
		}
		if err := yaml.UnmarshalStrict([]byte(doc), &object); err != nil {
			t.Fatalf("%v in\n%s", err, doc)
		}
		spec, err := yaml.Marshal(object.Spec)
		if err != nil {
			t.Fatal(err)
		}
		into := kinds[object.Kind]
		if into == nil || object.APIVersion != "networking.istio.io/v1" {
			t.Fatalf("%s %s is unknown", object.APIVersion, object.Kind)
		}
		if err := strictly(string(spec), into); err != nil {
			t.Errorf("%s: %v", object.Kind, err)
		}
		if err := strictly(string(bytes.Replace(spec, []byte("host"), []byte("hsot"), 1)), into.ProtoReflect().New().Interface()); err == nil {
			t.Errorf("%s: a misspelt field passes", object.Kind)
		}
		decoded++
	}
	mirrors := kinds["VirtualService"].(*istio.VirtualService).GetHttp()[0].GetMirrors()
	rule := kinds["DestinationRule"].(*istio.DestinationRule)
	if decoded != 2 || len(mirrors) != 1 || mirrors[0].GetPercentage().GetValue() != 10 || mirrors[0].GetDestination().GetHost() != rule.GetHost() {
		t.Errorf("%d objects; mirrors %v, rule for %q", decoded, mirrors, rule.GetHost())
	}
}

// freeAddress is one of loopback that nobody listens on, for a program that takes no port of its own choice.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// startHAProxy starts the real one with the page's files, an agent's address at which nobody listens, and the service's.
func startHAProxy(t *testing.T, service string) (address string) {
	t.Helper()
	path, err := exec.LookPath("haproxy")
	if err != nil {
		path = "/usr/sbin/haproxy" // which may not be on a user's path
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatal("haproxy is needed: apt-get install haproxy, or run make check, which does")
	}
	free := []string{freeAddress(t), freeAddress(t)}
	dir := t.TempDir()
	file, agent := filepath.Join(dir, "haproxy.cfg"), filepath.Join(dir, "mirror.cfg")
	places := strings.NewReplacer("bind :80", "bind "+free[0], "127.0.0.1:12345", free[1], "10.0.0.11:9001", service, "/etc/haproxy/mirror.cfg", agent)
	for name, language := range map[string]string{file: "haproxy", agent: "spoe"} {
		text := places.Replace(block(t, "haproxy.md", language))
		if err := os.WriteFile(name, []byte(strings.Replace(text, "lt 10", "lt 100", 1)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command(path, "-c", "-f", file).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.Command(path, "-db", "-f", file)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &said, &said, 5*time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("haproxy said:\n%s", said.String())
		}
	})
	return free[0]
}

// HAProxy takes both files, and clients see nothing of an agent that is not there.
func TestHAProxyWithoutItsAgent(t *testing.T) {
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = w.Write(append([]byte(r.Method+" "+r.RequestURI+" "), body...))
	}))
	defer service.Close()
	address := startHAProxy(t, service.Listener.Addr().String())
	awaitListener(t, address)
	for range 100 {
		res, err := http.Post("http://"+address+"/a?b=c", "text/plain", strings.NewReader("hello"))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || res.StatusCode != http.StatusOK || string(body) != "POST /a?b=c hello" {
			t.Fatalf("a client got %s, %q, %v", res.Status, body, err)
		}
	}
}

// awaitListener waits until somebody listens.
func awaitListener(t *testing.T, address string) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for timeout := time.After(time.Minute); ; {
		if conn, err := net.Dial("tcp", address); err == nil {
			conn.Close()
			return
		}
		select {
		case <-tick.C:
		case <-timeout:
			t.Fatal("nobody listens")
		}
	}
}
