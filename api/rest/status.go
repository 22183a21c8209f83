package rest

import (
	"context"
	"net/http"
	"time"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store"
)

type statusBody struct {
	At                  time.Time                         `json:"at" example:"2026-03-01T12:00:00Z"`
	QueueDepth          int64                             `json:"queue_depth" example:"4" doc:"Deliveries that wait for a worker"`
	JobsInState         map[lifecycle.DeliveryState]int64 `json:"jobs_in_state" example:"{\"QUEUED\":4,\"STREAMING\":2}" doc:"All states, also those without jobs"`
	WorkerHeartbeatAge  *float64                          `json:"worker_heartbeat_age_seconds" example:"3.2" doc:"Since a worker was last heard of; null when there is none"`
	OAuthTokenExpiresIn *float64                          `json:"oauth_token_expires_in_seconds" example:"86400" doc:"Of the file storage; null when unknown or endless"`
	TopErrors           []errorCountBody                  `json:"top_errors" doc:"Of the last 24 hours"`
	Stuck               bool                              `json:"stuck" doc:"Whether any job is"`
	StuckJobs           []string                          `json:"stuck_jobs" doc:"Jobs in a worker's hands whose heartbeat is too old"`

	AboveLimits []aboveLimitBody `json:"above_limits" doc:"Users who have more than a limit allows, because it was lowered or is new; up to 20 of each limit, as of the last minute"`

	DownloadsInStatus map[lifecycle.DownloadState]int64 `json:"downloads_in_status" example:"{\"queued\":1,\"downloading\":3}" doc:"All statuses, also those without downloads"`
	QBittorrent       *qbittorrentBody                  `json:"qbittorrent" doc:"null when downloads are off"`

	WholeBody
}

type qbittorrentBody struct {
	Answers   bool     `json:"answers" doc:"Whether it answered the last poll, and that was not long ago"`
	AnswerAge *float64 `json:"last_answer_age_seconds" example:"3.2" doc:"null when it has never answered"`
	Error     *string  `json:"error" example:"PROVIDER_UNAUTHORIZED" doc:"A code; null unless the last poll failed"`
}

type aboveLimitBody struct {
	UserID  string `json:"user_id" example:"7"`
	Limit   string `json:"limit" example:"tasks" doc:"As in the details of QUOTA_EXCEEDED; members: of a workspace of the user's"`
	Maximum int    `json:"maximum" example:"5000"`
	Count   int64  `json:"count" example:"6120"`
}

type errorCountBody struct {
	Code  string `json:"code" example:"TELEGRAM_TIMEOUT"`
	Count int64  `json:"count" example:"3"`
}

func (s *server) registerStatus() {
	register(s, operation{
		id: "get-status", method: http.MethodGet, path: "/v1/status", tag: "Operations", access: forAdmins,
		scope:   store.ScopeOperate,
		summary: "How the whole is doing",
	}, s.getStatus)
}

func (s *server) getStatus(ctx context.Context, _ *struct{}) (*answer[statusBody], error) {
	now, err := s.o.Status.Now(ctx)
	if err != nil {
		return nil, err
	}

	body := statusBody{
		At: utc(now.At), QueueDepth: now.QueueDepth, JobsInState: now.JobsInState, WorkerHeartbeatAge: now.WorkerHeartbeatAge,
		OAuthTokenExpiresIn: now.TokenExpiresIn, TopErrors: []errorCountBody{}, Stuck: now.Stuck(), StuckJobs: []string{},
		DownloadsInStatus: now.DownloadsInStatus, WholeBody: wholeFrom(now.Overview),
	}

	if q := now.QBittorrent; q != nil {
		body.QBittorrent = &qbittorrentBody{Answers: q.Answers, AnswerAge: q.AnswerAge, Error: optional(q.Error)}
	}

	body.AboveLimits = each(now.AboveLimits, func(a store.AboveQuota) aboveLimitBody {
		return aboveLimitBody{formatID(a.UserID), a.Limit, a.Maximum, a.Count}
	})

	for _, e := range now.TopErrors {
		body.TopErrors = append(body.TopErrors, errorCountBody(e))
	}

	for _, id := range now.StuckJobs {
		body.StuckJobs = append(body.StuckJobs, formatID(id))
	}
	return answered(body), nil
}
