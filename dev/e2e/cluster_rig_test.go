package e2e

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"stagecoach/dev/night"
	"stagecoach/dev/servers"
	"stagecoach/dev/stack"
	"stagecoach/dev/testdb"
	"stagecoach/dev/wait"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service/transactions"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/delivery"
	"stagecoach/internal/store/operations"
	"stagecoach/workflows/reconciler"
)

// openTasks is how many tasks stay open while a cluster is killed or upgraded.
const openTasks = 20

// clusterRig is a service on a cluster: Temporal's four services and the record on one PostgreSQL, and our processes as
// dev starts them.
type clusterRig struct {
	*rolling
	postgres *servers.Postgres
	cluster  *servers.Cluster
	fleet    map[string]*program // by name
}

// newClusterRig starts everything, with settings in addition to the usual ones.
func newClusterRig(t *testing.T, settings map[string]string) *clusterRig {
	t.Helper()
	night.Only(t)
	needsServers(t)
	ground := newGround(t)
	c := &clusterRig{postgres: testdb.Own(t, servers.PostgresOptions{}), fleet: map[string]*program{}}
	ground.DatabaseURL = c.postgres.URL

	var err error
	services := &logBuffer{}
	c.cluster, err = ground.StartCluster(t.Context(), servers.ClusterOptions{
		Dir: t.TempDir(), UIPort: -1, Log: services, Progress: func(step string) { t.Log(step) },
	})
	if err != nil {
		t.Fatalf("%v\n%s", err, services.tail(6000))
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("logs of Temporal:\n%s", services.tail(3000))
		}
	})

	stand := newStandIn(t)
	l := newLibraryFrom(t, stand, rollingSettings, func(all map[string]string) *rig { return newRigFrom(t, ground, all) })
	c.rolling = newRollingOn(l, stand, programs)
	for name, value := range settings {
		c.env[name] = value
	}

	for _, p := range stack.Fleet() {
		c.startOne(p)
	}
	c.fleetReady()
	return c
}

// startOne starts one of our processes.
func (c *clusterRig) startOne(p stack.Process) {
	c.Helper()
	env := p.With(c.env)
	if url := c.urlOf(p.Name); url != "" {
		env["STAGECOACH_API_ADDR"] = strings.TrimPrefix(url, "http://")
	}
	c.fleet[p.Name] = c.runs(stack.Programs{Dir: filepath.Clean(c.programs)}.Start(p.Program, env, c.log))
}

// urlOf returns the address of an API by name; empty for others.
func (c *clusterRig) urlOf(name string) string {
	return map[string]string{"api-1": c.urls[0], "api-2": c.urls[1]}[name]
}

// fleetReady waits until both APIs answer.
func (c *clusterRig) fleetReady() {
	c.Helper()
	for _, url := range c.urls {
		c.awaitReady(url)
	}
}

// leaveOpen creates tasks that nobody claims: they stay live in the record and in Temporal.
func (c *clusterRig) leaveOpen() {
	c.Helper()
	who := c.member("Patience")
	space := who.workspace(map[string]any{})
	var tasks []map[string]any
	for i := range openTasks {
		tasks = append(tasks, map[string]any{"ref": fmt.Sprint(i), "title": "Wait for me"})
	}
	who.batch(space, tasks...)
}

// wantDeliveriesEnded is for deliveries whose workers were killed: an attempt may be lost, and once the last byte was
// sent the outcome may be unknown.
func (c *clusterRig) wantDeliveriesEnded() {
	c.Helper()
	c.telegram.ClearFaults()
	unknown, lost := 0, 0
	for _, id := range c.deliveries {
		job := c.ended(delivery.Job{ID: number(c, id)})
		lost += job.Attempt
		if job.State == lifecycle.DeliveryFailed && job.LastError == string(fault.OutcomeUnknown) {
			unknown++
			continue
		}
		c.wantState(job, lifecycle.DeliveryDelivered, "")
	}

	c.wantDocuments(len(c.deliveries)-unknown, len(c.deliveries))
	if lost+unknown == 0 {
		c.Error("no worker was killed in the middle of a delivery")
	}
	c.Logf("%d attempts of deliveries were lost, %d outcomes are unknown", lost, unknown)
}

