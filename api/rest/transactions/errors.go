package transactions

import (
	"net/http"

	"stagecoach/api/rest/server"
	"stagecoach/internal/fault"
)

// kinds are the error codes specific to operations on transactions.
var kinds = map[fault.Code]server.Kind{
	fault.TransactionNotFound: {Status: http.StatusNotFound, Title: "Transaction not found"},
	fault.ReceiptNotFound:     {Status: http.StatusNotFound, Title: "Receipt not found"},
	fault.PaymentUndecided:    {Status: http.StatusConflict, Title: "A payment may have moved money"},
	fault.ChainUnauthorized:   {Status: http.StatusServiceUnavailable, Title: "The TON gateway denied access to the service"},
	fault.ChainUnavailable:    {Status: http.StatusServiceUnavailable, Title: "The TON gateway is unavailable"},
	fault.ChainClock:          {Status: http.StatusServiceUnavailable, Title: "The TON gateway's clock is wrong"},
	fault.ChainProtocol:       {Status: http.StatusServiceUnavailable, Title: "The TON gateway sent an unexpected response"},
}
