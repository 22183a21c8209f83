// Package sim is what the simulators of the external systems share; each has a folder below. They are real HTTP servers
// that speak the real protocol at the root and are controlled under /_/. The product reaches them through a base URL
// and cannot distinguish them from the real systems.
//
// A simulator embeds Control, which provides faults, the request log and their routes. A protocol defines the format of
// the system's errors. So a new simulator is one options struct, one handler and one protocol.
//
//	request → Control: log it, pick a fault → the simulator's handler
//	                   └ the fault answers, changes the bytes, or cuts the connection
package sim
