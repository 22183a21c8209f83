// Package deliveries has the pages of the shared folder and of deliveries.
package deliveries

import (
	"embed"
	"path"

	"stagecoach/api/shape"
	"stagecoach/api/web/site"
	"stagecoach/api/words"
	"stagecoach/internal/lifecycle"
)

//go:embed templates
var templates embed.FS

// Part returns the pages.
func Part() site.Part {
	send := site.Change("POST /v1/deliveries", "/deliveries/{made}", "file_id")
	return site.Part{
		Sections:  []site.Section{{Path: "/files", Title: "files"}, {Path: "/deliveries", Title: "deliveries"}},
		Templates: templates, Texts: texts, Words: words.Deliveries,
		Commands: map[string]string{"files": "/files", "jobs": "/deliveries"},
		States:   map[string]map[string]words.Text{lifecycle.WorkloadDelivery: site.Names(words.DeliveryStates)},
		Pages: []site.Page{
			{Route: "/files", Name: "files", Title: "files", Show: showFiles},
			{
				Route: "/deliveries", Name: "deliveries", Title: "deliveries", Live: lifecycle.WorkloadDelivery,
				Filter: site.Filter{Name: "state", Values: lifecycle.Delivery.StateNames(), States: lifecycle.WorkloadDelivery},
				Show:   site.Shows[shape.Page[shape.Delivery]]("/v1/deliveries", "state", "cursor"),
			},
			{Route: "/deliveries/{id}", Name: "delivery", Live: lifecycle.WorkloadDelivery, Show: showDelivery},
		},
		Actions: []site.Action{
			{Route: "/files", Page: "files", Do: send},
			{Route: "/deliveries", Page: "deliveries", Do: send},
			{Route: "/deliveries/{id}/cancel", Page: "delivery", Do: site.Change("POST /v1/deliveries/{id}/cancel", "/deliveries/{id}")},
		},
		Card: card,
	}
}

// crumb is one folder of the path to the current one.
type crumb struct{ Name, Path string }

type filesView struct {
	shape.FileList
	Path, Search string
	Crumbs       []crumb
}

// showFiles shows a folder, or the results of a search.
func showFiles(r *site.Request) (site.View, error) {
	search := r.Asked("q")
	query := r.Query("path", "cursor")
	if search != "" {
		query = r.Query("cursor")
		query.Set("q", search)
	}

	list, err := site.GetBy[shape.FileList](r, "/v1/files", query)
	view := filesView{FileList: list, Path: "/", Search: search}
	if list.Folder != nil {
		view.Path = list.Folder.Path
		view.Crumbs = crumbs(list.Folder.Path)
	}
	return site.View{Data: view}, err
}

// crumbs are the folders above a path, and the path itself, without the shared folder's root.
func crumbs(at string) (all []crumb) {
	for ; at != "/"; at = path.Dir(at) {
		all = append([]crumb{{path.Base(at), at}}, all...)
	}
	return all
}

type deliveryView struct {
	shape.Delivery
	Events shape.Page[shape.History]
	Again  bool // it waits for its next attempt
}

func showDelivery(r *site.Request) (site.View, error) {
	var view deliveryView
	err := r.ReadAll(
		site.Into(&view.Delivery, "/v1/deliveries/{id}"),
		site.Into(&view.Events, "/v1/deliveries/{id}/events"),
	)
	view.Again = shape.Value(view.WaitsFor) == lifecycle.WaitsForNextAttempt
	return site.View{Title: view.FileName, Data: view}, err
}

// card shows the latest deliveries.
func card(r *site.Request) (site.Card, error) {
	list, err := site.Get[shape.Page[shape.Delivery]](r, "/v1/deliveries?limit=5")
	return site.Card{Data: list.Items}, err
}

var texts = words.Catalog{
	"files":             {"Files", "Файлы"},
	"workload-delivery": {"Deliveries", "Доставки"},
	"deliveries":        {"Deliveries", "Доставки"},
	"search-files":      {"Part of a name", "Часть названия"},
	"folder-empty":      {"This folder is empty. Files that are put into it appear here.", "В этой папке пусто. Здесь появятся файлы, которые в неё положат."},
	"nothing-found":     {"Nothing was found. Try another part of the name.", "Ничего не нашлось. Попробуйте другую часть названия."},
	"indexing":          words.StillIndexing,
	"stale":             {"The file storage is unavailable. The folder is shown as it was a while ago.", "Хранилище файлов недоступно. Папка показана такой, какой была раньше."},
	"send":              {"Send to my chat", "Прислать в чат"},
	"send-again":        {"Send again", "Прислать ещё раз"},
	"results":           {"Found for “%s”", "Найдено по «%s»"},
	"no-deliveries":     {"No deliveries yet. Choose a file to send to your chat.", "Доставок пока нет. Выберите файл, чтобы прислать его в чат."},
	"no-such-state":     {"No delivery is in this state.", "В этом состоянии доставок нет."},
	"sent":              {"Sent", "Передано"},
	"attempts":          {"Attempt", "Попытка"},
	"attempt-of":        {"%d of %d", "%d из %d"},
	"place":             {"Place in the queue", "Место в очереди"},
	"place-in-line":     {"place %d in the queue", "место %d в очереди"},
	"attempt":           {"attempt %d of %d", "попытка %d из %d"},
	"next-attempt":      {"Next attempt", "Следующая попытка"},
	"worker-silent":     {"as soon as a worker is free: the previous one is silent", "как только освободится обработчик: прежний молчит"},
	"deadline":          {"Ends automatically", "Завершится автоматически"},
	"to-files":          {"Choose a file", "Выбрать файл"},
}
