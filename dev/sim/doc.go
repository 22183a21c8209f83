// Package sim is what the stand-ins for the outside systems share; each has a folder below. They are real HTTP servers
// that speak the real protocol at the root and are steered under /_/. Production code reaches them by a base URL and
// cannot tell the difference.
//
// A stand-in embeds Control, which gives it the faults, the request log and their routes, and tells it with a
// protocol how its own errors look. So a new stand-in is one options struct, one handler and one protocol.
//
//	request → Control: log it, pick a fault → the stand-in's handler
//	                   └ the fault answers, bends the bytes, or cuts the connection
package sim
