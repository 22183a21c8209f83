package account

// LogName returns a user's pseudonym in logs. It is the same in all programs, and changes with the first encryption
// key.
func (s *Store) LogName(u User) string {
	if u.TelegramID != nil {
		return s.LogNameOfTelegram(*u.TelegramID)
	}
	return s.db.Pseudonyms.Of("user", u.ID)
}

// LogNameOfTelegram returns the pseudonym of a person with a Telegram account, who need not be a user.
func (s *Store) LogNameOfTelegram(id int64) string { return s.db.Pseudonyms.Of("telegram", id) }
