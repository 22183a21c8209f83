package rest_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"stagecoach/internal/fault"
	"stagecoach/internal/store/account"
)

// someHash is not the hash of any transaction.
var someHash = hashOf("some hash")

// endpoint is one operation with a request in which at most the access is wrong.
type endpoint struct {
	id, method, target string
	body               any
	admin              bool
	subject            string
}

func endpoints() []endpoint {
	return []endpoint{
		{id: "list-files", method: "GET", target: "/v1/files"},
		{id: "create-delivery", method: "POST", target: "/v1/deliveries", body: map[string]any{"file_id": "1"}},
		{id: "list-deliveries", method: "GET", target: "/v1/deliveries"},
		{id: "get-delivery", method: "GET", target: "/v1/deliveries/1", subject: "delivery/1"},
		{id: "list-delivery-events", method: "GET", target: "/v1/deliveries/1/events", subject: "delivery/1"},
		{id: "cancel-delivery", method: "POST", target: "/v1/deliveries/1/cancel", subject: "delivery/1"},
		{id: "create-workspace", method: "POST", target: "/v1/workspaces", body: map[string]any{"name": "x"}},
		{id: "list-workspaces", method: "GET", target: "/v1/workspaces"},
		{id: "get-workspace", method: "GET", target: "/v1/workspaces/1", subject: "workspace/1"},
		{id: "change-workspace", method: "PATCH", target: "/v1/workspaces/1", body: map[string]any{"name": "x"}, subject: "workspace/1"},
		{id: "list-workspace-members", method: "GET", target: "/v1/workspaces/1/members", subject: "workspace/1"},
		{id: "remove-workspace-member", method: "DELETE", target: "/v1/workspaces/1/members/2", subject: "workspace/1"},
		{id: "add-workspace-member", method: "PUT", target: "/v1/workspaces/1/members/2", subject: "workspace/1"},
		{id: "list-invitations", method: "GET", target: "/v1/invitations"},
		{id: "agree-to-workspace", method: "POST", target: "/v1/workspaces/1/agree", subject: "workspace/1"},
		{id: "refuse-workspace", method: "POST", target: "/v1/workspaces/1/refuse", subject: "workspace/1"},
		{id: "create-task", method: "POST", target: "/v1/tasks", body: map[string]any{"workspace_id": "1", "title": "a title"}},
		{id: "create-tasks", method: "POST", target: "/v1/tasks/batch", body: map[string]any{"workspace_id": "1", "tasks": []any{map[string]any{"title": "a title"}}}},
		{id: "list-tasks", method: "GET", target: "/v1/tasks"},
		{id: "get-task", method: "GET", target: "/v1/tasks/1", subject: "task/1"},
		{id: "list-my-tasks", method: "GET", target: "/v1/tasks/mine"},
		{id: "get-task-graph", method: "GET", target: "/v1/tasks/1/graph", subject: "task/1"},
		{id: "get-task-board", method: "GET", target: "/v1/workspaces/1/board", subject: "workspace/1"},
		{id: "get-workspace-graph", method: "GET", target: "/v1/workspaces/1/graph", subject: "workspace/1"},
		{id: "list-task-actions", method: "GET", target: "/v1/tasks/1/actions", subject: "task/1"},
		{id: "list-task-events", method: "GET", target: "/v1/tasks/1/events", subject: "task/1"},
		{id: "claim-next-task", method: "POST", target: "/v1/tasks/claim", body: map[string]any{"workspace_id": "1", "comment": "x"}},
		{id: "claim-task", method: "POST", target: "/v1/tasks/1/claim", body: map[string]any{"comment": "x"}, subject: "task/1"},
		{id: "escalate-task", method: "POST", target: "/v1/tasks/1/escalate", body: map[string]any{"comment": "x"}, subject: "task/1"},
		{id: "take-over-task", method: "POST", target: "/v1/tasks/1/takeover", body: map[string]any{"comment": "x"}, subject: "task/1"},
		{id: "change-task-status", method: "POST", target: "/v1/tasks/1/status", body: map[string]any{"to": "DONE", "comment": "x"}, subject: "task/1"},
		{id: "send-task-heartbeat", method: "POST", target: "/v1/tasks/1/heartbeat", body: map[string]any{}, subject: "task/1"},
		{id: "comment-task", method: "POST", target: "/v1/tasks/1/comments", body: map[string]any{"comment": "x"}, subject: "task/1"},
		{id: "submit-task", method: "POST", target: "/v1/tasks/1/submit", body: map[string]any{"result": 1, "comment": "x"}, subject: "task/1"},
		{id: "list-task-submissions", method: "GET", target: "/v1/tasks/1/submissions", subject: "task/1"},
		{id: "approve-task", method: "POST", target: "/v1/tasks/1/approve", body: map[string]any{"submission": 2, "comment": "x"}, subject: "task/1"},
		{id: "reject-task", method: "POST", target: "/v1/tasks/1/reject", body: map[string]any{"submission": 2, "comment": "x"}, subject: "task/1"},
		{id: "edit-task", method: "PATCH", target: "/v1/tasks/1", body: map[string]any{"title": "a title"}, subject: "task/1"},
		{id: "get-task-stats", method: "GET", target: "/v1/stats/tasks?workspace_id=1"},
		{id: "create-book", method: "POST", target: "/v1/books", body: map[string]any{"title": "x"}},
		{id: "list-books", method: "GET", target: "/v1/books"},
		{id: "get-book", method: "GET", target: "/v1/books/1", subject: "book/1"},
		{id: "change-book", method: "PATCH", target: "/v1/books/1", body: map[string]any{"title": "x"}, subject: "book/1"},
		{id: "delete-book", method: "DELETE", target: "/v1/books/1", subject: "book/1"},
		{id: "mark-medium", method: "POST", target: "/v1/books/1/media/text/mark", body: map[string]any{"status": "missing"}, admin: true, subject: "book/1"},
		{id: "find-releases", method: "GET", target: "/v1/releases?q=wheels&media_type=text"},
		{id: "create-download", method: "POST", target: "/v1/downloads", body: map[string]any{"book_id": "1", "media_type": "text", "source_url": magnet}},
		{id: "list-downloads", method: "GET", target: "/v1/downloads"},
		{id: "get-download", method: "GET", target: "/v1/downloads/1", subject: "download/1"},
		{id: "list-download-events", method: "GET", target: "/v1/downloads/1/events", subject: "download/1"},
		{id: "cancel-download", method: "POST", target: "/v1/downloads/1/cancel", subject: "download/1"},
		{id: "repeat-download", method: "POST", target: "/v1/downloads/1/again", subject: "download/1"},
		{id: "send-download", method: "POST", target: "/v1/downloads/1/send", subject: "download/1"},
		{id: "send-medium", method: "POST", target: "/v1/books/1/media/text/send", subject: "book/1"},
		{id: "retry-download-import", method: "POST", target: "/v1/downloads/1/retry-import", subject: "download/1"},
		{id: "get-stars-terms", method: "GET", target: "/v1/stars"},
		{id: "list-receipts", method: "GET", target: "/v1/receipts"},
		{id: "list-transactions", method: "GET", target: "/v1/transactions", admin: true},
		{id: "get-transaction", method: "GET", target: "/v1/transactions/" + someHash, admin: true, subject: "transaction/" + someHash},
		{id: "retry-transaction", method: "POST", target: "/v1/transactions/" + someHash + "/retry", admin: true, subject: "transaction/" + someHash},
		{id: "review-transaction", method: "POST", target: "/v1/transactions/" + someHash + "/review", admin: true, subject: "transaction/" + someHash},
		{id: "write-off-transaction", method: "POST", target: "/v1/transactions/" + someHash + "/write-off", admin: true, subject: "transaction/" + someHash},
		{id: "resolve-transaction", method: "POST", target: "/v1/transactions/" + someHash + "/resolve", body: map[string]any{"outcome": "failed"}, admin: true, subject: "transaction/" + someHash},
		{id: "get-transaction-stats", method: "GET", target: "/v1/stats/transactions", admin: true},
		{id: "get-payment-queue", method: "GET", target: "/v1/payments/queue", admin: true},
		{id: "pause-payments", method: "POST", target: "/v1/payments/pause", admin: true},
		{id: "resume-payments", method: "POST", target: "/v1/payments/resume", admin: true},
		{id: "get-solvency", method: "GET", target: "/v1/payments/solvency", admin: true},
		{id: "get-ledger", method: "GET", target: "/v1/payments/ledger", admin: true},
		{id: "reconcile-payments", method: "POST", target: "/v1/payments/reconcile", admin: true},
		{id: "stream-events", method: "GET", target: "/v1/events"},
		{id: "create-webhook", method: "POST", target: "/v1/webhooks", body: map[string]any{"address": "https://receiver.example"}},
		{id: "list-webhooks", method: "GET", target: "/v1/webhooks"},
		{id: "get-webhook", method: "GET", target: "/v1/webhooks/999", subject: "webhook/999"},
		{id: "change-webhook", method: "PATCH", target: "/v1/webhooks/999", body: map[string]any{"state": "PAUSED"}, subject: "webhook/999"},
		{id: "delete-webhook", method: "DELETE", target: "/v1/webhooks/999", subject: "webhook/999"},
		{id: "test-webhook", method: "POST", target: "/v1/webhooks/999/test", subject: "webhook/999"},
		{id: "rotate-webhook", method: "POST", target: "/v1/webhooks/999/rotate", subject: "webhook/999"},
		{id: "replay-webhook", method: "POST", target: "/v1/webhooks/999/replay", body: map[string]any{"cursor": "1-1"}, subject: "webhook/999"},
		{id: "get-overview", method: "GET", target: "/v1/overview"},
		{id: "get-status", method: "GET", target: "/v1/status", admin: true},
		{id: "create-user", method: "POST", target: "/v1/users", body: map[string]any{"name": "x"}, admin: true},
		{id: "list-users", method: "GET", target: "/v1/users", admin: true},
		{id: "get-user", method: "GET", target: "/v1/users/2", admin: true, subject: "user/2"},
		{id: "change-user", method: "PATCH", target: "/v1/users/2", body: map[string]any{"name": "x"}, admin: true, subject: "user/2"},
		{id: "forget-user", method: "POST", target: "/v1/users/2/forget", admin: true, subject: "user/2"},
		{id: "renew-user-token", method: "POST", target: "/v1/users/2/token", admin: true, subject: "user/2"},
		{id: "list-tokens", method: "GET", target: "/v1/tokens"},
		{id: "list-token-descendants", method: "GET", target: "/v1/tokens/999/descendants", subject: "token/999"},
		{id: "create-token", method: "POST", target: "/v1/tokens", body: map[string]any{"name": "x", "scopes": []any{"read"}}},
		{id: "revoke-token", method: "DELETE", target: "/v1/tokens/999", subject: "token/999"},
		{id: "create-sign-in-link", method: "POST", target: "/v1/sign-in-links"},
		{id: "create-agent", method: "POST", target: "/v1/agents", body: map[string]any{"name": "x", "scopes": []any{"read"}}},
		{id: "list-agents", method: "GET", target: "/v1/agents"},
		{id: "get-agent", method: "GET", target: "/v1/agents/999", subject: "agent/999"},
		{id: "list-agent-events", method: "GET", target: "/v1/agents/999/events", subject: "agent/999"},
		{id: "end-agent", method: "DELETE", target: "/v1/agents/999", subject: "agent/999"},
		{id: "list-agent-tokens", method: "GET", target: "/v1/agents/999/tokens", subject: "agent/999"},
		{id: "create-agent-token", method: "POST", target: "/v1/agents/999/tokens", body: map[string]any{"name": "x", "scopes": []any{"read"}}, subject: "agent/999"},
		{id: "revoke-agent-token", method: "DELETE", target: "/v1/agents/999/tokens/1", subject: "agent/999"},
		{id: "rotate-token", method: "POST", target: "/v1/tokens/999/rotate", subject: "token/999"},
		{id: "list-user-tokens", method: "GET", target: "/v1/users/2/tokens", admin: true, subject: "user/2"},
		{id: "revoke-user-token", method: "DELETE", target: "/v1/users/2/tokens/999", admin: true, subject: "user/2"},
		{id: "list-audit", method: "GET", target: "/v1/audit", admin: true},
		{id: "list-alerts", method: "GET", target: "/v1/alerts", admin: true},
		{id: "list-findings", method: "GET", target: "/v1/findings", admin: true},
	}
}

