// Package deliveries has the pages of the shared folder and of deliveries.
package deliveries

import (
	"context"
	"embed"
	"net/url"
	"path"
	"strings"

	"stagecoach/api/shape"
	"stagecoach/api/web/site"
	"stagecoach/api/words"
	"stagecoach/internal/lifecycle"
)

//go:embed templates
var templates embed.FS

// Part gives the pages.
func Part() site.Part {
	return site.Part{
		Sections:  []site.Section{{Path: "/files", Title: "files"}, {Path: "/deliveries", Title: "deliveries"}},
		Templates: templates, Texts: texts, Words: words.Deliveries,
		Commands: map[string]string{"files": "/files", "jobs": "/deliveries"},
		States:   map[string]map[string]words.Text{lifecycle.WorkloadDelivery: site.Names(words.DeliveryStates)},
		Pages: []site.Page{
			{Route: "/files", Name: "files", Show: showFiles},
			{Route: "/deliveries", Name: "deliveries", Live: lifecycle.WorkloadDelivery, Show: showDeliveries},
			{Route: "/deliveries/{id}", Name: "delivery", Live: lifecycle.WorkloadDelivery, Show: showDelivery},
		},
		Actions: []site.Action{
			{Route: "/files", Page: "files", Do: send},
			{Route: "/deliveries", Page: "deliveries", Do: send},
			{Route: "/deliveries/{id}/cancel", Page: "delivery", Do: cancel},
		},
		Card: card,
	}
}

// crumb is one folder on the way to the present one.
type crumb struct{ Name, Path string }

type filesView struct {
	shape.FileList
	Path, Search string
	Crumbs       []crumb
}

// showFiles shows a folder, or what a search has found.
func showFiles(_ context.Context, r *site.Request) (site.View, error) {
	search := strings.TrimSpace(r.URL.Query().Get("q"))
	query := r.Query("path", "cursor")
	if search != "" {
		query = r.Query("cursor")
		query.Set("q", search)
	}

	list, err := site.Get[shape.FileList](r, "/v1/files", query)
	view := filesView{FileList: list, Path: "/", Search: search}
	if list.Folder != nil {
		view.Path = list.Folder.Path
		view.Crumbs = crumbs(list.Folder.Path)
	}
	return site.View{Title: texts["files"].In(r.Language), Data: view}, err
}

// crumbs are the folders above a path, and the path itself, without the shared folder.
func crumbs(at string) (all []crumb) {
	for ; at != "/"; at = path.Dir(at) {
		all = append([]crumb{{path.Base(at), at}}, all...)
	}
	return all
}

// send asks for a delivery of a file, and shows it.
func send(_ context.Context, r *site.Request) (next string, err error) {
	made, err := site.Post[shape.Delivery](r, "/v1/deliveries", map[string]string{"file_id": r.PostFormValue("file_id")})
	return "/deliveries/" + made.ID, err
}

func cancel(_ context.Context, r *site.Request) (next string, err error) {
	id := r.PathValue("id")
	_, err = site.Post[shape.Delivery](r, "/v1/deliveries/"+url.PathEscape(id)+"/cancel", nil)
	return "/deliveries/" + id, err
}

type deliveriesView struct {
	shape.Page[shape.Delivery]
	States []string
	State  string
}

func showDeliveries(_ context.Context, r *site.Request) (site.View, error) {
	list, err := site.Get[shape.Page[shape.Delivery]](r, "/v1/deliveries", r.Query("state", "cursor"))
	return site.View{Title: texts["deliveries"].In(r.Language), Data: deliveriesView{
		Page: list, States: lifecycle.Delivery.StateNames(), State: r.URL.Query().Get("state"),
	}}, err
}

type deliveryView struct {
	shape.Delivery
	Events []shape.History
}

func showDelivery(_ context.Context, r *site.Request) (site.View, error) {
	at := "/v1/deliveries/" + url.PathEscape(r.PathValue("id"))
	delivery, err := site.Get[shape.Delivery](r, at, nil)
	if err != nil {
		return site.View{}, err
	}
	events, err := site.Get[shape.Page[shape.History]](r, at+"/events", nil)
	return site.View{Title: delivery.FileName, Data: deliveryView{delivery, events.Items}}, err
}

// card shows the last deliveries.
func card(_ context.Context, r *site.Request) (site.Card, error) {
	list, err := site.Get[shape.Page[shape.Delivery]](r, "/v1/deliveries", url.Values{"limit": {"5"}})
	return site.Card{Data: list.Items}, err
}

var texts = words.Catalog{
	"files":             {"Files", "Файлы"},
	"workload-delivery": {"Deliveries", "Доставки"},
	"deliveries":        {"Deliveries", "Доставки"},
	"search-files":      {"Part of a name", "Часть названия"},
	"folder-empty":      {"This folder is empty. Files that are put into it appear here.", "В этой папке пусто. Здесь появятся файлы, которые в неё положат."},
	"nothing-found":     {"Nothing was found. Try another part of the name.", "Ничего не нашлось. Попробуйте другую часть названия."},
	"indexing":          {"The folder is still being read. More may be found soon.", "Папка ещё читается. Скоро может найтись больше."},
	"stale":             {"The file storage is unavailable. The folder is shown as it was a while ago.", "Хранилище файлов недоступно. Папка показана такой, какой была раньше."},
	"send":              {"Send to my chat", "Прислать в чат"},
	"send-again":        {"Send again", "Прислать ещё раз"},
	"results":           {"Found for “%s”", "Найдено по «%s»"},
	"no-deliveries":     {"No deliveries yet. Choose a file to send to your chat.", "Доставок пока нет. Выберите файл, чтобы прислать его в чат."},
	"no-such-state":     {"No delivery is in this state.", "В этом состоянии доставок нет."},
	"sent":              {"Sent", "Передано"},
	"attempts":          {"Attempt", "Попытка"},
	"attempt-of":        {"%d of %d", "%d из %d"},
	"place":             {"Place in line", "Место в очереди"},
	"place-in-line":     {"place %d in line", "место %d в очереди"},
	"attempt":           {"attempt %d of %d", "попытка %d из %d"},
	"next-attempt":      {"Next attempt", "Следующая попытка"},
	"worker-silent":     {"as soon as a worker is free: the one that had it is silent", "как только освободится обработчик: прежний молчит"},
	"deadline":          {"Ends by itself", "Завершится само"},
	"to-files":          {"Choose a file", "Выбрать файл"},
}
