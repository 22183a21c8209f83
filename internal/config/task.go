package config

import "time"

// Tasks bounds the settings of a workspace.
type Tasks struct {
	LeastDeadline time.Duration
	LeastRelease  time.Duration
}

// taskSettings are those of tasks.
func (c *Config) taskSettings() []Setting {
	return []Setting{
		c.quota("tasks", "STAGECOACH_LIMIT_TASKS", "5000", "live tasks that one user has made"),
		c.quota("workspaces", "STAGECOACH_LIMIT_WORKSPACES", "50", "workspaces of one owner"),
		c.quota("members", "STAGECOACH_LIMIT_MEMBERS", "500", "members of one workspace"),
		integer(&c.API.WaitingPerUser, "STAGECOACH_LIMIT_WAITING_CLAIMS", "50", 0, 1_000_000, "callers of one user who wait for the next task at a time, in each API process; 0: no limit"),
		duration(&c.Tasks.LeastDeadline, "STAGECOACH_TASK_LEAST_DEADLINE", "1s", 0, day, "the shortest deadline that a workspace may set; a shorter stored one counts as this one"),
		duration(&c.Tasks.LeastRelease, "STAGECOACH_TASK_LEAST_RELEASE", "1m", 0, day, "the shortest time after which a workspace may have tasks released from STUCK; a shorter stored one counts as this one"),
		c.days("tasks", "STAGECOACH_RETENTION_TASKS", "0", "tasks that have ended, with their events, unless a task that is kept was blocked by them"),
	}
}
