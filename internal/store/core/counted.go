package core

// Counted gives the counts of kinds $1 as one row for each key.
const Counted = `SELECT kind, key, sum(n)::bigint AS n FROM (
		SELECT kind, key, n FROM counts WHERE kind = ANY ($1) UNION ALL SELECT kind, key, n FROM count_changes WHERE kind = ANY ($1)
	) c GROUP BY kind, key HAVING sum(n) <> 0`

// OverviewCounts are what a status counts in one look.
type OverviewCounts struct {
	Counts         map[string]map[string]int64 // by kind and key: those of a workload by its name and state
	OpenFindings   int64                       // up to 10,000
	RecentFindings int64                       // the same
}
