package personal

import (
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
)

// Conditions of rows that are about users.
const (
	byUser = `user_id = ANY ($1)`
	byChat = `chat_id IN (SELECT telegram_id FROM users WHERE id = ANY ($1))`
)

// Tables lists all tables in the order of clearing: users come last, because they own the chats.
var Tables = []Table{
	// Accounts.
	{Name: "tokens", Whose: byUser, Clear: map[string]string{
		"name": removed, "revoked_at": `coalesce(revoked_at, now())`,
	}, Keep: map[Reason]string{
		Nobody: "id hash secret_at previous_hash previous_until scopes origin expires_at last_used_at created_at",
		Number: "user_id parent_id rotated_by revoked_by",
	}},
	{Name: "sessions", Whose: byUser, Drop: true},
	{Name: "sign_in_links", Whose: byUser, Drop: true},
	{Name: "identities", Whose: byUser, Drop: true},
	{Name: "answers", Whose: byUser, Drop: true},
	{Name: "audit_log", Keep: map[Reason]string{
		Nobody: "id action detail outcome door count created_at", // the detail is a code, or counts
		Number: "actor_id subject",
	}},
	{Name: "oauth_tokens", Keep: map[Reason]string{Nobody: "provider access_token refresh_token expires_at seeds updated_at"}},

	// What is sent to people.
	{Name: "webhooks", Whose: byUser, Drop: true},
	{Name: "webhook_cursor", Keep: map[Reason]string{Nobody: "one xid id"}},
	{Name: "news", Whose: byUser, Drop: true},
	{Name: "notice_cursor", Keep: map[Reason]string{Nobody: "one xid id"}},
	{Name: "conversations", Whose: byChat, Drop: true},
	{Name: "bot_inbox", Whose: byChat, Drop: true},
	{Name: "bot_updates", Keep: map[Reason]string{Nobody: "update_id received_at"}},
	{Name: "alerts", Keep: map[Reason]string{Nobody: "id kind opened_at sent_at resolved_at over_sent_at"}},
	{
		Name: "boards", Drop: true,
		Whose: `(workload = 'delivery' AND entity_id IN (SELECT id FROM jobs WHERE ` + byUser + `)) OR
			(workload = 'download' AND entity_id IN (SELECT id FROM download_jobs WHERE ` + byUser + `))`,
	},

	// What people write. Operators' comments about money prove their decisions.
	{
		Name: "events", Clear: map[string]string{"comment": `''`},
		Whose: `workload IN ('book', 'delivery', 'download', 'task') AND actor_id = ANY ($1) AND comment <> ''`,
		Keep: map[Reason]string{
			Nobody: "workload id xid seq type from_state to_state created_at",
			Number: "entity_id actor_id owner_id",
		},
	},
	{Name: "requests", Keep: map[Reason]string{
		Nobody: "workload request asked seq refusal", // two of them are hashes
		Number: "entity_id",
	}},
	{Name: "event_floor", Keep: map[Reason]string{Nobody: "one xid id"}},

	{Name: "jobs", Whose: byUser, Clear: map[string]string{"file_name": removed}, Keep: map[Reason]string{
		Nobody: `id idempotency_key size source state attempt next_attempt_at claim last_error bytes_sent claimed_at heartbeat_at
			ack_pending_at message_id cancel_requested_at workflow_started_at created_at updated_at row_version`,
		Number: "user_id",
		Shared: "file_id telegram_file_id",
	}},
	{Name: "files", Keep: map[Reason]string{Shared: "id path parent name folded is_folder size sha256 modified_at place gone"}},
	{Name: "listings", Keep: map[Reason]string{Shared: "path listed_at"}},
	{Name: "sent_files", Keep: map[Reason]string{Shared: "sha256 size telegram_file_id name updated_at"}},

	{Name: "workspaces", Keep: map[Reason]string{
		Nobody: "id status_deadlines stuck_release_after new_deadline_waits_for_blockers review_required created_at updated_at",
		Number: "owner_id",
		Shared: "name",
	}},
	{
		Name: "workspace_members", Drop: true, // people stay members of their own workspaces, by their id
		Whose: byUser + ` AND NOT EXISTS (SELECT FROM workspaces w WHERE w.id = workspace_id AND w.owner_id = user_id)`,
	},
	{Name: "workspace_invitations", Whose: byUser, Drop: true},
	work,
	{Name: "task_blockers", Keep: map[Reason]string{Nobody: "task_id blocker_id"}},
	{Name: "task_watchers", Keep: map[Reason]string{Number: "task_id user_id", Nobody: "watches muted"}},
	{Name: "task_submissions", Keep: map[Reason]string{
		Nobody: "task_id seq created_at",
		Number: "author_id",
		Shared: "result", // the work requested by the workspace
	}},

	// Downloads, and the shared library.
	fetchedFrom, fetched,
	{Name: "download_sync", Keep: map[Reason]string{Nobody: "one polled_at reachable_since failed_at failure"}},
	{Name: "books", Keep: map[Reason]string{
		Nobody: "id state created_at updated_at",
		Number: "creator_id",
		Shared: "title author folded",
	}},
	{
		Name: "media_assets", Whose: `owner_id = ANY ($1)`, Clear: map[string]string{"owner_id": `NULL`, "source_url": removed},
		Keep: map[Reason]string{
			Nobody: "media_type status created_at updated_at",
			Number: "book_id job_id",
			Shared: "path",
		},
	},
	{Name: "library_files", Keep: map[Reason]string{Number: "job_id", Nobody: "place size", Shared: "path folded"}},

	// Money.
	orders,
	{Name: "payments", Keep: map[Reason]string{
		Money: `id kind transaction_hash attempt wallet seqno valid_until boc hash_norm destination amount_nano reserved_nano body_hash request_id
			request_number link_until state sent_at chain_lt chain_hash paid_nano gas_nano returned_nano out_hash settled_at arrived_at kept_at
			confirmed_at proof late live created_at`,
	}},
	{Name: "switches", Keep: map[Reason]string{Nobody: "name since ended_at stopped next_at probes", Number: "by_user", Money: "reason suspect suspect_of"}},
	{Name: "chain_transactions", Keep: map[Reason]string{
		Money: `wallet lt hash prev_lt prev_hash at aborted computed exit_code acted skipped_actions in_hash in_hash_norm in_source in_nano
			in_bounced out_count out_nano out_hash out_destination out_body_hash fee_nano means`,
	}},
	{Name: "ton_wallets", Keep: map[Reason]string{
		Money: `address cursor_lt cursor_hash scanned_to next_seqno requests request_of requested_at created_at
			updated_at`,
	}},
	{Name: "ledger_entries", Keep: map[Reason]string{Money: "id cause wallet transaction_hash created_at"}},
	{Name: "ledger_postings", Keep: map[Reason]string{Money: "entry_id account amount_nano"}},
	{Name: "ledger_balances", Keep: map[Reason]string{Money: "wallet account balance_nano"}},

	// The service itself.
	{Name: "reconciler_findings", Keep: map[Reason]string{
		Nobody: "id found_at seen_at workload run_id finding done done_at",
		Number: "entity workflow_id",
	}},
	{Name: "reconciler_comparisons", Keep: map[Reason]string{Nobody: "workload began_at answered_at live running"}},
	{Name: "outside_systems", Keep: map[Reason]string{Nobody: "name succeeded_at failed_at error failing_since"}},
	{Name: "processes", Keep: map[Reason]string{Nobody: "identity service version carries started_at beat_at"}},
	{Name: "api_presence", Keep: map[Reason]string{Nobody: "one beat_at away_since back_at"}},
	{Name: "counts", Keep: map[Reason]string{Nobody: "kind key n ended"}},
	{Name: "counted", Keep: map[Reason]string{Nobody: "one mark counted_at recounted_at"}},
	{Name: "goose_db_version", Keep: map[Reason]string{Nobody: "id version_id is_applied tstamp"}},

	{Name: "users", Whose: `id = ANY ($1)`, Clear: map[string]string{
		"name": `''`, "telegram_id": `NULL`, "username": `NULL`, "language": `'en'`, "language_chosen": `false`, "mutes_agents": `false`, "role": core.Literal(account.RoleUser),
		"status": core.Literal(account.UserBlocked), "forgotten_at": `coalesce(forgotten_at, now())`, "updated_at": `now()`,
	}, Keep: map[Reason]string{Nobody: "created_at", Number: "id owner_id made_by promoted_by"}},
}
