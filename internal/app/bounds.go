package app

import (
	"maps"

	"stagecoach/internal/store/core"
)

// fixedQuotas stop a runaway program; people's work stays far below them.
var fixedQuotas = core.Quotas{"tokens": 50, "agents": 10, "members": 500, "workspaces": 50, "books": 1000, "webhooks": 5}

// quotas are the configured ones and the fixed ones.
func quotas(settings map[string]int) core.Quotas {
	all := maps.Clone(fixedQuotas)
	maps.Copy(all, settings)
	return all
}

// fixedRetention is the retention, in days, of rows read only by the service itself, or by an operator looking for a
// cause.
var fixedRetention = map[string]int{"answers": 90, "news": 30, "alerts": 90, "findings": 90, "refusals": 90}

// Retention is for how many days rows are kept, by the names of store.Parts: the configured values and the fixed ones.
func Retention(settings map[string]int) map[string]int {
	all := maps.Clone(fixedRetention)
	maps.Copy(all, settings)
	return all
}
