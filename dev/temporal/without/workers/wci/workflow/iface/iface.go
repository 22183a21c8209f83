// Package iface has the types of workers that the server scales itself.
package iface

import (
	"time"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
)

type (
	ComputeProviderType  string
	ScalingAlgorithmType string
	ValidationResult     string
)

const ValidationResultFailed ValidationResult = "failed"

type ComputeProviderSpec struct {
	ProviderType  ComputeProviderType
	Config        *common.Payload
	NexusEndpoint string
}

type ScalingAlgorithmSpec struct {
	ScalingAlgorithm ScalingAlgorithmType
	Config           *common.Payload
}

type ScalingGroupSpec struct {
	TaskTypes []enums.TaskQueueType
	Compute   ComputeProviderSpec
	Scaling   *ScalingAlgorithmSpec
}

type ScalingGroupSpecUpdate struct {
	Spec       ScalingGroupSpec
	UpdateMask []string
}

type WorkerControllerInstanceSpec struct {
	ScalingGroupSpecs map[string]ScalingGroupSpec
}

type ValidationStatus struct {
	Status             ValidationResult
	LastValidationTime time.Time
	ErrMessage         string
}
