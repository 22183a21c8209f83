package app

import (
	"maps"
	"slices"
	"testing"

	"stagecoach/internal/config"
	"stagecoach/internal/store"
)

// TestSettingsNameWhatTheRecordBounds compares the settings' names for limits and retention with the record's.
func TestSettingsNameWhatTheRecordBounds(t *testing.T) {
	t.Parallel()
	c, err := config.Load(func(name string) (string, bool) {
		value, ok := map[string]string{
			"DATABASE_URL": "postgres://localhost/x", "STAGECOACH_TELEGRAM_TOKEN": "1:planted",
			"STAGECOACH_ENCRYPTION_KEY": "BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=",
		}[name]
		return value, ok
	})
	if err != nil {
		t.Fatal(err)
	}

	for what, names := range map[string]struct {
		settings map[string]int
		record   []string
	}{
		"quotas":   {quotas(c.Limits.Quotas), store.Parts.QuotaNames()},
		"policies": {Retention(c.Retention), store.Parts.Policies()},
	} {
		slices.Sort(names.record)
		if got := slices.Sorted(maps.Keys(names.settings)); !slices.Equal(got, names.record) {
			t.Errorf("%s: settings name %v, the record %v", what, got, names.record)
		}
	}
}
