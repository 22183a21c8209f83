package core

// Horizon is the place before which every event is final: each transaction of this database with a smaller number has
// ended, and what it committed can be seen. It is the oldest transaction under way in the snapshot that is not known to
// be another database's; such a one cannot write events here, however long it lasts. Prepared transactions, and all
// that PostgreSQL does not tell, count as this database's.
//
// It must be asked outside of a transaction block. Then the list of sessions is read after the snapshot was taken, and
// while it is read a session's place in the server may pass from another database's to one of this database: the number
// shown with it is given out later than the snapshot, which does not hold it. Sessions of all users are listed with
// their database and number, whatever the role may see.
const Horizon = `coalesce((SELECT x FROM pg_snapshot_xip(pg_current_snapshot()) x WHERE NOT EXISTS (SELECT 1 FROM pg_stat_activity a
		WHERE a.backend_xid = x::xid AND a.datid <> (SELECT oid FROM pg_database WHERE datname = current_database()))
	ORDER BY x LIMIT 1), pg_snapshot_xmax(pg_current_snapshot()))`
