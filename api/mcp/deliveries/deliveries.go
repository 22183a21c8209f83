// Package deliveries has the tools for deliveries and the shared folder.
package deliveries

import (
	"context"
	"fmt"
	"net/url"

	"stagecoach/api/mcp/tool"
	"stagecoach/api/shape"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
)

// Part returns the tools for deliveries.
func Part() tool.Part {
	return tool.Part{
		Workload: lifecycle.WorkloadDelivery, Options: options, Cancel: cancel,
		Status: tool.NewStatus("deliveries", standing),
		Tools:  []tool.Tool{find(), deliver()},
	}
}

// name is a name that somebody else chose.
type name struct {
	Name tool.Text `json:"name"`
	Path tool.Text `json:"path,omitempty"`
}

type brief struct {
	ID             tool.ID                    `json:"id"`
	State          lifecycle.DeliveryState    `json:"state"`
	FileID         tool.ID                    `json:"file_id"`
	Size           int64                      `json:"size"`
	BytesSent      int64                      `json:"bytes_sent,omitempty"`
	PlaceInLine    int                        `json:"place_in_line,omitempty"`
	LastError      string                     `json:"last_error,omitempty"`
	AllowedActions []lifecycle.DeliveryAction `json:"allowed_actions"`
	Others         name                       `json:"written_by_others"`
}

func briefOf(d shape.Delivery) brief {
	return brief{
		ID: tool.ID(d.ID), State: d.State, FileID: tool.ID(d.FileID), Size: d.Size, BytesSent: d.BytesSent,
		PlaceInLine: shape.Value(d.PlaceInLine), LastError: shape.Value(d.LastError), AllowedActions: d.AllowedActions,
		Others: name{Name: tool.Text(d.FileName)},
	}
}

func standing(ctx context.Context, c *tool.Call) ([]brief, error) {
	page, err := tool.Get[shape.Page[shape.Delivery]](ctx, c, "/v1/deliveries", url.Values{"limit": {"5"}})
	return shape.List(page.Items, briefOf), err
}

func path(id, of string) string { return "/v1/deliveries/" + url.PathEscape(id) + of }

func options(ctx context.Context, c *tool.Call, id string) ([]tool.Option, error) {
	d, err := tool.Get[shape.Delivery](ctx, c, path(id, ""), nil)
	return tool.Allowed(d.AllowedActions), err
}

func cancel(ctx context.Context, c *tool.Call, id string, _ bool) (string, error) {
	d, err := tool.Post[shape.Delivery](ctx, c, path(id, "/cancel"), nil, "")
	return string(d.State), err
}

type folder struct {
	Path   string     `json:"path,omitempty" jsonschema:"folder to list; default /"`
	Words  string     `json:"words,omitempty" jsonschema:"or search all folders for names with this text"`
	Limit  tool.Limit `json:"limit,omitempty" jsonschema:"default 20"`
	Cursor string     `json:"cursor,omitempty"`
}

type entry struct {
	FileID tool.ID `json:"file_id"`
	Kind   string  `json:"kind" jsonschema:"file or folder"`
	Size   int64   `json:"size"`
	Others name    `json:"written_by_others"`
}

type listing struct {
	Files      []entry `json:"files"`
	NextCursor string  `json:"next_cursor,omitempty"`
}

func find() tool.Tool {
	return tool.New(tool.About{
		Name: "files_find", Scopes: []account.Scope{account.ScopeFiles}, Reads: true, Outside: true,
		Description: "Lists a folder of the shared files or searches them.",
	}, func(ctx context.Context, c *tool.Call, in folder) (answer tool.Answer[listing], err error) {
		query := tool.Query{"path": in.Path, "q": in.Words, "cursor": in.Cursor}.Page(in.Limit)
		list, err := tool.Get[shape.FileList](ctx, c, "/v1/files", query)
		return tool.Answer[listing]{
			Value: listing{shape.List(list.Items, func(f shape.File) entry {
				return entry{tool.ID(f.FileID), f.Kind, f.Size, name{tool.Text(f.Name), tool.Text(f.Path)}}
			}), shape.Value(list.NextCursor)},
			Summary: fmt.Sprintf("%d entries.", len(list.Items)),
		}, err
	})
}

type request struct {
	FileID tool.ID  `json:"file_id"`
	Key    tool.Key `json:"idempotency_key" jsonschema:"repeating it returns this delivery as it is now"`
}

func deliver() tool.Tool {
	return tool.New(tool.About{
		Name: "deliver", Scopes: []account.Scope{lifecycle.DeliveryScope}, Repeatable: true,
		Outside:     true,
		Description: "Sends a file to your owner's Telegram chat.",
	}, func(ctx context.Context, c *tool.Call, in request) (answer tool.Answer[brief], err error) {
		d, err := tool.Post[shape.Delivery](ctx, c, "/v1/deliveries", tool.Body{"file_id": in.FileID}, in.Key)
		return tool.Answer[brief]{Value: briefOf(d), Summary: fmt.Sprintf("Delivery %s is %s.", d.ID, d.State)}, err
	})
}
