// Package client replaces the client for workers that the server scales: there are none.
package client

import (
	"context"

	"go.temporal.io/api/deployment/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/auto-scaled-workers/wci/workflow/iface"
	"go.temporal.io/server/common/namespace"
	"go.uber.org/fx"
)

// Module provides the client.
var Module = fx.Provide(func() Client { return Client{} })

// Client knows no workers.
type Client struct{}

var (
	errNone        = serviceerror.NewNotFound("this server scales no workers")
	errUnsupported = serviceerror.NewInvalidArgument("this server scales no workers")
)

// Described is the response to DescribeWorkerControllerInstance and UpdateWorkerControllerInstance.
type Described struct {
	Spec             *iface.WorkerControllerInstanceSpec
	ValidationStatus *iface.ValidationStatus
}

func (Client) DescribeWorkerControllerInstance(
	context.Context, *namespace.Namespace, *deployment.WorkerDeploymentVersion,
) (*Described, []byte, error) {
	return nil, nil, errNone
}

func (Client) ValidateWorkerControllerInstanceSpec(
	context.Context, *namespace.Namespace, *deployment.WorkerDeploymentVersion, string,
	map[string]iface.ScalingGroupSpecUpdate, []string,
) error {
	return errUnsupported
}

func (Client) UpdateWorkerControllerInstance(
	context.Context, *namespace.Namespace, *deployment.WorkerDeploymentVersion, []byte, string,
	map[string]iface.ScalingGroupSpecUpdate, []string,
) (*Described, error) {
	return nil, errUnsupported
}

func (Client) DeleteWorkerControllerInstance(
	context.Context, *namespace.Namespace, *deployment.WorkerDeploymentVersion, string,
) error {
	return nil
}
