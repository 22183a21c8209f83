package personal

import (
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/core"
)

// ended is the value of a column that a download needs while it is live.
func ended(becomes, column string) string {
	return `CASE WHEN status IN ` + core.SetOf(lifecycle.Download.Ended()) + ` THEN ` + becomes + ` ELSE ` + column + ` END`
}

var fetched = Table{Name: "download_jobs", Whose: byUser, Clear: map[string]string{
	"source": removed, "source_url": removed, "other_category": `''`, "request_key": `NULL`,
	"external_job_id": ended(`NULL`, "external_job_id"), "torrent": ended(`NULL`, "torrent"),
	"infohash_v1": ended(`''`, "infohash_v1"), "infohash_v2": ended(`''`, "infohash_v2"), "save_path": ended(`''`, "save_path"),
	"content_path": ended(`CASE content_path WHEN '' THEN '' ELSE `+removed+` END`, "content_path"),
}, Keep: map[Reason]string{
	Nobody: `id media_type status link_hash created_at_utc updated_at_utc completed_at_utc first_not_found_at_utc failure_reason last_error
		row_version source_place sources_left size progress speed eta_seconds added_at resumed_at progress_at attention imported left_out
		cancel_requested_at removing_at cancel_error keep_files send sent_at workflow_started_at`,
	Number: "user_id cancel_requested_by",
	Shared: "book_id",
}}

var fetchedFrom = Table{
	Name: "download_sources", Whose: `job_id IN (SELECT id FROM download_jobs WHERE ` + byUser + `)`,
	Clear: map[string]string{
		"source_url": removed, "title": `''`, "indexer": `''`, "claimed": `''`, "infohash_v1": `''`, "infohash_v2": `''`,
	},
	Keep: map[Reason]string{Nobody: "place link_hash size outcome", Number: "job_id"},
}
