package temporalio

import (
	"context"
	"errors"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
)

// EnsureSchedule creates a schedule. An existing one stays as operators have set it, such as a pause or another time.
func EnsureSchedule(ctx context.Context, c client.Client, schedule client.ScheduleOptions) error {
	_, err := c.ScheduleClient().Create(ctx, schedule)
	if errors.Is(err, temporal.ErrScheduleAlreadyRunning) {
		return nil
	}
	return err
}
