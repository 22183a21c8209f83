package personal

var work = Table{Name: "tasks", Keep: map[Reason]string{
	Nobody: `id visibility priority status since status_deadline_at release_at releases clock_waits fencing_token lease_seconds
			lease_expires_at submission approved rejected started_at finished_at last_seq workflow_started_at created_at updated_at`,
	Number: "workspace_id creator_id assignee_id",
	Shared: "title description folded labels",
}}
