package doctor

import (
	"context"
	"regexp"
	"strings"

	"stagecoach/internal/fault"
	"stagecoach/internal/store/operations"
)

// Torrents is a qBittorrent. Each doctor run tries the password once: qBittorrent bans an address after five failures.
type Torrents interface {
	Version(ctx context.Context) (string, error)
}

// versionForm is the form of qBittorrent's version. Another program may answer at its address.
var versionForm = regexp.MustCompile(`^v?\d[\w.+-]{0,30}$`)

// OfQBittorrent checks the downloads' login.
func OfQBittorrent(torrents Torrents, password bool) Check {
	how := "let in without a password"
	if password {
		how = "logged in"
	}
	return Check{operations.QBittorrent, func(ctx context.Context) Result {
		version, err := torrents.Version(ctx)
		version = strings.TrimSpace(version)
		switch {
		case fault.CodeOf(err) == fault.ProviderUnauthorized:
			return failed(err, "correct STAGECOACH_QBITTORRENT_USERNAME and _PASSWORD, or _API_KEY, and restart", AboutDownloads)
		case err != nil:
			return failed(err, "see whether STAGECOACH_QBITTORRENT_URL is that of its Web UI", AboutDownloads)
		case !versionForm.MatchString(version):
			return Result{
				State: StateRefused, Code: fault.ProviderRejected,
				Detail: "another program answers at this address",
				Next:   "see whether STAGECOACH_QBITTORRENT_URL is that of its Web UI: " + AboutDownloads,
			}
		}

		return Result{State: StateWorks, Account: how, Detail: "qBittorrent " + version}
	}}
}