func TestWhoMayCallWhat(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	for _, e := range endpoints() {
		before := len(w.audited())
		call := func(authorization string) reply {
			return w.send("", e.method, e.target, e.body, "Authorization", authorization, "Idempotency-Key", "k")
		}

		for _, authorization := range []string{"", "Bearer", "Bearer ", "Basic " + w.adminToken, w.adminToken, "Bearer sc_wrong", "Bearer " + w.adminToken + "x", "Bearer \u00e9"} {
			a := call(authorization).refused(http.StatusUnauthorized, fault.Unauthenticated, "")
			if !strings.HasPrefix(a.header.Get("WWW-Authenticate"), "Bearer") {
				t.Errorf("%s: no WWW-Authenticate", a.call)
			}
		}

		if rows := w.audited()[before:]; len(rows) != 0 {
			t.Errorf("%s: unknown people are audited: %v", e.id, rows)
		}

		call("Bearer "+w.pendingToken).refused(http.StatusForbidden, fault.UserNotActive, "")
		call("Bearer "+w.blockedToken).refused(http.StatusForbidden, fault.UserNotActive, "")
		want := []string{
			fmt.Sprintf("4 %s %s refused http", e.id, e.subject),
			fmt.Sprintf("5 %s %s refused http", e.id, e.subject),
		}

		if e.admin {
			call("Bearer "+w.adaToken).refused(http.StatusForbidden, fault.InsufficientAccess, "")
			want = append(want, fmt.Sprintf("%d %s %s refused http", w.ada.ID, e.id, e.subject))
		}

		if rows := w.audited()[before:]; !slices.Equal(rows, want) {
			t.Errorf("%s is audited as %v, want %v", e.id, rows, want)
		}
	}
}

