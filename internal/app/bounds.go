package app

import (
	"maps"

	"stagecoach/internal/store/core"
)

// fixedQuotas bound a program that runs away; the work of people stays far below them.
var fixedQuotas = core.Quotas{"tokens": 50, "workspaces": 50, "books": 1000, "webhooks": 5}

// quotas are those of the settings and the fixed ones.
func quotas(settings map[string]int) core.Quotas {
	all := maps.Clone(fixedQuotas)
	maps.Copy(all, settings)
	return all
}

// fixedRetention is for how many days rows are kept that only the service itself reads, or an operator who looks for a
// cause.
var fixedRetention = map[string]int{"answers": 90, "news": 30, "alerts": 90, "findings": 90}

// Retention is for how many days rows are kept, by the names of store.Parts: those of the settings, and the fixed ones.
func Retention(settings map[string]int) map[string]int {
	all := maps.Clone(fixedRetention)
	maps.Copy(all, settings)
	return all
}