// wantNoDifference compares the record with Temporal, with the chain and with Fragment: nothing differs.
func (c *clusterRig) wantNoDifference() {
	c.Helper()
	began := time.Now()
	must(c, reconciler.Trigger(c.Context(), c.client))
	wait.Eventually(c, "all workloads are compared", func() bool { return c.compared().After(began) })

	comparisons, err := c.store.Operations.Comparisons(c.Context())
	must(c, err)
	for _, of := range comparisons {
		want := map[string]int{lifecycle.WorkloadTask: openTasks}[of.Workload]
		if of.Live != want || of.Running != want {
			c.Errorf("%s: %d live rows and %d running workflows, want %d", of.Workload, of.Live, of.Running, want)
		}
	}

	found, err := c.store.Operations.Findings(c.Context(), operations.FindingFilter{Limit: 100})
	must(c, err)
	for _, finding := range found {
		if finding.FoundAt.After(began) || finding.Done == "" {
			c.Errorf("the reconciler found %s %s: %s, %q", finding.Workload, finding.Entity, finding.Finding, finding.Done)
		}
	}
	c.Logf("the reconciler has repaired %d rows on the way", len(found))

	c.wantBooksAgree()
}

// compared returns when the oldest of all workloads' last comparisons began; zero: some are missing.
func (c *clusterRig) compared() time.Time {
	c.Helper()
	comparisons, err := c.store.Operations.Comparisons(c.Context())
	if err != nil || len(comparisons) < len(lifecycle.Names()) {
		return time.Time{}
	}

	oldest := comparisons[0].BeganAt
	for _, of := range comparisons {
		if of.BeganAt.Before(oldest) {
			oldest = of.BeganAt
		}
	}
	return oldest
}

// wantBooksAgree compares purchases with the chain and with what Fragment has sold.
func (c *clusterRig) wantBooksAgree() {
	c.Helper()
	bought, _, err := c.ground.Fragment.Purchases(c.Context())
	must(c, err)
	var list []transactions.FragmentPurchase
	for _, p := range bought {
		list = append(list, transactions.FragmentPurchase{
			Username: p.Username, Stars: p.Stars, PaidNano: p.PaidNano, PaymentHash: p.Hash, At: p.At,
		})
	}

	books := c.books()
	wait.Eventually(c, "the record is up to date with the chain", func() bool {
		report, err := books.Reconcile(c.Context(), list)
		if err == nil && report.Chain {
			for _, difference := range report.Differences {
				c.Errorf("%+v", difference)
			}
		}
		return err == nil && report.Chain
	})
}

// restartPostgres kills PostgreSQL and starts it again.
func (c *clusterRig) restartPostgres() {
	c.Helper()
	c.postgres.Kill()
	must(c, c.postgres.Restart(c.Context()))
	must(c, core.RetryWhileUnavailable(c.Context(), func() error { return c.store.Operations.Ping(c.Context()) }))
}

// workflows counts the workflows that match a Temporal query.
func (c *clusterRig) workflows(query string) (count int64) {
	c.Helper()
	wait.Eventually(c, "Temporal counts workflows", func() bool {
		ctx, cancel := context.WithTimeout(c.Context(), 10*time.Second)
		defer cancel()
		answer, err := c.client.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{Query: query})
		count = answer.GetCount()
		return err == nil
	})
	return count
}

// wantPartitions checks that only the queues in which users take turns have one partition.
func (c *clusterRig) wantPartitions() {
	c.Helper()
	for _, queue := range lifecycle.Queues() {
		answer, err := c.client.WorkflowService().ListTaskQueuePartitions(c.Context(), &workflowservice.ListTaskQueuePartitionsRequest{
			Namespace: client.DefaultNamespace, TaskQueue: &taskqueuepb.TaskQueue{Name: queue},
		})
		must(c, err)
		one := len(answer.ActivityTaskQueuePartitions) == 1
		if fair := slices.Contains(lifecycle.FairQueues(), queue); one != fair {
			c.Errorf("the queue %s has %d partitions, users take turns in it: %t", queue, len(answer.ActivityTaskQueuePartitions), fair)
		}
	}
}

// alive fails the test if a process has ended by itself.
func (c *clusterRig) alive() {
	c.Helper()
	select {
	case <-c.cluster.Done():
		c.Error("a service of Temporal has ended by itself")
	default:
	}
	for name, p := range c.fleet {
		if p.ended() {
			c.Errorf("%s has ended by itself", name)
		}
	}
}
