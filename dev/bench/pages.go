package main

import (
	"context"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"stagecoach/api/parts"
	"stagecoach/dev/bench/fill"
	"stagecoach/internal/store"
	"stagecoach/internal/store/account"
)

const (
	pagesMany  = 10_000 // tasks and downloads; ten times as many deliveries and transactions
	pagesFew   = 10
	pagesRuns  = 40  // of each page
	pagesFirst = 3   // views that are not counted
	pagesAim   = 200 // milliseconds
)

// measurePages opens every page of the parts' list over a large record and over a small one, by turns: the customer's
// pages as the customer, the others as an administrator.
func measurePages(ctx context.Context, m *machine) (rows []row, err error) {
	err = m.withRig(ctx, rigOptions{}, func(r *rig) error {
		customer, admin := account.NewToken(), account.NewToken()
		large, err := r.pagesOver(ctx, "pages_large", pagesMany, customer, admin)
		if err != nil {
			return err
		}
		defer large.api.stop()

		small, err := r.pagesOver(ctx, "pages_small", pagesFew, customer, admin)
		if err != nil {
			return err
		}
		defer small.api.stop()

		for _, who := range []string{customer, admin} {
			if err := large.signIn(ctx, who); err != nil {
				return err
			}
			if err := small.signIn(ctx, who); err != nil {
				return err
			}

			for _, route := range pageRoutes() {
				name := map[string]string{customer: "a customer", admin: "an administrator"}[who]
				ours, baseline, err := takeTurns(ctx, large, small, route)
				if err != nil {
					return fmt.Errorf("%s: %w", route, err)
				}
				if ours == nil {
					continue // not for this person, or nothing leads there
				}
				what := fmt.Sprintf("GET %s as %s, ", route, name)
				const against = "the same over a thousandth of the record"
				rows = append(rows,
					measured(what+"p50", "ms", ours...).against(against, baseline...),
					measured(what+"p95", "ms", quantile(ours, 0.95)).against(against, quantile(baseline, 0.95)).atMost(pagesAim),
				)
			}
		}

		return nil
	})

	return rows, err
}

// pageRoutes lists the pages of the parts, and home.
func pageRoutes() []string {
	routes := []string{"/"}
	for _, part := range parts.Web() {
		for _, page := range part.Pages {
			routes = append(routes, page.Route)
		}
	}
	return routes
}

// site is an API over one record, as one person sees it.
type site struct {
	api    *process
	url    string
	client *http.Client
	found  map[string]string // a path of each route that has been met
}

// pagesOver starts an API over a record of this size.
func (r *rig) pagesOver(ctx context.Context, database string, n int, customer, admin string) (*site, error) {
	address, err := r.fillPages(ctx, database, n, customer, admin)
	if err != nil {
		return nil, err
	}
	api, err := r.startAPI(ctx, map[string]string{
		"DATABASE_URL": address, "STAGECOACH_LIMIT_REQUESTS": "0", "STAGECOACH_LISTING_TTL": "24h",
	})
	return &site{api: api, url: r.apiURL}, err
}

func (s *site) signIn(ctx context.Context, token string) error {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return err
	}

	s.client, s.found = &http.Client{Jar: jar}, map[string]string{}
	form := strings.NewReader(url.Values{"token": {token}}.Encode())
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"/sign-in", form)
	if err != nil {
		return err
	}

	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := s.client.Do(request)
	if err != nil {
		return err
	}
	return response.Body.Close()
}

// open opens a page and says how long that took; "": it was refused.
func (s *site) open(ctx context.Context, path string) (text string, took float64, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+path, nil)
	if err != nil {
		return "", 0, err
	}

	began := time.Now()
	response, err := s.client.Do(request)
	if err != nil {
		return "", 0, err
	}
	defer response.Body.Close()

	page, err := io.ReadAll(response.Body)
	took = milliseconds(time.Since(began))
	if response.StatusCode >= http.StatusInternalServerError {
		return "", 0, fmt.Errorf("%s answers %s", path, response.Status)
	}
	if response.StatusCode != http.StatusOK {
		return "", 0, err
	}
	return string(page), took, err
}

var pageLinks = regexp.MustCompile(`href="(/[^"?]*)"`)

