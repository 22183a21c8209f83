package config

import (
	"os"
	"path/filepath"
	"time"
)

// Delivery configures the delivery workload.
type Delivery struct {
	Mode           string // "stream" or "spool"
	Parallel       int
	TTL            time.Duration
	JobTimeout     time.Duration
	StorageTimeout time.Duration
	ChunkTimeout   time.Duration
	Heartbeat      time.Duration
	RetryInterval  time.Duration
	MaxFileSize    int64
	SpoolDir       string
	SpoolMaxBytes  int64
}

func (c *Config) deliverySettings() []Setting {
	return []Setting{
		c.quota("deliveries", "STAGECOACH_LIMIT_DELIVERIES", "1000", "live deliveries of one user"),
		choice(&c.Delivery.Mode, "STAGECOACH_DELIVERY_MODE", "stream", []string{"stream", "spool"}, "stream: bytes are passed on directly; spool: through a temporary file"),
		integer(&c.Delivery.Parallel, "STAGECOACH_DELIVERY_PARALLEL", "4", 1, 1000, "parallel deliveries of each worker"),
		duration(&c.Delivery.TTL, "STAGECOACH_DELIVERY_TTL", "1h", time.Second, 30*day, "a delivery that no worker claims within this time expires"),
		duration(&c.Delivery.JobTimeout, "STAGECOACH_DELIVERY_JOB_TIMEOUT", "15m", time.Second, day, "the time limit of one delivery attempt"),
		duration(&c.Delivery.StorageTimeout, "STAGECOACH_DELIVERY_STORAGE_TIMEOUT", "30s", 100*time.Millisecond, time.Hour, "the longest wait for the next byte from the storage"),
		duration(&c.Delivery.ChunkTimeout, "STAGECOACH_DELIVERY_CHUNK_TIMEOUT", "30s", 100*time.Millisecond, time.Hour, "the longest wait for progress of an upload to Telegram"),
		duration(&c.Delivery.Heartbeat, "STAGECOACH_DELIVERY_HEARTBEAT_TIMEOUT", "10s", 2*time.Second, time.Hour, "without a heartbeat for this long, a worker loses its delivery"),
		duration(&c.Delivery.RetryInterval, "STAGECOACH_DELIVERY_RETRY_INTERVAL", "2s", 10*time.Millisecond, time.Hour, "pause before the second attempt; doubled for the third"),
		integer(&c.Delivery.MaxFileSize, "STAGECOACH_DELIVERY_MAX_FILE_SIZE", "2097152000", 1, 1<<42, "the largest file in bytes"),
		text(&c.Delivery.SpoolDir, "STAGECOACH_SPOOL_DIR", filepath.Join(os.TempDir(), "stagecoach-spool"), "the folder of temporary files"),
		integer(&c.Delivery.SpoolMaxBytes, "STAGECOACH_SPOOL_MAX_BYTES", "8388608000", 1, 1<<50, "the largest total of temporary files in bytes"),
		c.days("deliveries", "STAGECOACH_RETENTION_DELIVERIES", "365", "deliveries that have ended, with their events"),
	}
}
