package config

import "time"

// Webhooks configures the endpoints of users that get events.
type Webhooks struct {
	Parallel int // endpoints that a worker sends to at once
	Timeout  time.Duration
	Private  bool
}

// webhookSettings are those of webhooks.
func (c *Config) webhookSettings() []Setting {
	return []Setting{
		c.quota("webhooks", "STAGECOACH_LIMIT_WEBHOOKS", "5", "webhooks of one user"),
		integer(&c.Webhooks.Parallel, "STAGECOACH_WEBHOOK_PARALLEL", "50", 1, 10_000, "webhooks that a worker sends to at once; one keeps its place for some 20 seconds at most, then it is another's turn"),
		duration(&c.Webhooks.Timeout, "STAGECOACH_WEBHOOK_TIMEOUT", "10s", 100*time.Millisecond, time.Minute, "the longest time for one request to a webhook"),
		boolean(&c.Webhooks.Private, "STAGECOACH_WEBHOOK_PRIVATE", "false", "also send to addresses that are not on the Internet, such as this machine's, and by http"),
	}
}
