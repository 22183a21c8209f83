package app

import (
	"context"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/operations/doctor"
)

// Examine checks what this process needs, at its start and when an administrator asks, until stop is called.
func (a *Connections) Examine(ctx context.Context, service string, checks []doctor.Check) (stop func()) {
	examiner := doctor.Examiner{Store: a.Store, Identity: identity(service), Checks: checks, Log: a.Log}
	return background(ctx, examiner.Run)
}

// Doctor returns the service that requests checks from all processes.
func (a *Connections) Doctor() *doctor.Doctor {
	return &doctor.Doctor{
		Store: a.Store, Queues: lifecycle.Queues(), PaymentQueues: lifecycle.PaymentQueues,
	}
}

// GroundChecks is what each process needs.
func (a *Connections) GroundChecks() []doctor.Check {
	return []doctor.Check{doctor.OfPostgreSQL(a.Store), doctor.OfTemporal(a.Temporal, a.Namespace)}
}

// StorageCheck checks the shared folder.
func (a *Connections) StorageCheck() doctor.Check {
	return doctor.OfYandex(a.Yandex, a.Store.TokenStore(yandexTokens), a.Config.Yandex.Root)
}
