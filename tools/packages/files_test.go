package packages

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/goreleaser/goreleaser/v2/pkg/config"
	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
)

// The compose file fits the specification's schema, and does not start without a token.
func TestCompose(t *testing.T) {
	load := func(env types.Mapping) (*types.Project, error) {
		file := filepath.Join(deploy, "compose", "compose.yaml")
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return loader.LoadWithContext(context.Background(), types.ConfigDetails{
			WorkingDir: filepath.Dir(file), ConfigFiles: []types.ConfigFile{{Filename: file, Content: text}}, Environment: env,
		})
	}
	if _, err := load(nil); err == nil || !strings.Contains(err.Error(), "openssl rand -hex 32") {
		t.Errorf("without a token: %v", err)
	}
	project, err := load(types.Mapping{"SHADOWDIFF_TOKEN": "secret"})
	if err != nil {
		t.Fatal(err)
	}
	if len(project.Services) != 5 {
		t.Errorf("services are %v", project.ServiceNames())
	}
	for _, s := range project.Services {
		if !s.ReadOnly || len(s.CapDrop) != 1 || s.CapDrop[0] != "ALL" {
			t.Errorf("%s may do more than it needs", s.Name)
		}
		for _, p := range s.Ports {
			if p.HostIP != "127.0.0.1" {
				t.Errorf("%s opens port %s to everybody", s.Name, p.Published)
			}
		}
	}
}

// The Dockerfile parses, and what it ships runs as nobody in particular, asks itself how it is, and is built as said.
func TestDockerfile(t *testing.T) {
	text, err := os.ReadFile("../../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	result, err := parser.Parse(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if len(result.Warnings) > 0 {
		t.Errorf("warnings: %+v", result.Warnings)
	}
	stages, _, err := instructions.Parse(result.AST, nil)
	if err != nil {
		t.Fatal(err)
	}
	last := stages[len(stages)-1]
	if last.BaseName != "scratch" {
		t.Errorf("it is made from %s", last.BaseName)
	}
	var user string
	var health, entry, command []string
	for _, c := range last.Commands {
		switch c := c.(type) {
		case *instructions.UserCommand:
			user = c.User
		case *instructions.HealthCheckCommand:
			health = c.Health.Test
		case *instructions.EntrypointCommand:
			entry = c.CmdLine
		case *instructions.CmdCommand:
			command = c.CmdLine
		}
	}
	if user != "65532:65532" || strings.Join(health, " ") != "CMD /shadowdiff health" || strings.Join(entry, " ") != "/shadowdiff" {
		t.Errorf("user %q, health %q, entry %q", user, health, entry)
	}
	help := exec.Command(product(t), append([]string{"help"}, command[0])...)
	if out, err := help.CombinedOutput(); err != nil {
		t.Errorf("the image runs %q: %v\n%s", command, err, out)
	}
}

// GoReleaser's own types take the file, and refuse a misspelt key.
func TestGoReleaser(t *testing.T) {
	project, err := config.Load("../../.goreleaser.yaml")
	if err != nil {
		t.Fatal(err)
	}
	targets := 0
	for _, b := range project.Builds {
		targets += len(b.Goos) * len(b.Goarch)
	}
	if targets != 6 || len(project.SBOMs) != 1 || project.Checksum.NameTemplate == "" {
		t.Errorf("%d targets, %d SBOMs, checksums %q", targets, len(project.SBOMs), project.Checksum.NameTemplate)
	}
	if _, err := config.LoadReader(strings.NewReader("version: 2\nbuidls: []\n")); err == nil {
		t.Error("a misspelt key passes")
	}
}

// systemd takes the unit, with the command where it says, and finds it well confined.
func TestUnit(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Fatal("systemd-analyze is needed: install systemd")
	}
	text, err := os.ReadFile(filepath.Join(deploy, "systemd", "shadowdiff.service"))
	if err != nil {
		t.Fatal(err)
	}
	unit := filepath.Join(t.TempDir(), "shadowdiff.service")
	placed := strings.ReplaceAll(string(text), "/usr/local/bin/shadowdiff", product(t))
	if err := os.WriteFile(unit, []byte(placed), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(analyze, "verify", "--man=no", unit).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("verify: %v\n%s", err, out)
	}
	out, err := exec.Command(analyze, "security", "--offline=true", "--threshold=20", unit).CombinedOutput()
	if err != nil {
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		t.Errorf("security: %v, %s", err, lines[len(lines)-1])
	}
}
