package main

import (
	"fmt"
	"strings"

	"stagecoach/api/mcp/tool"
	"stagecoach/api/parts"
	"stagecoach/internal/store/account"
)

// toolsTable lists the tools of agents, each with the scopes that a token needs.
func toolsTable() string {
	var b strings.Builder
	b.WriteString("| tool | what | scopes, and for whom |\n|---|---|---|\n")
	for _, part := range parts.MCP() {
		for _, t := range part.Tools {
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", t.Name, t.Description, scopesOf(t))
		}
	}
	return b.String()
}

// scopesOf names the scopes of a tool, and other restrictions on who may call it.
func scopesOf(t tool.Tool) string {
	words := append(quoted(t.Scopes, ""), quoted(t.OneOf, "or ")...)
	if len(words) == 0 {
		words = []string{"any"}
	}
	if t.Admins {
		words = append(words, "administrators")
	}
	return strings.Join(words, ", ")
}

// quoted formats scopes as code, with a word between two of them.
func quoted(scopes []account.Scope, between string) (words []string) {
	for i, scope := range scopes {
		word := "`" + string(scope) + "`"
		if i > 0 {
			word = between + word
		}
		words = append(words, word)
	}
	return words
}
