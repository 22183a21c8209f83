package core

// CapabilityParts is what a process can do that settles each part of a wallet's message by itself. Every process of this
// release can; its row in processes says so, and other processes of the service wait for that.
const CapabilityParts = "payment_parts"
