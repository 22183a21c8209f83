package cliext

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"

	"github.com/spf13/pflag"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/log"
	"google.golang.org/grpc"
)

// CommonOptions are the flags of all commands.
type CommonOptions struct {
	Env, EnvFile                        string
	ConfigFile, Profile                 string
	DisableConfigFile, DisableConfigEnv bool

	LogLevel, LogFormat       FlagStringEnum
	Output, TimeFormat, Color FlagStringEnum
	NoJsonShorthandPayloads   bool

	CommandTimeout, ClientConnectTimeout FlagDuration
}

// Description introduces the flags.
func (*CommonOptions) Description() string { return "These flags are those of all commands.\n" }

// BuildFlags adds the flags.
func (o *CommonOptions) BuildFlags(f *pflag.FlagSet) {
	f.StringVar(&o.Env, "env", "default", "Group of settings in the file of --env-file.")
	f.StringVar(&o.EnvFile, "env-file", "", "File with groups of settings.")
	f.StringVar(&o.ConfigFile, "config-file", "", "File with profiles.")
	f.StringVar(&o.Profile, "profile", "", "Profile of the file with profiles.")
	f.BoolVar(&o.DisableConfigFile, "disable-config-file", false, "Read no file with profiles.")
	f.BoolVar(&o.DisableConfigEnv, "disable-config-env", false, "Read no settings from the environment.")

	o.LogLevel = NewFlagStringEnum([]string{"debug", "info", "warn", "error", "never"}, "never")
	f.Var(&o.LogLevel, "log-level", "Least level that is logged.")
	o.LogFormat = NewFlagStringEnum([]string{"text", "json", "pretty"}, "text")
	f.Var(&o.LogFormat, "log-format", "Form of the log.")
	o.Output = NewFlagStringEnum([]string{"text", "json", "jsonl", "none"}, "text")
	f.VarP(&o.Output, "output", "o", "Form of the output.")
	o.TimeFormat = NewFlagStringEnum([]string{"relative", "iso", "raw"}, "relative")
	f.Var(&o.TimeFormat, "time-format", "Form of times.")
	o.Color = NewFlagStringEnum([]string{"always", "never", "auto"}, "auto")
	f.Var(&o.Color, "color", "Colours of the output.")
	f.BoolVar(&o.NoJsonShorthandPayloads, "no-json-shorthand-payloads", false, "Show payloads as they are.")

	f.Var(&o.CommandTimeout, "command-timeout", "Time limit of the command; 0: none.")
	f.Var(&o.ClientConnectTimeout, "client-connect-timeout", "Time limit of the connection; 0: none.")
}

// ClientOptions are the flags of commands that call a server.
type ClientOptions struct {
	Address, Namespace, Identity string
	GrpcMeta                     []string
	CodecEndpoint, CodecAuth     string
	CodecHeader                  []string

	flags *pflag.FlagSet
}

var clientFlags = []string{"address", "namespace", "identity", "grpc-meta", "codec-endpoint", "codec-auth", "codec-header"}

// Description introduces the flags.
func (*ClientOptions) Description() string { return "These flags say which server is asked.\n" }

// BuildFlags adds the flags.
func (o *ClientOptions) BuildFlags(f *pflag.FlagSet) {
	o.flags = f
	f.StringVar(&o.Address, "address", "localhost:7233", "Address of the server.")
	f.StringVarP(&o.Namespace, "namespace", "n", "default", "Namespace.")
	f.StringVar(&o.Identity, "identity", "", "Who asks.")
	f.StringArrayVar(&o.GrpcMeta, "grpc-meta", nil, "Header of requests, as `KEY=VALUE`.")
	f.StringVar(&o.CodecEndpoint, "codec-endpoint", "", "Address of a codec server.")
	f.StringVar(&o.CodecAuth, "codec-auth", "", "Authorization for the codec server.")
	f.StringArrayVar(&o.CodecHeader, "codec-header", nil, "Header for the codec server, as `KEY=VALUE`.")
}

// HideFlags hides the flags in the help of each command.
func (o *ClientOptions) HideFlags() {
	for _, name := range clientFlags {
		_ = o.flags.MarkHidden(name)
	}
}

