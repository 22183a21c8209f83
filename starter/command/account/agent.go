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
			Use: "create NAME", Short: "Make an agent of yours, and show its token once",
			Call: "POST /v1/agents", Text: "name", Fields: tokenFields, Show: showNewAgent,
		}.Command(),
		remote.List[shape.Agent]{
			Use: "list", Short: "List your agents, the oldest first",
			Path: "/v1/agents", Show: showAgents,
		}.Command(),
		remote.List[shape.Event]{
			Use: "events AGENT", Short: "Show what an agent of yours has done, the newest first",
			Path: "/v1/agents/{}/events", Show: showAgentEvents,
		}.Command(),
		remote.List[shape.Token]{
			Use: "tokens AGENT", Short: "List the tokens of an agent of yours",
			Path: "/v1/agents/{}/tokens", Show: showTokens,
		}.Command(),
		remote.Ask[shape.Token]{
			Use: "token AGENT NAME", Short: "Make another token for an agent of yours, and show its secret once",
			Call: "POST /v1/agents/{}/tokens", Text: "name", Fields: tokenFields, Show: showNewToken,
		}.Command(),
		remote.Do{
			Use: "revoke AGENT TOKEN", Short: "Revoke a token of an agent of yours at once, by its id",
			Call: "DELETE /v1/agents/{}/tokens/{}",
			Done: func(args []string) string { return "token " + args[1] + " is revoked" },
		}.Command(),
		remote.Ask[shape.Agent]{
			Use: "end AGENT", Short: "End an agent of yours for good: its tokens, its tasks in work, its deliveries",
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
