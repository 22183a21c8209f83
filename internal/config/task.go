package config

// taskSettings are those of tasks.
func (c *Config) taskSettings() []Setting {
	return []Setting{
		c.quota("tasks", "STAGECOACH_LIMIT_TASKS", "5000", "live tasks that one user has made"),
		c.quota("members", "STAGECOACH_LIMIT_MEMBERS", "500", "members of one workspace"),
		c.days("tasks", "STAGECOACH_RETENTION_TASKS", "0", "tasks that have ended, with their events, unless a task that is kept was blocked by them"),
	}
}
