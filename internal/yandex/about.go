package yandex

import (
	"context"
	"net/url"

	"stagecoach/internal/fault"
)

// About is what the storage reports about the shared folder and the account that owns its disk.
type About struct {
	Owner string // the account's number; empty: hidden from the application
}

// About reads the shared folder with this access token and never renews the token.
func (c *Client) About(ctx context.Context, accessToken string) (About, error) {
	address, err := c.address("/v1/disk/resources", "/", url.Values{"fields": {"type"}, "limit": {"1"}})
	if err != nil {
		return About{}, err
	}

	var root resource
	if err := c.call(ctx, "stat", address, accessToken, &root); err != nil {
		return About{}, err
	}
	if root.Type != "dir" {
		return About{}, fault.New(fault.FileNotFound, "this is a file, not a folder")
	}

	var disk struct {
		User struct {
			UID string `json:"uid"`
		} `json:"user"`
	}

	err = c.call(ctx, "disk", c.o.APIURL+"/v1/disk?fields=user.uid", accessToken, &disk)
	// the folder was shown: only the permission to see the account is missing
	if fault.CodeOf(err) == fault.YandexUnauthorized {
		err = nil
	}
	return About{Owner: disk.User.UID}, err
}
