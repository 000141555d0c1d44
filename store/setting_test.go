package store

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// Settings and the log of changes outlive the process.
func TestSettingsAndActivityOutliveTheProcess(t *testing.T) {
	ctx := context.Background()
	cfg := testConfig(t)
	db := openStore(t, cfg, Deps{})
	if _, err := db.Setting(ctx, "shadowing"); !errors.Is(err, ErrNotFound) {
		t.Errorf("a setting that was never saved: %v", err)
	}
	for _, value := range []string{"on", "off"} {
		if err := db.SaveSetting(ctx, "shadowing", value); err != nil {
			t.Fatal(err)
		}
		if err := db.LogActivity(ctx, "api", "shadowing", "switched "+value); err != nil {
			t.Fatal(err)
		}
	}
	closeStore(t, db)
	db = openStore(t, cfg, Deps{})
	if got, err := db.Setting(ctx, "shadowing"); err != nil || got != "off" {
		t.Errorf("the switch is %q after a restart, %v", got, err)
	}
	list, err := db.Activity(ctx, 0)
	if err != nil || len(list) != 2 || list[0].Detail != "switched off" || list[0].Actor != "api" || list[0].Time.IsZero() {
		t.Errorf("activity: %+v, %v", list, err)
	}
	if list, err := db.Activity(ctx, 1); err != nil || len(list) != 1 {
		t.Errorf("one entry: %+v, %v", list, err)
	}
}

// Each fault of a configuration begins with its key, all at once.
func TestConfigFaults(t *testing.T) {
	if faults := DefaultConfig().Validate(); len(faults) != 0 {
		t.Errorf("the default: %v", faults)
	}
	faults := Config{MaxSize: 1, Redact: []string{"header.cookie", "body[", "nonsense.x"}}.Validate()
	want := []string{
		"store.path: must name a file",
		"store.keep_samples: 0s is less than a minute",
		"store.samples_per_field: 0 is not between 1 and 1000",
		"store.max_size: 1 bytes is less than 4 MiB",
		"store.redact[1]: ", // what follows is normalize's
		"store.redact[2]: ",
	}
	if len(faults) != len(want) {
		t.Fatalf("faults are %v", faults)
	}
	for i, fault := range faults {
		if !strings.HasPrefix(fault.Error(), want[i]) {
			t.Errorf("fault %d is %q, want %q", i, fault, want[i])
		}
	}
}
