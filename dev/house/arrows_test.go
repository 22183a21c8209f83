package house

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// floors lists the rooms of the house from the ground up. A package may only import packages of lower floors, and of
// its own room if that is a tree of packages. The longest matching name decides which room a package is in.
var floors = [][]string{
	{"internal/fault", "internal/money", "internal/metrics", "internal/codec", "internal/devinfo", "internal/textfile"},
	{"internal/library", "internal/lifecycle", "internal/outbound", "internal/ton", "internal/torrent", "internal/fetch", "starter/terminal"},
	{"internal/stars", "internal/webhook"},
	{"internal/store", "internal/config", "internal/temporalio", "api/shape", "internal/telegram", "internal/oidc", "internal/yandex", "internal/qbittorrent", "internal/torznab", "internal/toncenter", "internal/fragment"},
	{"internal/receipt", "internal/service/waiting", "internal/allowance", "internal/shelf"},
	{"internal/service", "internal/service/webhooks", "internal/catalog", "internal/feed", "api/client", "api/words"},
	{"internal/operations/cleanup", "internal/operations/counts", "internal/operations/doctor", "internal/operations/liveness", "internal/operations/reconcile", "internal/operations/status", "activities", "api/rest/server"},
	{"workflows/record", "api/bot", "api/web", "api/mcp", "api/opds", "internal/app", "api/rest/accounts", "api/rest/deliveries", "api/rest/downloads", "api/rest/events", "api/rest/operators", "api/rest/tasks", "api/rest/transactions", "api/rest/webhooks"},
	{"workflows/delivery", "workflows/task", "workflows/download", "workflows/transaction", "workflows/reconciler", "workflows/retention", "workflows/webhook", "api/rest", "api/parts"},
	{"workflows"},
	{"worker/run", "api/run", "starter/command"},
	{"worker", "api", "starter"},
	{"dev"},
}

// trees are the rooms of one floor whose packages may import each other.
var trees = []string{"dev", "internal/store", "internal/service", "api/bot", "api/web", "api/mcp", "starter/command"}

// TestImportsGoDown checks that each package only imports packages of lower floors.
func TestImportsGoDown(t *testing.T) {
	t.Parallel()
	packages := modulePackages(t)
	if len(packages) < 40 {
		t.Fatalf("found %d packages", len(packages))
	}

	for name, imports := range packages {
		room, floor := placeOf(name)
		if room == "" {
			t.Errorf("%s stands on no floor: give it a place in this test", name)
			continue
		}

		for _, imported := range imports {
			otherRoom, otherFloor := placeOf(imported)
			if otherFloor >= floor && (otherRoom != room || !slices.Contains(trees, room)) {
				t.Errorf("%s (floor %d) imports %s (floor %d)", name, floor, imported, otherFloor)
			}
		}
	}
}

// TestLeafPackages checks that the packages that everything may use link nothing but the standard library and the
// few packages of ours that are named here: the workloads' tables know neither Temporal nor the store, and the API's
// JSON shapes do not know their sources.
func TestLeafPackages(t *testing.T) {
	t.Parallel()
	for leaf, may := range map[string][]string{
		"internal/lifecycle": {"internal/fault"},
		"api/shape":          {"internal/fault", "internal/lifecycle"},
	} {
		for _, name := range linked(t, "./"+leaf) {
			ours, isOurs := strings.CutPrefix(name, "stagecoach/")
			outside := !isOurs && strings.Contains(strings.Split(name, "/")[0], ".")
			if outside || isOurs && ours != leaf && !slices.Contains(may, ours) {
				t.Errorf("%s links %s", leaf, name)
			}
		}
	}
}

// placeOf finds the room of a package and its floor; empty: it has none.
func placeOf(name string) (room string, floor int) {
	for f, rooms := range floors {
		for _, candidate := range rooms {
			inside := name == candidate || strings.HasPrefix(name, candidate+"/")
			if inside && len(candidate) > len(room) {
				room, floor = candidate, f
			}
		}
	}
	return room, floor
}

// modulePackages lists the module's packages with their imports within the module, without tests, by names without the
// module's.
func modulePackages(t *testing.T) map[string][]string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Imports", "./...")
	command.Dir = "../.."
	out, err := command.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}

	packages := map[string][]string{}
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}

		var imports []string
		for _, imported := range p.Imports {
			if ours, found := strings.CutPrefix(imported, "stagecoach/"); found {
				imports = append(imports, ours)
			}
		}

		packages[strings.TrimPrefix(p.ImportPath, "stagecoach/")] = imports
	}
}
