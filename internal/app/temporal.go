package app

import (
	"cmp"
	"context"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	sdklog "go.temporal.io/sdk/log"
	"google.golang.org/grpc"

	"stagecoach/internal/codec"
	"stagecoach/internal/temporalio"
)

// dialTemporal connects to Temporal and makes sure that it has our search attributes.
func (a *Connections) dialTemporal(
	ctx context.Context, service string, apply func(*codec.Codec, *client.Options),
) (err error) {
	options, err := envconfig.LoadDefaultClientOptions()
	if err != nil {
		return err
	}

	a.Namespace = cmp.Or(options.Namespace, client.DefaultNamespace)
	options.Identity, options.Logger = identity(service), sdklog.NewStructuredLogger(a.Log)
	if options.MetricsHandler, err = temporalMetrics(); err != nil {
		return err
	}
	if options.Interceptors, a.flush, err = traces(ctx, a.Config.TracesURL, a.Log); err != nil {
		return err
	}

	connection := &options.ConnectionOptions
	connection.DialOptions = append(connection.DialOptions, grpc.WithChainUnaryInterceptor(a.Liveness.Calls))
	// Our messages are ids: compressing them costs both sides more than it saves.
	connection.GrpcCompression = &client.GrpcCompressionNone{}

	if payloads := a.Config.Payloads; len(payloads.Keys) > 0 {
		var keys []codec.Key
		for _, key := range payloads.Keys {
			keys = append(keys, codec.Key(key))
		}
		if a.Codec, err = codec.New(keys, payloads.Encrypt); err != nil {
			return err
		}
		apply(a.Codec, &options)
	}
	a.Payloads = options.DataConverter

	err = RetryWhileUnavailable(ctx, a.Log, "Temporal", func() error {
		a.Temporal, err = client.DialContext(ctx, options)
		return err
	})
	if err != nil {
		return err
	}

	return RetryWhileUnavailable(ctx, a.Log, "Temporal's search attributes", func() error {
		return a.ensureSearchAttributes(ctx)
	})
}

// searchAttributesEvery is the interval between two comparisons of Temporal's search attributes with ours. A missing
// one fails every workflow task that sets it.
const searchAttributesEvery = time.Hour

// ensureSearchAttributes registers missing attributes, and reports what this program may not create or change.
func (a *Connections) ensureSearchAttributes(ctx context.Context) error {
	wrong, err := temporalio.EnsureSearchAttributes(ctx, a.Temporal, a.Namespace)
	if err != nil {
		return err
	}

	a.Metrics.SearchAttributesWrong.Set(float64(len(wrong)))
	if len(wrong) > 0 {
		a.Log.Error("workflows fail until a Temporal administrator creates or corrects these search attributes",
			"namespace", a.Namespace, "attributes", wrong)
	}
	return nil
}

// keepSearchAttributes repeats ensureSearchAttributes until ctx ends.
func (a *Connections) keepSearchAttributes(ctx context.Context, every time.Duration) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(every):
		}
		if err := a.ensureSearchAttributes(ctx); err != nil && ctx.Err() == nil {
			a.Log.Warn("search attributes not checked", "error", err)
		}
	}
}
