package temporalio

import (
	"context"
	"errors"
	"maps"
	"slices"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
)

// EnsureSearchAttributes registers the attributes of the contract; those that exist stay. Temporal Cloud lets only its
// own tools create them: refused then names the missing ones, or all when they cannot be listed.
func EnsureSearchAttributes(ctx context.Context, c client.Client, namespace string) (refused []string, err error) {
	wanted := map[string]enumspb.IndexedValueType{}
	for _, key := range []temporal.SearchAttributeKey{
		EntityAttribute, StageAttribute, WaitsForAttribute, OwnerAttribute, AttentionAttribute, WorkspaceAttribute,
		AssigneeAttribute, DeadlineAttribute,
	} {
		wanted[key.GetName()] = key.GetValueType()
	}

	existing, err := c.OperatorService().ListSearchAttributes(
		ctx, &operatorservice.ListSearchAttributesRequest{Namespace: namespace},
	)
	if err != nil {
		return refusal(wanted, err)
	}

	for name := range existing.CustomAttributes {
		delete(wanted, name)
	}

	if len(wanted) == 0 {
		return nil, nil
	}

	_, err = c.OperatorService().AddSearchAttributes(
		ctx, &operatorservice.AddSearchAttributesRequest{Namespace: namespace, SearchAttributes: wanted},
	)
	if _, exists := errors.AsType[*serviceerror.AlreadyExists](err); exists {
		return nil, nil
	}

	return refusal(wanted, err)
}

// refusal names the attributes when err says that a client may not do this, and passes every other error on.
func refusal(attributes map[string]enumspb.IndexedValueType, err error) ([]string, error) {
	_, denied := errors.AsType[*serviceerror.PermissionDenied](err)
	_, unknown := errors.AsType[*serviceerror.Unimplemented](err)
	if denied || unknown {
		return slices.Sorted(maps.Keys(attributes)), nil
	}
	return nil, err
}
