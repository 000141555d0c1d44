package packages

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// product builds the command as it is shipped.
func product(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "shadowdiff")
	build := exec.Command("go", "build", "-trimpath", "-o", binary, "./cmd/shadowdiff")
	build.Dir, build.Env = "../..", append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return binary
}

// checked runs `shadowdiff check` on a configuration that will run in a container; the token's file is put where one is.
func checked(t *testing.T, binary, name, config string) {
	t.Helper()
	dir := t.TempDir()
	token, file := filepath.Join(dir, "token"), filepath.Join(dir, "shadowdiff.yaml")
	if err := os.WriteFile(token, []byte("a-long-token-for-this-test\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	config = strings.ReplaceAll(config, "/etc/shadowdiff/token/token", token)
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	check := exec.Command(binary, "check", "-config", file)
	check.Env = append(os.Environ(), "SHADOWDIFF_TOKEN=a-long-token-for-this-test")
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s\n%s", name, err, out, config)
	}
}

// configOf is the configuration file that a list of objects holds.
func configOf(list []runtime.Object) string {
	for _, object := range list {
		if o, ok := object.(*core.ConfigMap); ok {
			return o.Data["shadowdiff.yaml"]
		}
	}
	return ""
}

// The configuration files in what is deployed are such as the command takes.
func TestConfigurations(t *testing.T) {
	binary := product(t)
	for _, file := range []string{"kubernetes/gateway.yaml", "kubernetes/sidecar.yaml"} {
		text, err := os.ReadFile(filepath.Join(deploy, file))
		if err != nil {
			t.Fatal(err)
		}
		config := configOf(objects(t, file, text))
		if config == "" {
			t.Fatalf("%s holds no configuration", file)
		}
		checked(t, binary, file, config)
	}
	text, err := os.ReadFile(filepath.Join(deploy, "compose", "shadowdiff.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	checked(t, binary, "compose", string(text))
}
