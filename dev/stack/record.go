package stack

import (
	"context"
	"fmt"
	"net/http"

	"golang.org/x/oauth2"

	"stagecoach/api/client"
	"stagecoach/internal/config"
	"stagecoach/internal/fault"
	"stagecoach/internal/store"
	"stagecoach/internal/store/account"
	"stagecoach/starter/terminal"
)

// The users of the demo, by Telegram account id.
const (
	demoAdmin = 1000
	DemoUser  = 1001

	DemoUsername = "demo_reader"
)

// prepareRecord creates the tables and the demo user, and returns the storage's tokens from the record.
func (s *Stack) prepareRecord(ctx context.Context) (oauth2.Token, error) {
	// The other settings are complete only later.
	c, err := config.Load(environmentOver(map[string]string{
		"DATABASE_URL": s.DatabaseURL, "STAGECOACH_ENCRYPTION_KEY": s.kept.EncryptionKey,
	}))
	if len(c.EncryptionKeys) == 0 {
		return oauth2.Token{}, terminal.UsageError(err.Error())
	}

	record, err := store.Open(ctx, s.DatabaseURL, c.EncryptionKeys...)
	if err != nil {
		return oauth2.Token{}, err
	}
	defer record.Close()

	if err := record.Migrate(ctx); err != nil {
		return oauth2.Token{}, fmt.Errorf("the database cannot be used: %w", err)
	}

	telegramID := int64(DemoUser)
	user, _, err := record.Accounts.EnsureTelegramUser(
		ctx, account.User{TelegramID: &telegramID, Name: "Demo user", Status: account.UserActive},
	)
	if err != nil {
		return oauth2.Token{}, err
	}

	_, err = record.Accounts.ChangeUser(ctx, user.ID, account.UserChange{Status: account.UserActive})
	if err != nil {
		return oauth2.Token{}, err
	}

	_, _, err = record.Accounts.Authenticate(ctx, s.kept.UserToken)
	if fault.CodeOf(err) == fault.Unauthenticated { // the first start
		_, err = record.Accounts.RenewToken(ctx, account.Token{UserID: user.ID, Name: "first", Scopes: account.Scopes}, s.kept.UserToken)
	}
	if err != nil {
		return oauth2.Token{}, err
	}

	s.RecordSince = user.CreatedAt
	tokens, err := record.Accounts.TokenStore("yandex").CurrentToken(ctx)
	if err != nil {
		return oauth2.Token{}, fmt.Errorf(
			"the storage's tokens in the database cannot be read: use the state folder that it was used with before, or another database: %w",
			err,
		)
	}

	return tokens, nil
}

// introducePeople makes the demo's users write to the bot for the first time: a bot cannot write to others.
func (s *Stack) introducePeople(ctx context.Context) error {
	telegram := &client.Client{Base: s.StandIns.Telegram}
	for id, username := range map[int64]string{demoAdmin: "", DemoUser: DemoUsername} {
		if len(s.Telegram.Chat(id).Messages) > 0 {
			continue
		}
		_, _, err := telegram.Send(ctx, client.Call{
			Method: http.MethodPost, Path: fmt.Sprintf("/_/users/%d/messages", id),
			Body: map[string]string{"text": "/start", "username": username},
		})
		if err != nil {
			return err
		}
	}

	return nil
}
