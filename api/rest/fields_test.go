package rest_test

import (
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"stagecoach/api/rest/server"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
)

// TestScopesOfFields sets each operation's fields that start something in another workload, with a token that lacks the
// field's scope and with one that has it.
func TestScopesOfFields(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	document := w.send("", "GET", "/openapi.json", nil).ok(http.StatusOK).body

	listed := 0
	for _, c := range w.cells() {
		fields := at[object](document["paths"].(object)[c.path].(object)[strings.ToLower(c.method)].(object), server.FieldScopes)
		for _, name := range propertiesOf(document, c.schema) {
			if name == "send" && fields[name] == nil {
				t.Errorf("%s sends without the scope of deliveries", c.id)
			}
		}

		for name, value := range fields {
			listed++
			scope := account.Scope(value.(string))
			if !slices.Contains(account.Scopes, scope) || scope == c.scope {
				t.Errorf("%s: the field %s has the scope %q", c.id, name, scope)
			}
			body := maps.Clone(c.body.(map[string]any))
			body[name] = true

			without, _ := w.token(w.admin, c.scope)
			w.unchanged(c.id, func() {
				got := w.call(c, without, c.target, body).refused(http.StatusForbidden, fault.InsufficientScope, name)
				if missing := fmt.Sprint(at[object](got.body, "details")["missing"]); missing != fmt.Sprintf("[%s]", scope) {
					t.Errorf("%s: missing %s", c.id, missing)
				}
			})
			with, _ := w.token(w.admin, c.scope, scope)
			if got := w.call(c, with, c.target, body); got.body["code"] == string(fault.InsufficientScope) {
				t.Errorf("%s with both scopes: %v", c.id, got.body)
			}
			body[name] = false
			if got := w.call(c, without, c.target, body); got.body["code"] == string(fault.InsufficientScope) {
				t.Errorf("%s without %s: %v", c.id, name, got.body)
			}
		}
	}

	if tags := scopeTags(t); listed == 0 || listed != tags {
		t.Errorf("%d fields with a scope are checked, %d have one: it has to be a field of a body itself", listed, tags)
	}
}

// propertiesOf lists the names of a schema's properties, at any depth.
func propertiesOf(document, schema object) (names []string) {
	if reference, ok := schema["$ref"].(string); ok {
		schemas := document["components"].(object)["schemas"].(object)
		schema = schemas[strings.TrimPrefix(reference, server.SchemaPrefix)].(object)
	}
	for name, property := range at[object](schema, "properties") {
		names = append(append(names, name), propertiesOf(document, property.(object))...)
	}
	if items := at[object](schema, "items"); items != nil {
		names = append(names, propertiesOf(document, items)...)
	}
	return names
}

// scopeTags counts the API's input fields that have a scope.
func scopeTags(t *testing.T) (count int) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		count += strings.Count(string(source), ` scope:"`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return count
}

// TestSendingADownloadNeedsBothScopes requests a download with sending, and then sending for the same download.
func TestSendingADownloadNeedsBothScopes(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	ask := map[string]any{"book_id": w.book("Wheels"), "media_type": "text", "source_url": magnet, "send": true}
	without, _ := w.token(w.ada, lifecycle.DownloadScope)
	with, _ := w.token(w.ada, lifecycle.DownloadScope, lifecycle.DeliveryScope)

	w.send(without, "POST", "/v1/downloads", ask).refused(http.StatusForbidden, fault.InsufficientScope, "send")
	made := w.send(with, "POST", "/v1/downloads", ask).ok(http.StatusCreated).body
	path := fmt.Sprintf("/v1/downloads/%v/again", made["id"])
	for _, c := range []struct {
		token string
		send  bool
	}{{without, false}, {with, true}} {
		w.end(made["id"].(string), lifecycle.DownloadCanceled)
		again := w.send(c.token, "POST", path, nil).ok(http.StatusCreated).body
		if again["send"] != c.send {
			t.Errorf("sent again: %v, want %t", again["send"], c.send)
		}
		made = again
	}
}
