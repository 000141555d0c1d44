package monitoring

import (
	"os"
	"regexp"
	"testing"

	"github.com/prometheus/common/config"
	"go.yaml.in/yaml/v2"
)

// The job on the page about operating is one that Prometheus takes: its way to the token is read by Prometheus' own type.
func TestTheJobOnThePage(t *testing.T) {
	page, err := os.ReadFile(root + "/docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```yaml\n(scrape_configs:.*?)```").FindSubmatch(page)
	if block == nil {
		t.Fatal("the page has no job")
	}
	var jobs struct {
		List []struct {
			Name   string `yaml:"job_name"`
			Static []struct {
				Targets []string `yaml:"targets"`
			} `yaml:"static_configs"`
			Client config.HTTPClientConfig `yaml:",inline"`
		} `yaml:"scrape_configs"`
	}
	if err := yaml.UnmarshalStrict(block[1], &jobs); err != nil {
		t.Fatal(err)
	}
	if len(jobs.List) != 1 || len(jobs.List[0].Static) != 1 || jobs.List[0].Client.Authorization.CredentialsFile == "" {
		t.Fatalf("the jobs are %+v", jobs)
	}
	if err := jobs.List[0].Client.Validate(); err != nil {
		t.Error(err)
	}
}
