package metrics

import (
	"go.opentelemetry.io/otel/attribute"
	otelprom "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/opentelemetry"
)

// latencies are the buckets of the SDK's histograms, in seconds: there are many histograms, so each has few buckets.
var latencies = []float64{0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60, 300, 900}

// sets is the maximum number of label sets per SDK metric. Ours have a few dozen; a label may also come from a
// stranger, such as a workflow's type. Any further ones are counted together.
const sets = 300

// Temporal returns what the SDK counts into: all of its metrics (temporal_…) join the registry. Call it once.
func (m *Metrics) Temporal() (client.MetricsHandler, error) {
	exporter, err := otelprom.New(
		otelprom.WithRegisterer(m.Registry), otelprom.WithoutScopeInfo(), otelprom.WithoutTargetInfo(),
	)
	if err != nil {
		return nil, err
	}

	// The same for everything that we run.
	less := attribute.NewDenyKeysFilter("namespace", "client_name")
	view := func(kind metric.InstrumentKind, aggregation metric.Aggregation) metric.View {
		return metric.NewView(
			metric.Instrument{Name: "*", Kind: kind}, metric.Stream{AttributeFilter: less, Aggregation: aggregation},
		)
	}

	provider := metric.NewMeterProvider(metric.WithReader(exporter), metric.WithCardinalityLimit(sets), metric.WithView(
		view(metric.InstrumentKindCounter, nil),
		view(metric.InstrumentKindGauge, nil),
		view(
			metric.InstrumentKindHistogram, metric.AggregationExplicitBucketHistogram{Boundaries: latencies, NoMinMax: true},
		),
	))

	return opentelemetry.NewMetricsHandler(opentelemetry.MetricsHandlerOptions{
		Meter: provider.Meter("temporal"), UseMonotonicCounters: true,
	}), nil
}
