package run

import (
	"go.temporal.io/sdk/worker"

	activities "stagecoach/activities/webhook"
	"stagecoach/internal/config"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service"
	"stagecoach/internal/webhook"
)

// webhookPart gives what webhooks need. Their receivers are strangers' and may be slow: they have a queue of their own.
func (p process) webhookPart(service.Services) (part, error) {
	counted := p.Metrics.Webhook()
	for _, reason := range []fault.Code{fault.ReceiverGone, fault.ReceiverFailed, fault.OwnerNotActive, fault.TokenEnded} {
		counted.Paused.WithLabelValues(string(reason)) // Prometheus sees no increase in a counter that begins at one
	}

	counted.Sent.WithLabelValues("ok")
	onPaused := func(reason fault.Code) { counted.Paused.WithLabelValues(string(reason)).Inc() }
	webhooks := part{main: register(&activities.Stopper{Store: p.Store.Webhooks, OnPaused: onPaused})}
	if !serves(p.Config, lifecycle.WebhookQueue) {
		return webhooks, nil
	}

	sender := &activities.Activities{
		Store: p.Store.Webhooks, Events: p.Store.Notices, Users: p.Store.Accounts,
		Sender: webhook.NewSender(p.WebhookLimits()), Log: p.Log, Settings: activities.DefaultSettings,
		OnSent: func(result string) { counted.Sent.WithLabelValues(result).Inc() }, OnPaused: onPaused,
	}

	webhooks.queues = []queue{{
		name: lifecycle.WebhookQueue, options: webhookOptions(p.Config),
		register: func(w worker.ActivityRegistry) { w.RegisterActivity(sender) },
	}}
	return webhooks, nil
}

// webhooksAtOnce is how many receivers a worker sends to at once. One keeps its place for some 20 seconds at most.
const webhooksAtOnce = 50

// webhookOptions are for the queue of webhooks.
func webhookOptions(c config.Config) worker.Options {
	o := activityOptions(c, webhooksAtOnce)
	o.MaxHeartbeatThrottleInterval = cancelNotice
	return o
}
