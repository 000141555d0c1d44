package packages

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	argo "github.com/argoproj/argo-rollouts/pkg/apis/rollouts/v1alpha1"
	flagger "github.com/fluxcd/flagger/pkg/apis/flagger/v1beta1"
	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	gateway "sigs.k8s.io/gateway-api/apis/v1"
	gatewaybeta "sigs.k8s.io/gateway-api/apis/v1beta1"
)

// deploy is where the manifests are.
const deploy = "../../deploy"

// decoder refuses what the types do not know: a misspelt field would be dropped in silence.
func decoder(t *testing.T) runtime.Decoder {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		core.AddToScheme, apps.AddToScheme, networking.AddToScheme, policy.AddToScheme, monitoring.AddToScheme,
		argo.AddToScheme, flagger.AddToScheme, gateway.Install, gatewaybeta.Install,
	} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
}

// objects decodes all documents of a manifest.
func objects(t *testing.T, name string, manifest []byte) []runtime.Object {
	t.Helper()
	decode := decoder(t)
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(manifest)))
	var list []runtime.Object
	for {
		doc, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !hasMatter(doc) {
			continue
		}
		object, _, err := decode.Decode(doc, nil, nil)
		if err != nil {
			t.Fatalf("%s: %v in\n%s", name, err, doc)
		}
		list = append(list, object)
	}
}

// hasMatter reports whether a document is more than comments.
func hasMatter(doc []byte) bool {
	for line := range strings.Lines(string(doc)) {
		if text := strings.TrimSpace(line); text != "" && !strings.HasPrefix(text, "#") && text != "---" {
			return true
		}
	}
	return false
}

// Every manifest decodes strictly, and a misspelt field would not.
func TestManifests(t *testing.T) {
	counted := 0
	for _, folder := range []string{"kubernetes", "gateway-api", "argo", "flagger"} {
		files, err := filepath.Glob(filepath.Join(deploy, folder, "*.yaml"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s holds no manifest: %v", folder, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			counted += len(objects(t, file, text))
		}
	}
	if counted < 15 {
		t.Errorf("only %d objects were found", counted)
	}
	if _, _, err := decoder(t).Decode([]byte("apiVersion: v1\nkind: Service\nspec: {selectr: {a: b}}\n"), nil, nil); err == nil {
		t.Error("a misspelt field passes")
	}
}

// What the page on mirroring tells people to apply decodes as strictly.
func TestTheGatewayMirrors(t *testing.T) {
	page, err := os.ReadFile("../../docs/mirroring/gateway-api.md")
	if err != nil {
		t.Fatal(err)
	}
	_, manifest, _ := strings.Cut(string(page), "```yaml\n")
	manifest, _, _ = strings.Cut(manifest, "```")
	list := objects(t, "gateway-api.md", []byte(manifest))
	if len(list) != 2 || !has[*gateway.HTTPRoute](list) {
		t.Errorf("the page has %d objects", len(list))
	}
}

// The parts of a manifest find each other: selectors, ports, volumes, names.
func TestGatewayHoldsTogether(t *testing.T) {
	for _, file := range []string{"kubernetes/gateway.yaml", "kubernetes/sidecar.yaml"} {
		text, err := os.ReadFile(filepath.Join(deploy, file))
		if err != nil {
			t.Fatal(err)
		}
		holdTogether(t, file, objects(t, file, text))
	}
}

// holdTogether checks a workload with all that belongs to it.
func holdTogether(t *testing.T, name string, list []runtime.Object) {
	t.Helper()
	pod, labels := podOf(list)
	if pod == nil {
		t.Fatalf("%s: no workload", name)
	}
	ports := map[string]bool{}
	for _, c := range append(pod.InitContainers, pod.Containers...) {
		for _, p := range c.Ports {
			ports[p.Name] = true
		}
		mountsHold(t, name, pod, c)
		if c.Name == "shadowdiff" {
			hardened(t, name, pod, c)
		}
	}
	services := 0
	for _, object := range list {
		switch o := object.(type) {
		case *core.Service:
			services++
			for key, value := range o.Spec.Selector {
				if labels[key] != value {
					t.Errorf("%s: service %s selects %s=%s, which no pod has", name, o.Name, key, value)
				}
			}
			for _, p := range o.Spec.Ports {
				if !ports[p.TargetPort.StrVal] {
					t.Errorf("%s: service %s leads to port %q, which no container has", name, o.Name, p.TargetPort.StrVal)
				}
			}
		case *networking.NetworkPolicy:
			for _, rule := range o.Spec.Ingress {
				for _, p := range rule.Ports {
					if !ports[p.Port.StrVal] {
						t.Errorf("%s: the policy opens port %q, which no container has", name, p.Port.StrVal)
					}
				}
			}
		}
	}
	if services == 0 {
		t.Errorf("%s: no service", name)
	}
}

// podOf finds the workload's pod and its labels.
func podOf(list []runtime.Object) (*core.PodSpec, map[string]string) {
	for _, object := range list {
		switch o := object.(type) {
		case *apps.StatefulSet:
			for _, claim := range o.Spec.VolumeClaimTemplates {
				o.Spec.Template.Spec.Volumes = append(o.Spec.Template.Spec.Volumes, core.Volume{Name: claim.Name})
			}
			return &o.Spec.Template.Spec, o.Spec.Template.Labels
		case *apps.Deployment:
			return &o.Spec.Template.Spec, o.Spec.Template.Labels
		}
	}
	return nil, nil
}

func mountsHold(t *testing.T, name string, pod *core.PodSpec, c core.Container) {
	t.Helper()
	for _, mount := range c.VolumeMounts {
		found := false
		for _, volume := range pod.Volumes {
			found = found || volume.Name == mount.Name
		}
		if !found {
			t.Errorf("%s: %s mounts %q, which is no volume", name, c.Name, mount.Name)
		}
	}
}

// hardened checks what the restricted Pod Security Standard asks of a container, and what this one needs beside.
//
// Source: kubernetes.io/docs/concepts/security/pod-security-standards.
func hardened(t *testing.T, name string, pod *core.PodSpec, c core.Container) {
	t.Helper()
	s := c.SecurityContext
	yes := func(b *bool) bool { return b != nil && *b }
	nonRoot := yes(s.RunAsNonRoot) || pod.SecurityContext != nil && yes(pod.SecurityContext.RunAsNonRoot)
	seccomp := s.SeccompProfile != nil || pod.SecurityContext != nil && pod.SecurityContext.SeccompProfile != nil
	drops := s.Capabilities != nil && len(s.Capabilities.Drop) == 1 && s.Capabilities.Drop[0] == "ALL"
	if !nonRoot || !seccomp || !drops || !yes(s.ReadOnlyRootFilesystem) || s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation {
		t.Errorf("%s: the container may do more than it needs: %+v", name, s)
	}
	if c.LivenessProbe == nil || c.StartupProbe == nil {
		t.Errorf("%s: probes are missing", name)
	}
	if c.Resources.Requests.Memory().IsZero() || c.Resources.Limits.Memory().IsZero() || !c.Resources.Limits.Cpu().IsZero() {
		t.Errorf("%s: resources are %+v", name, c.Resources)
	}
}
