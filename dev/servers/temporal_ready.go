package servers

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"go.temporal.io/api/namespace/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"google.golang.org/protobuf/types/known/durationpb"
)

// Closed workflows stay visible this long; the server's own default is a day.
const temporalRetention = 30 * 24 * time.Hour

// await returns when the server serves the namespace and the Web UI.
func (t *Temporal) await(ctx context.Context, p *process) error {
	const poll = 50 * time.Millisecond
	// A plain connection comes first: a gRPC client that was refused once waits a second before it retries.
	if err := p.awaitPort(ctx, t.Address); err != nil {
		return err
	}

	c, err := client.NewLazyClient(client.Options{
		HostPort:  t.Address,
		Namespace: t.Namespace,
		Logger:    log.NewStructuredLogger(slog.New(slog.DiscardHandler)),
	})
	if err != nil {
		return err
	}
	defer c.Close()

	err = p.await(ctx, poll, func(ctx context.Context) error { return t.ready(ctx, c) })
	if err != nil || t.WebUI == "" {
		return err
	}
	return p.await(ctx, poll, func(ctx context.Context) error { return webReady(ctx, t.WebUI) })
}

func (t *Temporal) ready(ctx context.Context, c client.Client) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()

	if _, err := c.CheckHealth(ctx, &client.CheckHealthRequest{}); err != nil {
		return err
	}

	described, err := c.WorkflowService().DescribeNamespace(
		ctx, &workflowservice.DescribeNamespaceRequest{Namespace: t.Namespace},
	)
	if err != nil {
		return err
	}
	if described.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration() == temporalRetention {
		return nil
	}

	_, err = c.WorkflowService().UpdateNamespace(ctx, &workflowservice.UpdateNamespaceRequest{
		Namespace: t.Namespace,
		Config:    &namespace.NamespaceConfig{WorkflowExecutionRetentionTtl: durationpb.New(temporalRetention)},
	})
	return err
}

// webReady requests the Web UI's first page.
func webReady(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()

	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}

	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}

	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the Web UI answers %s", response.Status)
	}
	return nil
}