func TestTheMatrixKnowsEveryOperation(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	known := []string{"get-health", "get-ready", "get-receipt"} // for anyone
	for _, e := range endpoints() {
		known = append(known, e.id)
	}

	var served []string
	for _, item := range w.send("", "GET", "/openapi.json", nil).ok(http.StatusOK).body["paths"].(map[string]any) {
		for _, operation := range item.(map[string]any) {
			served = append(served, operation.(map[string]any)["operationId"].(string))
		}
	}

	slices.Sort(known)
	slices.Sort(served)
	if !slices.Equal(known, served) {
		t.Errorf("served %v, tested %v", served, known)
	}
}

func TestSchemesHaveNoCase(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	w.send("", "GET", "/v1/deliveries", nil, "Authorization", "bearer  "+w.adaToken).ok(http.StatusOK)
}

func TestBlockedUserLosesAccessAtOnce(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	w.send(w.adaToken, "GET", "/v1/deliveries", nil).ok(http.StatusOK)
	w.send(
		w.adminToken, "PATCH", fmt.Sprintf("/v1/users/%d", w.ada.ID), map[string]any{"status": account.UserBlocked},
	).ok(http.StatusOK)
	w.send(w.adaToken, "GET", "/v1/deliveries", nil).refused(http.StatusForbidden, fault.UserNotActive, "")
}
