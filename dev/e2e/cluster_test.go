package e2e

import (
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/client"

	"stagecoach/dev/servers"
	"stagecoach/dev/stack"
	"stagecoach/dev/wait"
)

// TestClusterKilled kills each part of a cluster with -9, one after the other, while all four workloads are used. Every
// entity ends as it should, nothing happens twice, and the record agrees with Temporal, the chain and Fragment.
func TestClusterKilled(t *testing.T) {
	t.Parallel()
	c := newClusterRig(t, nil)
	c.wantPartitions()
	c.leaveOpen()
	c.speed = fileSize / 3 // a delivery takes three seconds, so that some are streaming whenever a worker is killed
	stop := c.use()
	time.Sleep(2 * time.Second)

	for _, service := range servers.ClusterServices {
		c.after("Temporal's "+service, func() {
			c.cluster.Kill(service)
			time.Sleep(time.Second)
			must(t, c.cluster.Restart(t.Context(), service))
		})
	}

	for _, p := range stack.Fleet() {
		c.after(p.Name, func() {
			c.fleet[p.Name].kill()
			time.Sleep(time.Second)
			c.startOne(p)
			c.fleetReady()
		})
	}

	c.after("PostgreSQL", c.restartPostgres)

	stop()
	c.wantDeliveriesEnded()
	c.wantOthersEnded()
	c.wantNoDifference()
	c.alive()
}

// after kills and restarts a part, and keeps the service in use for a while.
func (c *clusterRig) after(part string, restart func()) {
	c.Helper()
	began, asked := time.Now(), c.asked.Load()
	restart()
	c.Logf("%s is back after %s", part, time.Since(began).Round(100*time.Millisecond))
	time.Sleep(2 * time.Second)
	wait.Eventually(c, "requests are answered after the loss of "+part, func() bool { return c.asked.Load() > asked+5 })
}

// TestClusterUpgrade replaces a cluster's workers with those of another build, one after the other, as Temporal's
// worker controller does: the new ones run beside the old ones, become current, and the old ones stop once no delivery
// needs them. Then the APIs are replaced. No attempt is lost, and nothing differs.
func TestClusterUpgrade(t *testing.T) {
	t.Parallel()
	version := map[string]string{"TEMPORAL_DEPLOYMENT_NAME": "stagecoach", "TEMPORAL_WORKER_BUILD_ID": "v1"}
	c := newClusterRig(t, version)
	c.makeCurrent("v1")
	c.leaveOpen()
	stop := c.use()
	time.Sleep(3 * time.Second)

	old := map[string]*program{}
	c.env["TEMPORAL_WORKER_BUILD_ID"] = "v2"
	for _, p := range stack.Fleet() {
		if p.Program == "worker" {
			old[p.Name] = c.fleet[p.Name]
			c.startOne(p)
		}
	}

	c.makeCurrent("v2")
	wait.Eventually(c, "no delivery needs the old build", func() bool {
		return c.workflows(`ExecutionStatus = "Running" AND `+deliveriesOf("v1")) == 0
	})
	for _, p := range stack.Fleet() {
		if process, there := old[p.Name]; there {
			c.end(process)
			time.Sleep(time.Second)
		}
	}

	for _, p := range stack.Fleet() {
		if p.Program == "api" {
			c.end(c.fleet[p.Name])
			c.startOne(p)
			c.fleetReady()
		}
	}

	time.Sleep(3 * time.Second)
	stop()
	c.wantAllEnded()
	c.wantNoDifference()
	c.alive()
	for _, build := range []string{"v1", "v2"} {
		if c.workflows(deliveriesOf(build)) == 0 {
			t.Errorf("no delivery ran on %s", build)
		}
	}
	if log := c.log.String(); strings.Contains(log, "TMPRL1100") {
		t.Error("a workflow cannot be replayed by the new build")
	}
}

// deliveriesOf finds the deliveries that a build has carried out.
func deliveriesOf(build string) string {
	return `WorkflowType = "Delivery" AND TemporalWorkerDeploymentVersion = "stagecoach:` + build + `"`
}

// makeCurrent makes a build the current one, once the server knows everything that it serves.
func (c *clusterRig) makeCurrent(build string) {
	c.Helper()
	deployment := c.client.WorkerDeploymentClient().GetHandle("stagecoach")
	wait.Eventually(c, build+" is current", func() bool {
		_, err := deployment.SetCurrentVersion(c.Context(), client.WorkerDeploymentSetCurrentVersionOptions{BuildID: build})
		return err == nil
	})
}
