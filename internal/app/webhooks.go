package app

import (
	"time"

	"stagecoach/internal/service/webhooks"

	"stagecoach/internal/webhook"
)

// testPatience is how long a request waits for a test event's outcome: less than a request may take.
const testPatience = 12 * time.Second

func (a *Connections) Webhooks() *webhooks.Service {
	return &webhooks.Service{
		Temporal: a.Temporal, Store: a.Store.Webhooks, Events: a.Store.Notices,
		Log: a.Log, Sending: a.WebhookLimits(), Patience: testPatience,
	}
}

// WebhookLimits are the limits of requests to users' endpoints.
func (a *Connections) WebhookLimits() webhook.Options {
	return webhook.Options{AllowPrivate: a.Config.Webhooks.Private}
}
