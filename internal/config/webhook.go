package config

// Webhooks configures users' webhook endpoints.
type Webhooks struct{ Private bool }

func (c *Config) webhookSettings() []Setting {
	return []Setting{
		boolean(&c.Webhooks.Private, "STAGECOACH_WEBHOOK_PRIVATE", "false", "also send to private addresses, such as this machine's, and by http"),
	}
}
