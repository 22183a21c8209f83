package main

import (
	"fmt"
	"slices"
	"strings"

	"stagecoach/internal/config"
)

const (
	databaseURL = "DATABASE_URL"
	walletsKey  = "STAGECOACH_TON_KEY"
)

// unit is a unit of the Debian package, with the program whose secrets it has; only the named ones, if any.
func unit(name string, program config.Program, secrets ...string) document {
	return document{"deploy/deb/" + name, "# begin %s\n", "# end %s\n", []part{
		{"secrets", func() string { return unitSecrets(program, secrets) }},
		{"hardening", func() string { return hardening }},
	}}
}

// unitSecrets gives a unit the secrets that its program reads. systemd refuses to start a unit with a missing file,
// unless the secret has a fallback value.
func unitSecrets(program config.Program, secrets []string) string {
	var b strings.Builder
	for _, s := range config.Settings() {
		if !s.Secret || !s.ReadBy(program) || len(secrets) > 0 && !slices.Contains(secrets, s.Name) {
			continue
		}

		file, value := s.Name, `\n`
		if s.Name == databaseURL {
			value = "postgres:///stagecoach?host=/var/run/postgresql&target_session_attrs=read-write"
			if program == config.ForPayments { // which has another role
				file = "PAYMENTS_" + s.Name
			}
		}

		fmt.Fprintf(&b, "Environment=%s_FILE=%%d/%s\nLoadCredential=%s:/etc/stagecoach/secrets/%s\n", s.Name, s.Name, s.Name, file)
		if s.Name != walletsKey { // without it payments do not start
			fmt.Fprintf(&b, "SetCredential=%s:%s\n", s.Name, value)
		}
	}
	return b.String()
}

// hardening removes from a unit what none of our programs need. The programs listen on ports above 1024 and start no
// others.
const hardening = `
UMask=0077
NoNewPrivileges=yes
CapabilityBoundingSet=
AmbientCapabilities=
ProtectSystem=strict
ProtectHome=yes
PrivateTmp=yes
PrivateDevices=yes
PrivateIPC=yes
ProtectHostname=yes
ProtectClock=yes
ProtectKernelTunables=yes
ProtectKernelModules=yes
ProtectKernelLogs=yes
ProtectControlGroups=yes
ProtectProc=invisible
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
MemoryDenyWriteExecute=yes
RemoveIPC=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallFilter=~@privileged @resources
SystemCallErrorNumber=EPERM
`
