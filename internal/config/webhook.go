package config

// Webhooks configures the endpoints of users that get events.
type Webhooks struct{ Private bool }

// webhookSettings are those of webhooks.
func (c *Config) webhookSettings() []Setting {
	return []Setting{
		boolean(&c.Webhooks.Private, "STAGECOACH_WEBHOOK_PRIVATE", "false", "also send to addresses that are not on the Internet, such as this machine's, and by http"),
	}
}
