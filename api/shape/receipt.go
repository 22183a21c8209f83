package shape

import "time"

// StarsTerms are how to pay for Stars, and what they cost now.
type StarsTerms struct {
	Address         string     `json:"address" example:"UQCD39VS5jcptHL8vMjEXrzGaRcCVYto7HUn4bpAOg8xqEBI" doc:"Where to send GRAM (ex TON)"`
	LeastStars      int64      `json:"least_stars" example:"50" doc:"In one purchase"`
	MostStars       int64      `json:"most_stars" example:"1000000"`
	ReserveNano     int64      `json:"reserve_nano" example:"20000000" doc:"Of each transfer, for fees; all amounts are in nanoTON"`
	SlippagePercent float64    `json:"slippage_percent" example:"1" doc:"How far the price may rise for amount_nano to be enough still"`
	PriceNano       *int64     `json:"price_nano" example:"460900000" doc:"Of least_stars; null: not known now, ask again"`
	LeastNano       *int64     `json:"least_nano" example:"490000000" doc:"The smallest transfer that buys Stars at this price"`
	GoodUntil       *time.Time `json:"good_until" example:"2026-03-01T12:10:00Z" doc:"Ask again after that"`

	Username   *string `json:"username" example:"durov" doc:"Whom the Stars are for; null: nobody was named"`
	Stars      int64   `json:"stars" example:"100" doc:"0: as many as the transfer buys"`
	AmountNano *int64  `json:"amount_nano" example:"960000000" doc:"To send for so many Stars, with the slippage; null: as much as the payer likes, or not known now"`
	Comment    *string `json:"comment" example:"durov 100" doc:"To send with the transfer; null: nobody was named, or the amount for so many Stars is not known now"`
	Link       *string `json:"link" example:"ton://transfer/UQCD39VS5jcptHL8vMjEXrzGaRcCVYto7HUn4bpAOg8xqEBI?amount=960000000&text=durov%20100" doc:"Opens a wallet with address, amount and comment"`
}

// Receipt is a purchase of Stars as its payer sees it.
type Receipt struct {
	Key        string    `json:"key" example:"0f8fad5bd9cb469fa16570867728950e" doc:"Whoever has it may read the receipt"`
	State      string    `json:"state" enum:"received,paying,paid,bought,retrying,waiting,review,refunding,refunded,failed" doc:"received: it is being priced or waits for its turn; paying: our payment is signed; paid: it is on the chain; retrying: it did not work and is tried again; waiting: it did not work, and review: something needs a look; an administrator decides about both"`
	Final      bool      `json:"final" doc:"Whether nothing follows any more"`
	AmountNano int64     `json:"amount_nano" example:"960000000" doc:"What came in, in nanoTON"`
	Username   *string   `json:"username" example:"durov" doc:"Whom the payer has named; null while unknown"`
	Stars      int64     `json:"stars" example:"100" doc:"0 while unknown"`
	PriceNano  *int64    `json:"price_nano" example:"921800000" doc:"Of the Stars; null while unknown"`
	Reason     *string   `json:"reason" example:"Username not found" doc:"What is wrong with the transfer or its receiver; null: nothing, or something else"`
	CreatedAt  time.Time `json:"created_at" example:"2026-03-01T12:00:00Z"`
	UpdatedAt  time.Time `json:"updated_at" example:"2026-03-01T12:00:00Z"`
}

// WholeReceipt is a receipt with its steps.
type WholeReceipt struct {
	Receipt
	Steps []ReceiptStep `json:"steps" doc:"What has happened, and then what is still to come"`
}

// ReceiptStep is one step of a purchase.
type ReceiptStep struct {
	Step string     `json:"step" enum:"deposit,price,signed,chain,returned,bought,review,failed,refund,refunded" doc:"deposit: the transfer has come in; signed: our payment for the Stars is signed; chain: it is on the chain; returned: it came back; refund: our payment to the sender is signed"`
	Done bool       `json:"done" doc:"false: still to come"`
	At   *time.Time `json:"at" example:"2026-03-01T12:00:05Z" doc:"null: still to come, or its time is not known"`
	Hash *string    `json:"hash" example:"1b4f0e9851971998e732078544c96b36c3d01cedf7caa332359d6f1d83567014" doc:"Of the transaction on the chain; of what is signed, of its message; null: none"`
}
