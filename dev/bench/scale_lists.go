package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/delivery"
	"stagecoach/internal/store/download"
	"stagecoach/internal/store/task"
	"stagecoach/internal/store/transaction"
)

// scaleLists are lists of all workloads, with filters that match many rows, few, and none.
func scaleLists(ctx context.Context, m *machine) (parts []scalePart, err error) {
	half, err := m.store.EventsBack(ctx, 1)
	if err != nil {
		return nil, err
	}
	half.XID -= scaleXIDs / 2

	const user, busy = scaleUsers / 2, 1
	middle, longAgo := time.Now().AddDate(0, 0, -scaleDays/2), time.Now().AddDate(0, 0, 1-scaleDays)
	add := func(table, name string, list func() error) {
		scan := `SELECT count(*) FROM ` + table + ` WHERE id > 0 AND md5(id::text) = ''`
		parts = append(parts, scalePart{name, list, scan, "looking at each row of " + table})
	}

	for name, f := range map[string]delivery.Filter{
		"deliveries": {}, "deliveries from far back": {Before: 1000}, "a user's deliveries": {UserID: user},
		"a user's expired deliveries": {UserID: user, State: lifecycle.DeliveryExpired}, "live deliveries": {Live: true},
		"a busy user's failed deliveries": {UserID: busy, State: lifecycle.DeliveryFailed},
	} {
		f.Limit = scalePage
		add("jobs", "a list of "+name, func() error { _, err := m.store.Jobs(ctx, f); return err })
	}

	for name, f := range map[string]task.Filter{
		"a workspace's tasks": {WorkspaceID: 7}, "a workspace's blocked tasks": {WorkspaceID: 7, Status: lifecycle.TaskBlocked},
		"an assignee's tasks": {AssigneeID: 3}, "ready tasks": {Viewer: user, Ready: true}, "live tasks": {Live: true},
		"a user's tasks from far back": {Viewer: user, Before: 1000}, "a busy user's live tasks": {Viewer: busy, Live: true},
	} {
		f.Limit = scalePage
		add("tasks", "a list of "+name, func() error { _, err := m.store.Tasks(ctx, f); return err })
	}

	for name, f := range map[string]download.Filter{
		"a user's downloads": {UserID: user}, "failed downloads": {Status: lifecycle.DownloadFailed}, "active downloads": {Active: true},
		"a user's failed downloads": {UserID: user, Status: lifecycle.DownloadFailed}, "a book's downloads": {BookID: 5},
		"downloads": {}, "a busy user's downloads from far back": {UserID: busy, Before: 1000},
	} {
		f.Limit = scalePage
		add("download_jobs", "a list of "+name, func() error { _, err := m.store.Downloads(ctx, f); return err })
	}

	for name, f := range map[string]transaction.Filter{
		"transactions": {}, "failed transactions": {Status: lifecycle.TransactionFailed}, "transactions to review": {NeedsReview: true},
		"transactions of a month": {SeenFrom: &middle}, "transactions by a hash": {HashBegins: "abc"}, "owed transactions": {Owed: true},
		"pending transactions": {Status: lifecycle.TransactionPending}, "transactions that wait for a person": {Attention: true},
		"transactions to retry from long ago": {MayRetry: true, SeenUntil: &longAgo}, "transactions from long ago": {SeenUntil: &longAgo},
		"transactions to retry with a message that none has": {MayRetry: true, Error: "none"},
	} {
		f.Limit = scalePage
		add("transactions", "a list of "+name, func() error { _, err := m.store.Transactions(ctx, f); return err })
	}

	for name, list := range map[string]func() error{
		"a user's receipts":              func() error { _, err := m.store.TransactionsFor(ctx, busy, 0, scalePage); return err },
		"the board of a workspace":       func() error { _, err := m.store.BoardOf(ctx, busy, 7, scalePage); return err },
		"the graph of a workspace":       func() error { _, err := m.store.GraphOfWorkspace(ctx, busy, 7, scalePage); return err },
		"a user's work":                  func() error { _, err := m.store.WorkOf(ctx, 3, 3, scalePage); return err },
		"a task's events":                func() error { _, err := m.store.EventsOfTask(ctx, 0, 9, 0, scalePage); return err },
		"what a busy user did":           func() error { _, err := m.store.EventsBy(ctx, busy, 0, scalePage); return err },
		"what a user did, from far back": func() error { _, err := m.store.EventsBy(ctx, user, 1000, scalePage); return err },
		"events from the first":          func() error { _, err := m.store.EventsAfter(ctx, core.Cursor{}, scaleBatch); return err },
		"events from the middle":         func() error { _, err := m.store.EventsAfter(ctx, half, scaleBatch); return err },
		"the audit log":                  func() error { _, err := m.store.AuditLog(ctx, 0, scalePage); return err },
		"alerts that are over":           func() error { _, err := m.store.Incidents(ctx, false, 0, scalePage); return err },
		"errors of a day": func() error {
			_, err := m.store.WorkloadErrors(ctx, time.Now().AddDate(0, 0, -1), scalePage)
			return err
		},
		"books by rare words": func() error {
			_, err := m.store.Books(ctx, download.BookFilter{Words: "number 99999 some", Limit: scalePage})
			return err
		},
		"files by rare words":     func() error { _, err := m.store.SearchFiles(ctx, "report 99999.", scalePage, 0); return err },
		"files by frequent words": func() error { _, err := m.store.SearchFiles(ctx, "report", scalePage, 0); return err },
	} {
		add("tasks", name, list)
	}

	slices.SortFunc(parts, func(a, b scalePart) int { return strings.Compare(a.name, b.name) })
	return parts, nil
}
