package transactions

import (
	"net/http"

	"stagecoach/api/rest/server"
	"stagecoach/internal/fault"
)

// kinds are the codes that the operations of transactions answer with, besides those of any operation.
var kinds = map[fault.Code]server.Kind{
	fault.TransactionNotFound: {Status: http.StatusNotFound, Title: "There is no such transaction"},
	fault.ReceiptNotFound:     {Status: http.StatusNotFound, Title: "There is no such receipt"},
	fault.PaymentUndecided:    {Status: http.StatusConflict, Title: "A payment may have moved money"},
	fault.ChainUnauthorized:   {Status: http.StatusServiceUnavailable, Title: "The TON network's gateway refuses the service"},
	fault.ChainUnavailable:    {Status: http.StatusServiceUnavailable, Title: "The TON network's gateway is unavailable"},
	fault.ChainClock:          {Status: http.StatusServiceUnavailable, Title: "The clock of the TON network's gateway is wrong"},
	fault.ChainProtocol:       {Status: http.StatusServiceUnavailable, Title: "The TON network's gateway sent an unexpected answer"},
}
