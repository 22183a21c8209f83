package metrics

import (
	"fmt"
	"testing"
	"time"
)

// TestSeriesOfTheSDKAreBounded gives the SDK a thousand workflow types.
func TestSeriesOfTheSDKAreBounded(t *testing.T) {
	t.Parallel()
	m := New()
	handler, err := m.Temporal()
	if err != nil {
		t.Fatal(err)
	}
	for n := range 1000 {
		tagged := handler.WithTags(map[string]string{"workflow_type": fmt.Sprint(n)})
		tagged.Timer("temporal_workflow_latency").Record(time.Second)
		tagged.Counter("temporal_workflow_failed").Inc(1)
	}

	families, err := m.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	met := 0
	for _, family := range families {
		switch family.GetName() {
		case "temporal_workflow_latency_seconds", "temporal_workflow_failed_total":
			met++
			if series := len(family.GetMetric()); series > sets {
				t.Errorf("%s has %d series", family.GetName(), series)
			}
		}
	}
	if met != 2 {
		t.Errorf("%d metrics of two", met)
	}
}
