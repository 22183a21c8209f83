package store

// parts lists the workloads of the record, in the order of lifecycle.Workloads.
var parts = []Part{deliveryPart, taskPart, downloadPart, transactionPart}