// pathOf is the path of a page of this route: the first one that the pages before lead to; "": none does.
func (s *site) pathOf(ctx context.Context, route string) (string, error) {
	path := route
	if strings.Contains(route, "{") {
		path = s.found[route]
	}
	if path == "" {
		return "", nil
	}

	text, _, err := s.open(ctx, path)
	if err != nil || text == "" {
		return "", err
	}

	mux := http.NewServeMux()
	for _, other := range pageRoutes() {
		mux.HandleFunc(other, func(http.ResponseWriter, *http.Request) {})
	}
	for _, match := range pageLinks.FindAllStringSubmatch(text, -1) {
		_, pattern := mux.Handler(&http.Request{Method: http.MethodGet, URL: &url.URL{Path: match[1]}})
		if s.found[pattern] == "" {
			s.found[pattern] = match[1]
		}
	}
	return path, nil
}

// takeTurns opens a page of a route in two sites by turns; nil: the person cannot open it.
func takeTurns(ctx context.Context, large, small *site, route string) (ours, baseline []float64, err error) {
	paths := map[*site]string{}
	for _, s := range []*site{large, small} {
		if paths[s], err = s.pathOf(ctx, route); err != nil || paths[s] == "" {
			return nil, nil, err
		}
	}

	took := map[*site][]float64{}
	for range pagesFirst + pagesRuns {
		for _, s := range []*site{large, small} {
			_, ms, err := s.open(ctx, paths[s])
			if err != nil {
				return nil, nil, err
			}
			took[s] = append(took[s], ms)
		}
	}
	return slices.Clip(took[large][pagesFirst:]), took[small][pagesFirst:], nil
}

const (
	scaleViews = 20 // of each page
	scaleFirst = 3  // views that are not counted
)

// measureScalePages opens every page over the filled record, with each filter and the next part of each list that a page
// links to: as the customer who has most of the rows, and as an administrator.
func measureScalePages(ctx context.Context, m *machine, events int, customer, admin string) (rows []row, err error) {
	err = m.withRig(ctx, rigOptions{withoutWorker: true}, func(r *rig) error {
		api, err := r.startAPI(ctx, map[string]string{"STAGECOACH_LIMIT_REQUESTS": "0", "STAGECOACH_LISTING_TTL": "24h"})
		if err != nil {
			return err
		}
		defer api.stop()

		for _, who := range []struct{ name, token string }{{"a customer", customer}, {"an administrator", admin}} {
			s := &site{api: api, url: r.apiURL}
			if err := s.signIn(ctx, who.token); err != nil {
				return err
			}

			for _, route := range pageRoutes() {
				took, slowest, err := s.openAll(ctx, route)
				if err != nil {
					return fmt.Errorf("%s: %w", route, err)
				}
				if took == nil {
					continue // not for this person, or nothing leads there
				}

				m.say("GET %s as %s: p95 %.1f ms, the slowest is %s", route, who.name, quantile(took, 0.95), slowest)
				name := fmt.Sprintf("GET %s as %s with %d events, ", route, who.name, events)
				rows = append(rows, measured(name+"p50", "ms", took...), measured(name+"p95", "ms", quantile(took, 0.95)).atMost(scaleAim))
			}
		}

		return nil
	})

	return rows, err
}

// openAll opens a page of a route, and the same page as each of its links to itself asks for it. It returns the times of
// the slowest of these by their medians; nil: the person cannot open it.
func (s *site) openAll(ctx context.Context, route string) (took []float64, slowest string, err error) {
	path, err := s.pathOf(ctx, route)
	if err != nil || path == "" {
		return nil, "", err
	}
	text, _, err := s.open(ctx, path)
	if err != nil || text == "" {
		return nil, "", err
	}

	for _, link := range append(linksToItself(text, path), path) {
		var views []float64
		for range scaleFirst + scaleViews {
			_, ms, err := s.open(ctx, link)
			if err != nil {
				return nil, "", err
			}
			views = append(views, ms)
		}
		if views = views[scaleFirst:]; median(views) > median(took) {
			took, slowest = views, link
		}
	}
	return took, slowest, nil
}

var queryLinks = regexp.MustCompile(`href="([^"]*\?[^"]*)"`)

// linksToItself are the links of a page to itself with a query: filters, and the next part of a list.
func linksToItself(text, path string) (links []string) {
	for _, match := range queryLinks.FindAllStringSubmatch(text, -1) {
		link := html.UnescapeString(match[1])
		if to, query, _ := strings.Cut(link, "?"); to == path || to == "" {
			links = append(links, path+"?"+query)
		}
	}
	slices.Sort(links)
	return slices.Compact(links)
}

