package run

import (
	"go.temporal.io/sdk/worker"

	activities "stagecoach/activities/webhook"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service/all"
	"stagecoach/internal/webhook"
)

// webhookPart returns the part of webhooks. Their receivers belong to strangers and may be slow: they have their own
// queue.
func (p process) webhookPart(all.Services) (part, error) {
	counted := p.Metrics.Webhook()
	for _, reason := range []fault.Code{fault.ReceiverGone, fault.ReceiverFailed, fault.OwnerNotActive, fault.TokenEnded} {
		counted.Paused.WithLabelValues(string(reason)) // Prometheus sees no increase in a counter that begins at one
	}

	counted.Sent.WithLabelValues("ok")
	onPaused := func(reason fault.Code) { counted.Paused.WithLabelValues(string(reason)).Inc() }
	webhooks := part{main: register(&activities.Stopper{Store: p.Store.Webhooks, OnPaused: onPaused})}
	if !p.Config.Worker.Serves(lifecycle.WebhookQueue) {
		return webhooks, nil
	}

	sender := &activities.Activities{
		Store: p.Store.Webhooks, Events: p.Store.Notices, Users: p.Store.Accounts,
		Sender: webhook.NewSender(p.WebhookLimits()), Log: p.Log, Settings: activities.DefaultSettings,
		OnSent: func(result string) { counted.Sent.WithLabelValues(result).Inc() }, OnPaused: onPaused,
	}

	webhooks.queues = []queue{{
		name: lifecycle.WebhookQueue, options: promptOptions(p.Config, webhooksAtOnce),
		register: func(w worker.ActivityRegistry) { w.RegisterActivity(sender) },
	}}
	return webhooks, nil
}

// webhooksAtOnce is how many receivers a worker sends to concurrently. Each occupies its slot for at most some 20
// seconds.
const webhooksAtOnce = 50
