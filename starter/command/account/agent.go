package account

import (
	"time"

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
		newAgentCreate(),
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
		newAgentToken(),
		remote.Do{
			Use: "revoke AGENT TOKEN", Short: "Revoke a token of an agent of yours at once, by its id",
			Call: "DELETE /v1/agents/{}/tokens/{}",
			Done: func(args []string) string { return "token " + args[1] + " is revoked" },
		}.Command(),
		remote.Ask[shape.Agent]{
			Use: "end AGENT", Short: "End an agent of yours for good: its tokens, its tasks in work, its deliveries",
			Call: "DELETE /v1/agents/{}",
			Show: func(cmd *cobra.Command, a shape.Agent) error { return showAgents(cmd, []shape.Agent{a}) },
		}.Command(),
	)
}

func newAgentCreate() *cobra.Command {
	var wanted tokenFlags
	cmd := remote.Ask[shape.Agent]{
		Use: "create NAME", Short: "Make an agent of yours, and show its token once",
		Call: "POST /v1/agents",
		Body: wanted.body,
		Show: func(cmd *cobra.Command, a shape.Agent) error {
			if err := showAgents(cmd, []shape.Agent{a}); err != nil {
				return err
			}
			return showSecret(cmd, a.Token)
		},
	}.Command()
	wanted.add(cmd)
	return cmd
}

func newAgentToken() *cobra.Command {
	var wanted tokenFlags
	cmd := remote.Ask[shape.Token]{
		Use: "token AGENT NAME", Short: "Make another token for an agent of yours, and show its secret once",
		Call: "POST /v1/agents/{}/tokens",
		Body: func(args []string) (any, error) { return wanted.body(args[1:]) },
		Show: showNewToken,
	}.Command()
	wanted.add(cmd)
	return cmd
}

// tokenFlags say what a new token is to be.
type tokenFlags struct {
	scopes []string
	lasts  time.Duration
}

func (f *tokenFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringSliceVar(
		&f.scopes, "scope", nil, "what the token may do, at most what yours may; separated by commas",
	)
	cmd.Flags().DurationVar(&f.lasts, "lasts", 0, "how long the token is valid, such as 720h; 0: as long as yours")
}

// body is the request for a token, or an agent, of the name that comes first.
func (f *tokenFlags) body(args []string) (any, error) {
	if len(f.scopes) == 0 {
		return nil, errNoScope
	}

	body := map[string]any{"name": args[0], "scopes": f.scopes}
	if f.lasts > 0 {
		body["expires_at"] = time.Now().Add(f.lasts).UTC().Truncate(time.Second)
	}
	return body, nil
}

var showAgents = remote.Rows(func(a shape.Agent) []string {
	return []string{a.ID, a.Name, a.Status, terminal.When(a.CreatedAt)}
}, "ID", "NAME", "STATUS", "CREATED")

var showAgentEvents = remote.Rows(func(e shape.Event) []string {
	return []string{terminal.When(e.CreatedAt), e.Workload, e.EntityID, e.Type, e.To, e.Comment}
}, "WHEN", "OF", "ID", "EVENT", "STATE", "COMMENT")