// pagesFill writes a record in which nearly all is one customer's: N is a tenth of the number of deliveries and
// transactions, and the number of tasks, downloads and books. Some are live, most have ended. Triggers are off.
const pagesFill = `SET session_replication_role = replica;
INSERT INTO users (name, telegram_id, status) SELECT 'Reader ' || n, 10000 + n, 'ACTIVE' FROM generate_series(1, N / 10) n;
INSERT INTO files (path, parent, name, folded, is_folder, size, modified_at, place)
	SELECT '/report ' || n || '.pdf', '/', 'report ' || n || '.pdf', 'report ' || n || '.pdf', false, 1000000 + n, now(), n FROM generate_series(1, N) n;
INSERT INTO listings (path, listed_at) VALUES ('/', now());
INSERT INTO jobs (idempotency_key, user_id, file_id, file_name, size, source, state, last_error, message_id, created_at, updated_at)
	SELECT lpad(to_hex(n), 64, '0'), 1, 1 + n % N, 'report ' || n || '.pdf', 1000000, 'api',
		CASE WHEN n % 500 = 0 THEN 'QUEUED' ELSE (ARRAY['DELIVERED', 'DELIVERED', 'FAILED', 'CANCELLED', 'EXPIRED'])[1 + n % 5] END, 'TELEGRAM_TIMEOUT', 1,
		now() - n * interval '1 minute', now() FROM generate_series(1, 10 * N) n;
INSERT INTO workspaces (name, owner_id, status_deadlines) SELECT 'A room with the number ' || n, 1, '{"NEW": 60}' FROM generate_series(1, 20) n;
INSERT INTO workspace_members (workspace_id, user_id) SELECT n, 1 FROM generate_series(1, 20) n;
INSERT INTO workspace_members (workspace_id, user_id) SELECT 1, id FROM users WHERE id > 1 ORDER BY id LIMIT 100;
INSERT INTO tasks (workspace_id, title, description, labels, creator_id, assignee_id, status, status_deadline_at, started_at, finished_at, created_at)
	SELECT CASE WHEN n % 5 = 0 THEN 1 + n % 20 ELSE 1 END, 'The thing with the number ' || n, 'How it is done', ARRAY['label'], 1, CASE WHEN k IN (2, 3, 5) THEN 1 END,
		(ARRAY['NEW', 'IN_PROGRESS', 'BLOCKED', 'STUCK', 'DONE', 'CANCELLED'])[k], CASE WHEN k < 4 THEN now() + interval '1 hour' END,
		CASE WHEN k IN (2, 3, 5) THEN now() - n * interval '5 minutes' END, CASE WHEN k > 4 THEN now() - n * interval '4 minutes' END, now() - n * interval '6 minutes'
	FROM generate_series(1, N) n, LATERAL (SELECT CASE WHEN n % 4 = 0 THEN 1 + n / 4 % 4 ELSE 5 + n % 2 END AS k) s;
INSERT INTO task_blockers (task_id, blocker_id) SELECT n * 4, n * 4 - 3 FROM generate_series(1, N / 5) n;
INSERT INTO books (title, author, folded, creator_id) SELECT 'A book with the number ' || n, 'Some Author', 'a book with the number ' || n || ' some author', 1 FROM generate_series(1, N) n;
INSERT INTO media_assets (book_id, media_type, status, path, source_url) SELECT n, 'text', 'available', '/book', 'magnet:?xt=urn:btih:' || repeat('1a', 20) FROM generate_series(1, N) n;
INSERT INTO download_jobs (user_id, book_id, media_type, status, source, source_url, content_path, completed_at_utc, failure_reason, progress, speed)
	SELECT 1, n, 'text', (ARRAY['queued', 'downloading', 'completed', 'failed', 'canceled'])[k], 'web', 'magnet:?xt=urn:btih:' || repeat('1a', 20),
		CASE k WHEN 3 THEN '/book' ELSE '' END, CASE k WHEN 3 THEN now() END, CASE k WHEN 4 THEN 'no space' END, 0.5, 1000
	FROM generate_series(1, N) n, LATERAL (SELECT CASE WHEN n % 100 = 0 THEN 1 + n / 100 % 2 ELSE 3 + n % 3 END AS k) s;
INSERT INTO ton_wallets (address, cursor_lt, cursor_hash, scanned_to) VALUES ('0:' || repeat('a', 64), 0, '', now());
INSERT INTO transactions (hash, wallet, lt, amount_nano, sender, comment, username, user_id, stars, quote_nano, status, attempt, processing_since,
		error_message, error_class, fragment_transaction_hash, needs_review, review_reason, created_at, updated_at)
	SELECT lpad(to_hex(n), 64, '0'), '0:' || repeat('a', 64), n, 2500000000, '0:' || repeat('b', 64), '@ada', 'ada', 1, 50, 2400000000,
		(ARRAY['pending', 'processing', 'processed', 'failed'])[k], CASE k WHEN 1 THEN 0 ELSE 1 END, CASE WHEN k > 1 THEN now() END,
		CASE k WHEN 4 THEN 'Username not found' ELSE '' END, CASE k WHEN 4 THEN 'non-retryable' ELSE '' END, CASE k WHEN 3 THEN lpad(to_hex(n), 64, '1') ELSE '' END,
		false, '', now() - n * interval '1 minute', now() - n * interval '1 minute' + interval '20 seconds'
	FROM generate_series(1, 10 * N) n, LATERAL (SELECT CASE WHEN n % 1000 < 2 THEN 1 + n % 1000 WHEN n % 20 = 2 THEN 4 ELSE 3 END AS k) s;
INSERT INTO ledger_balances (wallet, account, balance_nano) VALUES ('0:' || repeat('a', 64), 'wallet', 5000000000);
INSERT INTO events (workload, entity_id, seq, type, to_state, actor_id, owner_id, comment, created_at)
	SELECT w, CASE w WHEN 'transaction' THEN lpad(to_hex(n), 64, '0') ELSE n::text END, s, CASE WHEN n % 30 = 0 THEN 'failed' ELSE 'made' END, 'X', 1, 1, 'WHY', now() - n * interval '1 minute'
	FROM (VALUES ('delivery', 10 * N), ('task', N), ('download', N), ('transaction', 10 * N)) v (w, most), generate_series(1, most) n, generate_series(1, 2) s;
INSERT INTO alerts (kind, opened_at, resolved_at) SELECT 'storage_unreachable', now(), now() FROM generate_series(1, N) n;
INSERT INTO reconciler_findings (workload, entity, workflow_id, finding, done, done_at) SELECT 'delivery', n::text, 'delivery/' || n, 'stale', 'refreshed', now() FROM generate_series(1, N) n;
INSERT INTO audit_log (actor_id, action, subject, outcome, door) SELECT 1, 'change-user', 'user/2', 'done', 'http' FROM generate_series(1, N) n;
SET session_replication_role = DEFAULT;
VACUUM ANALYZE`

