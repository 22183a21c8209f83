package temporalio

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/temporal"
)

// Operator is the part of Temporal's client that lists and creates search attributes.
type Operator interface {
	OperatorService() operatorservice.OperatorServiceClient
}

// WrongSearchAttributes compares a namespace's search attributes with the contract: missing ones, and those of another
// type in words, because no client can change a type. If the client may not list them, all count as missing.
func WrongSearchAttributes(
	ctx context.Context, c Operator, namespace string,
) (missing map[string]enumspb.IndexedValueType, otherType []string, err error) {
	missing = map[string]enumspb.IndexedValueType{}
	for _, key := range []temporal.SearchAttributeKey{
		EntityAttribute, StageAttribute, WaitsForAttribute, OwnerAttribute, AttentionAttribute, WorkspaceAttribute,
		AssigneeAttribute, DeadlineAttribute,
	} {
		missing[key.GetName()] = key.GetValueType()
	}

	existing, err := c.OperatorService().ListSearchAttributes(
		ctx, &operatorservice.ListSearchAttributesRequest{Namespace: namespace},
	)
	if err != nil {
		return missing, nil, err
	}

	for name, found := range existing.CustomAttributes {
		if wanted, ours := missing[name]; ours && wanted != found {
			otherType = append(otherType, fmt.Sprintf("%s is %s instead of %s", name, found, wanted))
		}
		delete(missing, name)
	}
	slices.Sort(otherType)
	return missing, otherType, nil
}

// EnsureSearchAttributes registers the contract's missing attributes. Temporal Cloud lets only its own tools create
// them: wrong then names the missing ones, or all if they cannot be listed, and those of another type.
func EnsureSearchAttributes(ctx context.Context, c Operator, namespace string) (wrong []string, err error) {
	missing, otherType, err := WrongSearchAttributes(ctx, c, namespace)
	if err != nil {
		return refusal(missing, err)
	}
	if len(missing) == 0 {
		return otherType, nil
	}

	_, err = c.OperatorService().AddSearchAttributes(
		ctx, &operatorservice.AddSearchAttributesRequest{Namespace: namespace, SearchAttributes: missing},
	)
	if _, exists := errors.AsType[*serviceerror.AlreadyExists](err); exists {
		err = nil
	}

	refused, err := refusal(missing, err)
	return append(refused, otherType...), err
}

// refusal names the attributes if err means that the client may not do this, and passes on every other error.
func refusal(attributes map[string]enumspb.IndexedValueType, err error) ([]string, error) {
	if Forbidden(err) {
		return slices.Sorted(maps.Keys(attributes)), nil
	}
	return nil, err
}

// Forbidden reports whether Temporal never lets this client do something, whatever its state.
func Forbidden(err error) bool {
	_, denied := errors.AsType[*serviceerror.PermissionDenied](err)
	_, unknown := errors.AsType[*serviceerror.Unimplemented](err)
	return denied || unknown
}
