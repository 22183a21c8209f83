package config

func (c *Config) taskSettings() []Setting {
	return []Setting{
		c.quota("tasks", "STAGECOACH_LIMIT_TASKS", "5000", "live tasks created by one user"),
		c.days("tasks", "STAGECOACH_RETENTION_TASKS", "0", "tasks that have ended, with their events, unless they blocked a task that is kept"),
	}
}
