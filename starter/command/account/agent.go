package account

import (
	"github.com/spf13/cobra"

	"stagecoach/api/shape"
	"stagecoach/starter/command/remote"
	"stagecoach/starter/terminal"
)

// NewAgent makes the group of commands about the caller's own agents.
func NewAgent() *cobra.Command {
	return terminal.Group(&cobra.Command{
		Use: "agent", Short: "Manage your agents: programs with tokens of their own",
		Example: "  starter agent create night-shift --scope read,tasks\n  starter workspace member 2 9",
	},
		remote.Ask[shape.Agent]{
			Use: "create NAME", Short: "Create an agent and show its token once",
			Call: "POST /v1/agents", Text: "name", Fields: tokenFields, Show: showNewAgent,
		}.Command(),
		remote.List[shape.Agent]{
			Use: "list", Short: "List your agents, oldest first",
			Path: "/v1/agents", Show: showAgents,
		}.Command(),
		remote.List[shape.Event]{
			Use: "events AGENT", Short: "Show what one of your agents has done, newest first",
			Path: "/v1/agents/{}/events", Show: showAgentEvents,
		}.Command(),
		remote.List[shape.Token]{
			Use: "tokens AGENT", Short: "List an agent's tokens",
			Path: "/v1/agents/{}/tokens", Show: showTokens,
		}.Command(),
		remote.Ask[shape.Token]{
			Use: "token AGENT NAME", Short: "Create another token for an agent and show its secret once",
			Call: "POST /v1/agents/{}/tokens", Text: "name", Fields: tokenFields, Show: showNewToken,
		}.Command(),
		remote.Do{
			Use: "revoke AGENT TOKEN", Short: "Revoke an agent's token immediately",
			Call: "DELETE /v1/agents/{}/tokens/{}",
			Done: func(args []string) string { return "token " + args[1] + " is revoked" },
		}.Command(),
		remote.Ask[shape.Agent]{
			Use: "end AGENT", Short: "End an agent for good: revoke its tokens, release its tasks, cancel its deliveries",
			Call: "DELETE /v1/agents/{}", Show: remote.One(showAgents),
		}.Command(),
	)
}

func showNewAgent(cmd *cobra.Command, a shape.Agent) error {
	if err := showAgents(cmd, []shape.Agent{a}); err != nil {
		return err
	}
	return showSecret(cmd, a.Token)
}

var showAgents = remote.Rows(func(a shape.Agent) []string {
	return []string{a.ID, a.Name, a.Status, terminal.When(a.CreatedAt)}
}, "ID", "NAME", "STATUS", "CREATED")

var showAgentEvents = remote.Rows(func(e shape.Event) []string {
	return []string{terminal.When(e.CreatedAt), e.Workload, e.EntityID, e.Type, e.To, e.Comment}
}, "WHEN", "OF", "ID", "EVENT", "STATE", "COMMENT")
