package packages

import (
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	policy "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
)

// rendered is the chart with some values, as Helm would apply it, and its notes.
func rendered(t *testing.T, values map[string]any) (list []runtime.Object, notes string, err error) {
	t.Helper()
	chart, err := loader.Load(path.Join(deploy, "helm", "shadowdiff"))
	if err != nil {
		t.Fatal(err)
	}
	options := common.ReleaseOptions{Name: "shadowdiff", Namespace: "shadowdiff", Revision: 1, IsInstall: true}
	all, err := util.ToRenderValues(chart, values, options, common.DefaultCapabilities)
	if err != nil {
		return nil, "", err
	}
	files, err := engine.Engine{Strict: true}.Render(chart, all)
	if err != nil {
		return nil, "", err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		switch path.Ext(name) {
		case ".yaml":
			list = append(list, objects(t, name, []byte(files[name]))...)
		case ".txt":
			notes = files[name]
		}
	}
	return list, notes, nil
}

// three is the least that a useful release needs.
func three() map[string]any {
	return map[string]any{
		"token": "a-long-token-for-this-test",
		"config": map[string]any{
			"primary": "http://shop-stable:80", "secondary": "http://shop-control:80", "candidate": "http://shop-canary:80",
			"rules": []any{map[string]any{"drop": "body.now"}},
			"web":   map[string]any{"read_only": true},
		},
	}
}

// The chart renders to what Kubernetes takes, its parts find each other, and its configuration is one the command takes.
func TestChart(t *testing.T) {
	list, notes, err := rendered(t, three())
	if err != nil {
		t.Fatal(err)
	}
	holdTogether(t, "chart", list)
	config := configOf(list)
	checked(t, product(t), "chart", config)
	for _, want := range []string{"read_only: true", "path: /data/shadowdiff.db", "listen: :8881", "drop: body.now", "max_size: 1GiB"} {
		if !strings.Contains(config, want) {
			t.Errorf("the configuration lacks %q:\n%s", want, config)
		}
	}
	if !strings.Contains(notes, "-url http://shadowdiff-1.shadowdiff-admin.shadowdiff.svc:8881") {
		t.Errorf("notes are:\n%s", notes)
	}
}

// A budget for disruptions comes with the second replica, and a monitor where one is asked for.
func TestChartWithOneReplica(t *testing.T) {
	for replicas, want := range map[int]bool{1: false, 2: true} {
		values := three()
		values["replicaCount"] = replicas
		values["serviceMonitor"] = map[string]any{"enabled": replicas == 1}
		list, _, err := rendered(t, values)
		if err != nil {
			t.Fatal(err)
		}
		if got := has[*policy.PodDisruptionBudget](list); got != want {
			t.Errorf("%d replicas: a budget is %v", replicas, got)
		}
		if got := has[*monitoring.ServiceMonitor](list); got != (replicas == 1) {
			t.Errorf("%d replicas: a monitor is %v", replicas, got)
		}
	}
}

func has[T runtime.Object](list []runtime.Object) bool {
	return slices.ContainsFunc(list, func(o runtime.Object) bool { _, is := o.(T); return is })
}

// What is missing or misspelt is refused with its remedy.
func TestChartRefuses(t *testing.T) {
	for want, change := range map[string]func(map[string]any){
		"config.primary is required":          func(v map[string]any) { v["config"].(map[string]any)["primary"] = "" },
		"existingSecret or token is required": func(v map[string]any) { v["token"] = "" },
		"config.web.token would be in a ConfigMap": func(v map[string]any) {
			v["config"].(map[string]any)["web"] = map[string]any{"token": "a-long-token-for-this-test"}
		},
		"replicas": func(v map[string]any) { v["replicas"] = 3 },
	} {
		values := three()
		change(values)
		if _, _, err := rendered(t, values); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	values := three()
	values["token"], values["existingSecret"] = "", "mine"
	if _, _, err := rendered(t, values); err != nil {
		t.Errorf("with a Secret of one's own: %v", err)
	}
}
