package app

import (
	"context"

	"stagecoach/internal/temporalio"
)

// ensureSearchAttributes registers what is missing, and warns of what may not be made from here.
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
