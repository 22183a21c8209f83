// Package all joins the services of all workloads.
package all

import (
	"time"

	"stagecoach/internal/service"
	"stagecoach/internal/service/deliveries"
	"stagecoach/internal/service/downloads"
	"stagecoach/internal/service/tasks"
	"stagecoach/internal/service/transactions"
)

// Services has the service of each workload.
type Services struct {
	Deliveries   *deliveries.Service
	Tasks        *tasks.Service
	Downloads    *downloads.Service
	Transactions *transactions.Service
}

// Source creates each service from the configuration.
type Source interface {
	Deliveries() *deliveries.Service
	Tasks() *tasks.Service
	Downloads() *downloads.Service
	Transactions() *transactions.Service
}

// From creates all services.
func From(s Source) Services {
	services := Services{
		Deliveries: s.Deliveries(), Tasks: s.Tasks(), Downloads: s.Downloads(), Transactions: s.Transactions(),
	}
	services.Downloads.Deliveries = services.Deliveries
	return services
}

// WithPatience returns services that wait this long for a requested end.
func (s Services) WithPatience(patience time.Duration) Services {
	deliveries, downloads := *s.Deliveries, *s.Downloads
	deliveries.CancelPatience, downloads.CancelPatience = patience, patience
	s.Deliveries, s.Downloads = &deliveries, &downloads
	return s
}

// Workloads lists the workloads for the operations, in the order of lifecycle.Workloads.
func (s Services) Workloads() []service.Workload {
	return []service.Workload{s.Deliveries.Workload(), s.Tasks.Workload(), s.Downloads.Workload(), s.Transactions.Workload()}
}
