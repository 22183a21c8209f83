// Package operations stores what the service records about itself: counts, findings, checks, processes, and the
// retention of rows.
package operations

import (
	"slices"

	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/notice"
	"stagecoach/internal/store/webhook"
)

// Store is this part of the record. It is safe for concurrent use.
type Store struct {
	db    *core.DB
	parts Parts
}

// New returns this part of a database with these workloads.
func New(db *core.DB, parts Parts) *Store { return &Store{db: db, parts: parts} }

// Parts has the part of each workload, for statements across all of them.
type Parts []core.Part

// counts lists how the rows of all workloads are counted.
func (p Parts) counts() (all []core.Counts) {
	for _, part := range p {
		all = append(all, part.Counts...)
	}
	return all
}

// QuotaNames lists the names of all quotas, as in details of QUOTA_EXCEEDED.
func (p Parts) QuotaNames() (names []string) {
	for _, kind := range p.quotas() {
		names = append(names, kind.Name)
	}
	return names
}

// quotas lists the quotas of all workloads, and those of tokens, agents and webhooks.
func (p Parts) quotas() (all []core.Quota) {
	for _, part := range p {
		all = append(all, part.Quotas...)
	}
	return append(all, account.TokenQuota, account.AgentQuota, webhook.Quota)
}

// AlertKinds lists the kinds of all alerts.
func (p Parts) AlertKinds() (kinds []core.AlertKind) {
	for _, part := range p {
		kinds = append(kinds, part.Alerts...)
	}
	return append(kinds, notice.Alerts...)
}

// Policies lists the policy names of a Retention.
func (p Parts) Policies() (names []string) {
	for _, one := range p.retentions() {
		if one.Policy != "" && !slices.Contains(names, one.Policy) {
			names = append(names, one.Policy)
		}
	}
	return names
}

// retentions lists the retentions of all workloads, then the others.
func (p Parts) retentions() (all []core.Retention) {
	for _, part := range p {
		all = append(all, part.Retained...)
	}
	return append(all, otherRetentions...)
}