// fillPages makes a database with a record of this size. The customer is the user with the number 1.
func (m *machine) fillPages(ctx context.Context, name string, n int, customer, admin string) (address string, err error) {
	if err := fill.SQL(ctx, m.postgres.URL, `CREATE DATABASE `+name); err != nil {
		return "", err
	}
	at, err := url.Parse(m.postgres.URL)
	if err != nil {
		return "", err
	}
	at.Path = "/" + name
	address = at.String()
	s, err := store.Open(ctx, address, m.key)
	if err != nil {
		return "", err
	}
	defer s.Close()

	if err := s.Migrate(ctx); err != nil {
		return "", err
	}

	chat := int64(7)
	if _, err := s.CreateUser(ctx, account.User{Name: "Customer", TelegramID: &chat, Status: account.UserActive}, customer); err != nil {
		return "", err
	}
	if _, err := s.CreateUser(ctx, account.User{Name: "Root", Role: account.RoleAdmin, Status: account.UserActive}, admin); err != nil {
		return "", err
	}

	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close(ctx) }()

	sized := strings.NewReplacer("N)", strconv.Itoa(n)+")", "N,", strconv.Itoa(n)+",", "N /", strconv.Itoa(n)+" /", "% N", "% "+strconv.Itoa(n)).Replace(pagesFill)
	for statement := range strings.SplitSeq(sized, ";\n") {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return "", err
		}
	}

	if err := s.ResetCounts(ctx); err != nil {
		return "", err
	}
	return address, s.RefreshCounts(ctx)
}
