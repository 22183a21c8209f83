package qbittorrent

import (
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// windows is how a path begins if qBittorrent runs on Windows: with a drive, or as a share.
var windows = regexp.MustCompile(`^([A-Za-z]:|\\\\|//[?.]/)`)

// extended is the beginning of a Windows path without a length limit.
var extended = regexp.MustCompile(`(?i)^//[?.]/(unc/)?`)

// slashed returns a path in qBittorrent's file system with slashes and nothing superfluous.
func slashed(file string, onWindows bool) string {
	if onWindows {
		file = extended.ReplaceAllString(strings.ReplaceAll(file, `\`, "/"), "")
		file = strings.TrimLeft(file, "/") // a share may be written with slashes
	}
	return path.Clean(file)
}

// Below returns where a qBittorrent path is below one of its folders, with slashes; false: elsewhere. On Windows
// neither the kind of separators nor the letter case matters.
func Below(folder, file string) (rest string, below bool) {
	onWindows := windows.MatchString(folder)
	folder, file = slashed(folder, onWindows), slashed(file, onWindows)
	base, parts := strings.Split(strings.TrimSuffix(folder, "/"), "/"), strings.Split(file, "/")
	if len(parts) < len(base) {
		return "", false
	}
	for i, name := range base {
		if parts[i] != name && (!onWindows || !strings.EqualFold(parts[i], name)) {
			return "", false
		}
	}

	rest = path.Join(parts[len(base):]...)
	if rest == "" {
		rest = "."
	}
	return rest, filepath.IsLocal(rest)
}

// Within returns a folder's path inside one of qBittorrent's, in its notation.
func Within(folder, name string) string {
	if !windows.MatchString(folder) {
		return strings.TrimRight(folder, "/") + "/" + name
	}
	separator := "/"
	if strings.Contains(folder, `\`) {
		separator = `\`
	}
	return strings.TrimRight(folder, `\/`) + separator + name
}