// ClientOptionsBuilder builds a client's options from flags, environment and profile, in this order of precedence.
type ClientOptionsBuilder struct {
	CommonOptions
	ClientOptions
	EnvLookup envconfig.EnvLookup
	Logger    *slog.Logger

	// PayloadCodec is set by Build; nil: payloads have none.
	PayloadCodec converter.PayloadCodec
}

// Build returns the options.
func (b *ClientOptionsBuilder) Build(context.Context) (client.Options, error) {
	profile, err := envconfig.LoadClientConfigProfile(envconfig.LoadClientConfigProfileOptions{
		ConfigFilePath: b.ConfigFile, ConfigFileProfile: b.Profile,
		DisableFile: b.DisableConfigFile, DisableEnv: b.DisableConfigEnv, EnvLookup: b.EnvLookup,
	})
	if err != nil {
		return client.Options{}, err
	}

	if profile.Address == "" || b.flags.Changed("address") {
		profile.Address = b.Address
	}
	if profile.Namespace == "" || b.flags.Changed("namespace") {
		profile.Namespace = b.Namespace
	}

	meta, err := pairs(b.GrpcMeta)
	if err != nil {
		return client.Options{}, err
	}
	for key, value := range meta {
		if profile.GRPCMeta == nil {
			profile.GRPCMeta = map[string]string{}
		}
		profile.GRPCMeta[envconfig.NormalizeGRPCMetaKey(key)] = value
	}

	codec := profile.Codec
	profile.Codec = nil // it is an interceptor, so that payloads outside of arguments are decoded too
	options, err := profile.ToClientOptions(envconfig.ToClientOptionsRequest{})
	if err != nil {
		return options, err
	}

	options.Identity, options.Logger = b.Identity, log.NewStructuredLogger(b.Logger)
	if codec == nil {
		codec = &envconfig.ClientConfigCodec{}
	}
	if b.CodecEndpoint != "" {
		codec.Endpoint = b.CodecEndpoint
	}
	if b.CodecAuth != "" {
		codec.Auth = b.CodecAuth
	}
	return options, b.decode(&options, *codec)
}

// decode decodes payloads by a codec server.
func (b *ClientOptionsBuilder) decode(options *client.Options, codec envconfig.ClientConfigCodec) error {
	headers, err := pairs(b.CodecHeader)
	if err != nil || codec.Endpoint == "" {
		return err
	}

	namespace := options.Namespace
	b.PayloadCodec = converter.NewRemotePayloadCodec(converter.RemotePayloadCodecOptions{
		Endpoint: strings.ReplaceAll(codec.Endpoint, "{namespace}", namespace),
		ModifyRequest: func(request *http.Request) error {
			request.Header.Set("X-Namespace", namespace)
			for key, value := range headers {
				request.Header.Set(key, value)
			}
			if codec.Auth != "" {
				request.Header.Set("Authorization", codec.Auth)
			}
			return nil
		},
	})

	interceptor, err := converter.NewPayloadCodecGRPCClientInterceptor(converter.PayloadCodecGRPCClientInterceptorOptions{
		Codecs: []converter.PayloadCodec{b.PayloadCodec},
	})
	options.ConnectionOptions.DialOptions = append(options.ConnectionOptions.DialOptions, grpc.WithChainUnaryInterceptor(interceptor))
	return err
}

func pairs(texts []string) (map[string]string, error) {
	all := map[string]string{}
	for _, text := range texts {
		key, value, found := strings.Cut(text, "=")
		if !found {
			return nil, fmt.Errorf("%q is not KEY=VALUE", text)
		}
		all[key] = value
	}
	return all, nil
}

// NewLogger returns a command's logger.
func NewLogger(o CommonOptions, out io.Writer) (*slog.Logger, error) {
	if o.LogLevel.Value == "never" {
		return slog.New(slog.DiscardHandler), nil
	}

	var level slog.Level
	if err := level.UnmarshalText([]byte(o.LogLevel.Value)); err != nil {
		return nil, err
	}
	options := &slog.HandlerOptions{Level: level}
	if o.LogFormat.Value == "json" {
		return slog.New(slog.NewJSONHandler(out, options)), nil
	}
	return slog.New(slog.NewTextHandler(out, options)), nil
}
