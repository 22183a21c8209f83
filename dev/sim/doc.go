// Package sim is what the stand-ins for the outside systems share; each has a folder below. They are real HTTP servers
// that speak the real protocol at the root and are controlled under /_/. The product reaches them by a base URL and
// cannot distinguish them from the real systems.
//
// A stand-in embeds Control, which gives it the faults, the request log and their routes. A protocol says how the
// system's own errors look. A new stand-in is therefore one options struct, one handler and one protocol.
//
//	request → Control: log it, pick a fault → the stand-in's handler
//	                   └ the fault answers, changes the bytes, or cuts the connection
package sim
