package shape

import "time"

// StarsTerms are how to pay for Stars, and their current price.
type StarsTerms struct {
	Address         string     `json:"address" example:"UQCD39VS5jcptHL8vMjEXrzGaRcCVYto7HUn4bpAOg8xqEBI" doc:"Where to send GRAM (ex TON)"`
	LeastStars      int64      `json:"least_stars" example:"50" doc:"Per purchase"`
	MostStars       int64      `json:"most_stars" example:"1000000"`
	ReserveNano     int64      `json:"reserve_nano" example:"20000000" doc:"Deducted from each transfer for fees; all amounts are in nanoTON"`
	SlippagePercent float64    `json:"slippage_percent" example:"1" doc:"How far the price may rise with amount_nano still sufficient"`
	PriceNano       *int64     `json:"price_nano" example:"460900000" doc:"Price of least_stars; null: currently unknown, retry"`
	LeastNano       *int64     `json:"least_nano" example:"490000000" doc:"The smallest transfer that buys Stars at this price"`
	GoodUntil       *time.Time `json:"good_until" example:"2026-03-01T12:10:00Z" doc:"Refresh after this time"`

	Username   *string `json:"username" example:"durov" doc:"Recipient of the Stars; null: none was named"`
	Stars      int64   `json:"stars" example:"100" doc:"0: as many as the transfer buys"`
	AmountNano *int64  `json:"amount_nano" example:"960000000" doc:"Amount to send for that many Stars, including slippage; null: the payer's choice, or currently unknown"`
	Comment    *string `json:"comment" example:"durov 100" doc:"Comment to send with the transfer; null: no recipient was named, or the amount for that many Stars is currently unknown"`
	Link       *string `json:"link" example:"ton://transfer/UQCD39VS5jcptHL8vMjEXrzGaRcCVYto7HUn4bpAOg8xqEBI?amount=960000000&text=durov%20100" doc:"Opens a wallet with the address, amount and comment"`
}

// Receipt is a purchase of Stars as its payer sees it.
type Receipt struct {
	Key        *string   `json:"key" example:"0f8fad5bd9cb469fa16570867728950e" doc:"Anyone with it may read the receipt; null: the Stars are not for the caller"`
	State      string    `json:"state" enum:"received,paying,paid,bought,retrying,waiting,review,refunding,refunded,failed" doc:"received: being priced, or waiting for the wallet; paying: our payment is signed; paid: our payment is on the chain; retrying: failed, will be retried; waiting: failed, and review: something needs checking; an administrator decides both"`
	Final      bool      `json:"final" doc:"Whether this is final"`
	AmountNano int64     `json:"amount_nano" example:"960000000" doc:"Amount received, in nanoTON"`
	Username   *string   `json:"username" example:"durov" doc:"Recipient named by the payer; null: unknown"`
	Stars      int64     `json:"stars" example:"100" doc:"0: unknown"`
	PriceNano  *int64    `json:"price_nano" example:"921800000" doc:"Price of the Stars; null: unknown"`
	Reason     *string   `json:"reason" example:"Username not found" doc:"What is wrong with the transfer or its recipient; null: nothing, or something else"`
	CreatedAt  time.Time `json:"created_at" example:"2026-03-01T12:00:00Z"`
	UpdatedAt  time.Time `json:"updated_at" example:"2026-03-01T12:00:00Z"`
}

// WholeReceipt is a receipt with its steps.
type WholeReceipt struct {
	Receipt
	Steps []ReceiptStep `json:"steps" doc:"Steps completed, then those still to come"`
}

// ReceiptStep is one step of a purchase.
type ReceiptStep struct {
	Step string     `json:"step" enum:"deposit,price,signed,chain,returned,bought,review,failed,refund,refunded" doc:"deposit: transfer received; signed: our payment for the Stars is signed; chain: it is on the chain; returned: it came back; refund: our payment to the sender is signed"`
	Done bool       `json:"done" doc:"false: still to come"`
	At   *time.Time `json:"at" example:"2026-03-01T12:00:05Z" doc:"null: still to come, or time unknown"`
	Hash *string    `json:"hash" example:"1b4f0e9851971998e732078544c96b36c3d01cedf7caa332359d6f1d83567014" doc:"Of the transaction on the chain; for signed payments, of the message; null: none"`
}
