package app

import (
	"cmp"
	"context"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	sdklog "go.temporal.io/sdk/log"
	"google.golang.org/grpc"

	"stagecoach/internal/codec"
	"stagecoach/internal/config"
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

	if a.Codec, err = payloadCodec(a.Config.Payloads); err != nil {
		return err
	}

	if a.Codec != nil {
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

	return a.ensureSearchAttributes(ctx)
}

// payloadCodec gives the codec of the configured keys; nil: there are none.
func payloadCodec(c config.Payloads) (*codec.Codec, error) {
	if len(c.Keys) == 0 {
		return nil, nil
	}
	var keys []codec.Key
	for _, key := range c.Keys {
		keys = append(keys, codec.Key(key))
	}
	return codec.New(keys, c.Encrypt)
}

// ensureSearchAttributes registers what is missing, and logs a warning about what this program may not create.
func (a *Connections) ensureSearchAttributes(ctx context.Context) error {
	var refused []string
	err := RetryWhileUnavailable(ctx, a.Log, "Temporal's search attributes", func() (err error) {
		refused, err = temporalio.EnsureSearchAttributes(ctx, a.Temporal, a.Namespace)
		return err
	})

	if len(refused) > 0 {
		a.Log.Warn("Temporal does not let this program see or make search attributes: workflows cannot start before an administrator of the namespace has made these",
			"namespace", a.Namespace, "attributes", refused)
	}
	return err
}
