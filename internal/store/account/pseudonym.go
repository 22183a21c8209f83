package account

// LogName returns how logs name a user. A person has the same name in the logs of all programs, and
// another one after the first encryption key has changed.
func (s *Store) LogName(u User) string {
	if u.TelegramID != nil {
		return s.LogNameOfTelegram(*u.TelegramID)
	}
	return s.db.Pseudonyms.Of("user", u.ID)
}

// LogNameOfTelegram returns how logs name a person with a Telegram account, who may be no user.
func (s *Store) LogNameOfTelegram(id int64) string { return s.db.Pseudonyms.Of("telegram", id) }
