package servers

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"text/template"
)

// historyShards is permanent: a cluster with data keeps its first number. docker-compose.yml has the same.
const historyShards = 512

// clusterConfig is the configuration that the four services share. Each only listens on the loopback address.
var clusterConfig = template.Must(template.New("config").Parse(`log:
  stdout: true
  level: warn
persistence:
  numHistoryShards: {{.Shards}}
  defaultStore: default
  visibilityStore: visibility
  datastores:
{{- range .Stores}}
    {{.Name}}:
      sql:
        pluginName: postgres12
        databaseName: {{.Database}}
        connectAddr: "{{$.Database.Host}}"
        connectProtocol: tcp
        user: "{{$.Database.User.Username}}"
        password: "{{$.Password}}"
        maxConns: {{.Connections}}
        maxIdleConns: {{.Connections}}
        maxConnLifetime: 1h
{{- end}}
global:
  membership:
    maxJoinDuration: 30s
    broadcastAddress: 127.0.0.1
services:
{{- range .Services}}
  {{.Name}}:
    rpc:
      grpcPort: {{.Port}}
      membershipPort: {{.Membership}}
      bindOnLocalHost: true
{{- if .HTTP}}
      httpPort: {{.HTTP}}
{{- end}}
{{- end}}
clusterMetadata:
  enableGlobalNamespace: false
  failoverVersionIncrement: 10
  masterClusterName: active
  currentClusterName: active
  clusterInformation:
    active:
      enabled: true
      initialFailoverVersion: 1
      rpcName: frontend
      rpcAddress: "{{.Frontend}}"
dcRedirectionPolicy:
  policy: noop
dynamicConfigClient:
  filepath: "{{.Dynamic}}"
  pollInterval: 10s
`))

// clusterDynamic is the dynamic configuration of a cluster. It equals that of docker-compose.yml.
var clusterDynamic = template.Must(template.New("dynamic").Parse(`
{{- range $limit := .Partitions}}{{$limit}}:
{{- range $.OnePartition}}
  - value: 1
    constraints: {taskQueueName: {{.}}}
{{- end}}
{{end -}}
matching.useNewMatcher: [{value: true}]
frontend.WorkflowPauseEnabled: [{value: true}]
matching.enableFairness: [{value: true}]
system.enableActivityEagerExecution: [{value: true}]
history.maxInFlightUpdates: [{value: 0}]
limit.maxIDLength: [{value: 255}]
`))

// uiConfig is the configuration of the Web UI.
var uiConfig = template.Must(template.New("ui").Parse(`temporalGrpcAddress: "{{.Frontend}}"
host: 127.0.0.1
port: {{.Port}}
enableUi: true
defaultNamespace: default
`))

// clusterStore is one of the two databases, with the most connections that one service keeps to it.
type clusterStore struct {
	Name, Database, Schema string
	Connections            int
}

var clusterStores = []clusterStore{
	{Name: "default", Database: "temporal", Schema: "postgresql/v12/temporal", Connections: 20},
	{Name: "visibility", Database: "temporal_visibility", Schema: "postgresql/v12/visibility", Connections: 10},
}

// clusterPorts are the ports of one service.
type clusterPorts struct {
	Name                   string
	Port, Membership, HTTP int
}

// choosePorts chooses free ports for each service. The frontend gets its preferred one if that is free.
func choosePorts(preferred int) (all []clusterPorts, err error) {
	for _, name := range ClusterServices {
		ports := clusterPorts{Name: name}
		if ports.Port, err = PreferPort(preferred); err != nil {
			return nil, err
		}
		if ports.Membership, err = FreePort(); err != nil {
			return nil, err
		}
		if name == frontend {
			if ports.HTTP, err = FreePort(); err != nil {
				return nil, err
			}
		}

		all = append(all, ports)
		preferred = 0
	}
	return all, nil
}

// writeConfig writes both files to the cluster's folder. Only we can read them: they contain the password.
func (c *Cluster) writeConfig(ports []clusterPorts, database *url.URL) error {
	password, _ := database.User.Password()
	dynamic := filepath.Join(c.options.Dir, "dynamic.yaml")
	err := c.write(dynamic, clusterDynamic, map[string]any{
		"Partitions":   []string{"matching.numTaskqueueReadPartitions", "matching.numTaskqueueWritePartitions"},
		"OnePartition": c.options.OnePartition,
	})
	if err != nil {
		return err
	}

	return c.write(filepath.Join(c.options.Dir, "cluster.yaml"), clusterConfig, map[string]any{
		"Shards": historyShards, "Database": database, "Password": password, "Services": ports, "Frontend": c.Address,
		"Stores": clusterStores, "Dynamic": dynamic,
	})
}

func (c *Cluster) writeUIConfig(port int) error {
	return c.write(filepath.Join(c.options.Dir, "ui.yaml"), uiConfig, map[string]any{"Frontend": c.Address, "Port": port})
}

func (c *Cluster) write(path string, what *template.Template, values any) error {
	var text strings.Builder
	if err := what.Execute(&text, values); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text.String()), 0o600)
}
