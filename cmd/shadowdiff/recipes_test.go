package main

import (
	"bytes"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// readRecipe reads a file of deploy; a key that stands twice is a fault.
func readRecipe(t *testing.T, name string, into any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../deploy", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Load(text, into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// job is a step of CI as a process: its variables, and where it is run.
type job struct {
	dir string
	env []string
}

// newJob is a runner that can reach the trial, with the token and the binary that it fetches.
func newJob(t *testing.T, tr *trial, version string) job {
	t.Helper()
	binary, err := exec.LookPath("shadowdiff")
	if err != nil {
		t.Fatal(err)
	}
	j := job{dir: t.TempDir()}
	j.env = append(os.Environ(), "SHADOWDIFF_URL="+tr.svc.AdminURL(), "SHADOWDIFF_TOKEN=sesame", "VERSION="+version,
		"SHADOWDIFF_DOWNLOAD=file://"+binary, "RUNNER_TEMP="+j.dir, "GITHUB_STEP_SUMMARY="+filepath.Join(j.dir, "summary.md"))
	return j
}

// run runs a script as the runners do, and answers with its exit code.
func (j job) run(t *testing.T, script string) (code int, said string) {
	t.Helper()
	script = strings.ReplaceAll(script, "-wait 30m", "-wait 60s")
	cmd := exec.Command("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script)
	cmd.Dir, cmd.Env = j.dir, j.env
	out, err := cmd.CombinedOutput()
	if _, exited := err.(*exec.ExitError); err != nil && !exited {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

const guarded = proves + "web: {token: sesame}\n"

// authorised asks the admin listener with the token.
func (tr *trial) authorised(method, address string) int {
	tr.t.Helper()
	req, err := http.NewRequest(method, address, bytes.NewReader([]byte(`{"name":"shop","namespace":"default","phase":"Progressing"}`)))
	if err != nil {
		tr.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		tr.t.Fatal(err)
	}
	defer res.Body.Close()
	return res.StatusCode
}

// The workflow's steps do what they say, run by a shell as a runner would.
func TestTheRecipeForGitHub(t *testing.T) {
	t.Parallel()
	var workflow struct {
		Jobs map[string]struct {
			Env   map[string]string
			Steps []struct {
				Name, Run, Uses, Shell, If string
				Env                        map[string]string
			}
		}
	}
	readRecipe(t, "github/shadowdiff.yml", &workflow)
	known := regexp.MustCompile(`^\$\{\{ (vars|secrets|inputs)\.(SHADOWDIFF_URL|SHADOWDIFF_TOKEN|SHADOWDIFF_DOWNLOAD|version) \}\}$`)
	tr := startTrial(t, guarded)
	for version, want := range map[string]int{"v1": exitEquivalent, "v2 \"quoted\"": exitDifferent} {
		tr.price.Store(int64(want) + 1)
		j := newJob(t, tr, version)
		gate := workflow.Jobs["gate"]
		for name, value := range gate.Env {
			if !known.MatchString(value) {
				t.Errorf("%s is %s", name, value)
			}
		}
		ran := 0
		for _, step := range gate.Steps {
			if step.Run == "" {
				continue
			}
			ran++
			wanted := 0
			if step.Name == "Wait for the verdict" {
				tr.send(150, "/items")
				wanted = want
			}
			if code, said := j.run(t, step.Run); code != wanted || strings.Contains(said, "sesame") {
				t.Fatalf("%s, %s: exit code %d, want %d\n%s", version, step.Name, code, wanted, said)
			}
		}
		if ran != 3 {
			t.Fatalf("%d steps were run", ran)
		}
		for _, file := range []string{"shadowdiff.xml", "shadowdiff.html", "summary.md"} {
			text, err := os.ReadFile(filepath.Join(j.dir, file))
			if err != nil || len(text) < 200 {
				t.Errorf("%s: %d bytes, %v", file, len(text), err)
			}
		}
	}
}

func TestTheRecipeForGitLab(t *testing.T) {
	t.Parallel()
	var pipeline map[string]struct {
		Script       []string
		Variables    map[string]string
		AllowFailure struct {
			ExitCodes int `yaml:"exit_codes"`
		} `yaml:"allow_failure"`
		Artifacts struct {
			When    string
			Reports struct{ Junit string }
		}
	}
	readRecipe(t, "gitlab/shadowdiff.gitlab-ci.yml", &pipeline)
	recipe := pipeline["shadowdiff"]
	if recipe.AllowFailure.ExitCodes != exitUndecided || recipe.Artifacts.When != "always" || recipe.Artifacts.Reports.Junit != "shadowdiff.xml" {
		t.Errorf("%+v", recipe)
	}
	tr := startTrial(t, guarded)
	j := newJob(t, tr, "v1")
	last := len(recipe.Script) - 1
	if code, said := j.run(t, strings.Join(recipe.Script[:last], "\n")); code != 0 {
		t.Fatalf("before the gate: exit code %d\n%s", code, said)
	}
	if code, said := j.run(t, strings.ReplaceAll(recipe.Script[last], "-wait 30m", "-wait 0")); code != exitUndecided {
		t.Errorf("undecided: exit code %d\n%s", code, said)
	}
	tr.send(150, "/items")
	if code, said := j.run(t, recipe.Script[last]); code != exitEquivalent || !strings.Contains(said, "EQUIVALENT: run v1") {
		t.Errorf("enough: exit code %d\n%s", code, said)
	}
	if report := readJUnit(t, filepath.Join(j.dir, "shadowdiff.xml")); report.Suites[0].Tests != 2 {
		t.Errorf("%+v", report)
	}
}

// The hooks of Flagger, and the metric of Argo Rollouts, ask what they are to ask: 2xx is yes.
func TestTheRecipesForKubernetes(t *testing.T) {
	t.Parallel()
	var canary struct {
		Spec struct {
			Analysis struct {
				Webhooks []struct{ Type, URL string }
			}
		}
	}
	readRecipe(t, "flagger/canary.yaml", &canary)
	var template struct {
		Spec struct {
			Args    []struct{ Name, Value string }
			Metrics []struct {
				Count                 int
				ConsecutiveErrorLimit int `yaml:"consecutiveErrorLimit"`
				Provider              struct {
					Web struct {
						URL      string
						JSONPath string `yaml:"jsonPath"`
						Headers  []struct{ Key, Value string }
					}
				}
			}
		}
	}
	readRecipe(t, "argo/analysis.yaml", &template)
	var rollout struct{ Kind string }
	readRecipe(t, "argo/rollout.yaml", &rollout)
	metric := template.Spec.Metrics[0]
	if rollout.Kind != "Rollout" || metric.Count != 1 || metric.ConsecutiveErrorLimit == 0 || metric.Provider.Web.JSONPath != "{$.verdict}" ||
		metric.Provider.Web.Headers[0].Key != "Authorization" {
		t.Errorf("%+v", metric)
	}
	tr := startTrial(t, guarded)
	admin := strings.TrimPrefix(tr.svc.AdminURL(), "http://")
	here := strings.NewReplacer("flagger:TOKEN@shadowdiff.shadowdiff.svc:8881", "flagger:sesame@"+admin, "v2.3.1", "run+1",
		"{{args.url}}", "http://any:sesame@"+admin, "{{args.run}}", "run+1")
	statuses := func(what string, confirm, rollback, decided int) {
		t.Helper()
		for _, hook := range canary.Spec.Analysis.Webhooks {
			want := map[string]int{"confirm-traffic-increase": confirm, "rollback": rollback}[hook.Type]
			if got := tr.authorised(http.MethodPost, here.Replace(hook.URL)); got != want {
				t.Errorf("%s: the hook %s has %d, want %d", what, hook.Type, got, want)
			}
		}
		if got := tr.authorised(http.MethodGet, here.Replace(metric.Provider.Web.URL)); got != decided {
			t.Errorf("%s: the metric has %d, want %d", what, got, decided)
		}
	}
	statuses("undecided", http.StatusConflict, http.StatusConflict, http.StatusConflict)
	tr.send(150, "/items")
	statuses("equivalent", http.StatusOK, http.StatusConflict, http.StatusOK)
	tr.price.Store(2)
	tr.send(60, "/prices")
	statuses("different", http.StatusConflict, http.StatusOK, http.StatusOK)
}
