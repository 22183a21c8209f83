package servers

import (
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.temporal.io/sdk/client"

	"stagecoach/dev/night"
)

// TestCluster runs a workflow on four services, kills each of them and runs another, and starts them all again on the
// same databases.
func TestCluster(t *testing.T) {
	t.Parallel()
	night.Only(t)
	postgres := startPostgres(t, PostgresOptions{Dir: t.TempDir(), Fast: true})
	o := ClusterOptions{
		Dir: t.TempDir(), DatabaseURL: postgres.URL, OnePartition: []string{"fair"}, Log: &logBuffer{},
		Progress: func(step string) { t.Log(step) },
	}
	cluster, connection := startCluster(t, o)
	runGreeting(t, connection, "first")

	for _, service := range ClusterServices {
		cluster.Kill(service)
		killed := time.Now()
		if err := cluster.Restart(t.Context(), service); err != nil {
			t.Fatal(err)
		}
		runGreeting(t, connection, "after "+service)
		t.Logf("%s: %s from its kill to the end of a workflow", service, time.Since(killed).Round(time.Millisecond))
	}

	if shards := shardsOf(t, postgres.URL); shards != historyShards { // all are present now, opened one after the other
		t.Errorf("the cluster has %d shards, want %d", shards, historyShards)
	}

	select {
	case <-cluster.Done():
		t.Error("the cluster says that a service has ended by itself")
	default:
	}

	if err := cluster.Stop(); err != nil {
		t.Error(err)
	}

	o.UIPort = -1
	again, connection := startCluster(t, o)
	if _, err := connection.DescribeWorkflowExecution(t.Context(), "first", ""); err != nil || again.WebUI != "" {
		t.Errorf("after another start: %v, the Web UI is %q", err, again.WebUI)
	}
}

// startCluster starts a cluster that is stopped when the test ends, and a client of it.
func startCluster(t *testing.T, o ClusterOptions) (*Cluster, client.Client) {
	t.Helper()
	begin := time.Now()
	cluster, err := StartCluster(t.Context(), o)
	if err != nil {
		t.Fatalf("%v\n%s", err, o.Log)
	}

	t.Cleanup(func() {
		if err := cluster.Stop(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Log(o.Log)
		}
	})

	t.Logf("the cluster is on %s after %s", cluster.Address, time.Since(begin).Round(time.Millisecond))
	connection, err := client.DialContext(t.Context(), client.Options{HostPort: cluster.Address})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(connection.Close)
	return cluster, connection
}

// shardsOf returns the number that the cluster has written to its database.
func shardsOf(t *testing.T, address string) (shards int) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), strings.Replace(address, "/"+postgresDB+"?", "/temporal?", 1))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	if err := conn.QueryRow(t.Context(), "SELECT max(shard_id) FROM shards").Scan(&shards); err != nil {
		t.Fatal(err)
	}
	return shards
}
