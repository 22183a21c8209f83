package workflows

import (
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"strings"
	"testing"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/workflow"

	"stagecoach/dev/testtemporal"
	"stagecoach/internal/operations/reconcile"
	"stagecoach/workflows/reconciler"
)

// TestReconcilerGoesOnAsItself registers all workflows, as a worker does: the SDK knows functions by their last name
// only, and several are called Run.
func TestReconcilerGoesOnAsItself(t *testing.T) {
	t.Parallel()
	env := testtemporal.Environment()
	Register(env, Settings{})
	env.RegisterActivityWithOptions(
		func(context.Context) error { return nil }, activity.RegisterOptions{Name: "Reconcile"},
	)
	env.ExecuteWorkflow(reconciler.WorkflowType, (*reconcile.Sweep)(nil))
	again, ok := errors.AsType[*workflow.ContinueAsNewError](env.GetWorkflowError())
	if !ok {
		t.Fatalf("it ended with %v", env.GetWorkflowError())
	}
	if again.WorkflowType.Name != reconciler.WorkflowType {
		t.Errorf("it goes on as %s", again.WorkflowType.Name)
	}
}

// TestAllGoOnByName fails for a workflow that continues as a function: it would go on as the last one registered with a
// function of that name.
func TestAllGoOnByName(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*/*.go")
	if err != nil {
		t.Fatal(err)
	}

	found := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}

		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}

		ast.Inspect(file, func(node ast.Node) bool {
			call, ok := node.(*ast.CallExpr)
			if !ok {
				return true
			}
			if called, ok := call.Fun.(*ast.SelectorExpr); !ok || !strings.HasPrefix(called.Sel.Name, "NewContinueAsNewError") {
				return true
			}

			found++
			if !strings.HasSuffix(types.ExprString(call.Args[1]), "Type") {
				t.Errorf("%s: continue with the type's name instead of a function", fset.Position(call.Pos()))
			}
			return true
		})
	}

	if found < 6 {
		t.Errorf("found %d workflows that continue as new", found)
	}
}
