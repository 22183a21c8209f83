// Package parts lists what each workload adds to the HTTP API, the bot, the pages and the MCP tools.
package parts

import (
	"stagecoach/api/bot/chat"
	botdeliveries "stagecoach/api/bot/deliveries"
	botdownloads "stagecoach/api/bot/downloads"
	bottasks "stagecoach/api/bot/tasks"
	bottransactions "stagecoach/api/bot/transactions"
	botwebhooks "stagecoach/api/bot/webhooks"
	"stagecoach/api/mcp/about"
	mcpdeliveries "stagecoach/api/mcp/deliveries"
	mcpdownloads "stagecoach/api/mcp/downloads"
	mcptasks "stagecoach/api/mcp/tasks"
	"stagecoach/api/mcp/tool"
	mcptransactions "stagecoach/api/mcp/transactions"
	"stagecoach/api/rest/deliveries"
	"stagecoach/api/rest/downloads"
	"stagecoach/api/rest/server"
	"stagecoach/api/rest/tasks"
	"stagecoach/api/rest/transactions"
	webaccounts "stagecoach/api/web/accounts"
	webdeliveries "stagecoach/api/web/deliveries"
	webdownloads "stagecoach/api/web/downloads"
	weboperators "stagecoach/api/web/operators"
	"stagecoach/api/web/site"
	webtasks "stagecoach/api/web/tasks"
	webtransactions "stagecoach/api/web/transactions"
	webwebhooks "stagecoach/api/web/webhooks"
	"stagecoach/internal/catalog"
	"stagecoach/internal/service/all"
	"stagecoach/internal/store"
)

// REST returns the functions that add each workload's operations to the HTTP API.
func REST(s all.Services, files *catalog.Catalog) []func(*server.Server) {
	return []func(*server.Server){
		func(api *server.Server) { deliveries.Register(api, s.Deliveries, files) },
		func(api *server.Server) { tasks.Register(api, s.Tasks) },
		func(api *server.Server) { downloads.Register(api, s.Downloads) },
		func(api *server.Server) { transactions.Register(api, s.Transactions) },
	}
}

// Web returns each workload's pages, in menu order.
func Web() []site.Part {
	return []site.Part{
		webdeliveries.Part(),
		webtasks.Part(),
		webdownloads.Part(),
		webtransactions.Part(),
		weboperators.Part(),
		webwebhooks.Part(),
		webaccounts.Part(),
	}
}

// MCP returns each workload's tools, after those that belong to none.
func MCP() []tool.Part {
	workloads := []tool.Part{mcpdeliveries.Part(), mcptasks.Part(), mcpdownloads.Part(), mcptransactions.Part()}
	return append([]tool.Part{about.Part(workloads...)}, workloads...)
}

// Bot returns the constructors of each workload's part in the bot, in the order of /help. Plain words go to the last
// part that takes them: the first one, deliveries, searches for whatever is left.
func Bot(s all.Services, files botdeliveries.Catalog, record *store.Store) []func(*chat.Sender) chat.Part {
	return []func(*chat.Sender) chat.Part{
		func(sender *chat.Sender) chat.Part {
			return botdeliveries.New(sender, s.Deliveries, files, record.Deliveries)
		},
		func(sender *chat.Sender) chat.Part {
			return bottasks.New(sender, s.Tasks, record.Tasks, record.Accounts, record.Notices)
		},
		func(sender *chat.Sender) chat.Part { return botdownloads.New(sender, s.Downloads) },
		func(sender *chat.Sender) chat.Part { return bottransactions.New(sender, s.Transactions) },
		func(*chat.Sender) chat.Part { return botwebhooks.New(record.Webhooks) },
	}
}
