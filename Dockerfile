# Two images. `production`, the default, has the three programs: `docker run IMAGE worker`, `… api`,
# `… starter status`. `dev` also has the simulators of the external systems: `docker run IMAGE dev standin telegram …`.

FROM golang:1.26.8 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
# Static binaries: the final image has no matching C library. The tag is explained in dev/stack/programs.go. The build cache
# stays on the machine, so that an upgrade only compiles what has changed.
RUN --mount=type=cache,target=/root/.cache/go-build CGO_ENABLED=0 go build -tags=stdjson -trimpath -buildvcs=false -ldflags='-s -w' -o /out/ ./worker ./api ./starter

FROM build AS build-dev
RUN --mount=type=cache,target=/root/.cache/go-build CGO_ENABLED=0 go build -tags=stdjson -trimpath -buildvcs=false -ldflags='-s -w' -o /out-dev/ ./dev

# Alpine rather than an empty image: it has wget for health checks, and the certificates.
FROM alpine:3.22.2 AS machine
RUN apk upgrade --no-cache \
	&& apk add --no-cache ca-certificates tzdata \
	&& adduser -D -H -u 10001 stagecoach \
	&& install -d -o stagecoach -g stagecoach /spool
USER stagecoach
ENV STAGECOACH_API_ADDR=0.0.0.0:8080 \
	STAGECOACH_API_METRICS_ADDR=0.0.0.0:9092 \
	STAGECOACH_WORKER_METRICS_ADDR=0.0.0.0:9090 \
	STAGECOACH_SPOOL_DIR=/spool
EXPOSE 8080 9090 9092
CMD ["worker"]

# The release image (.goreleaser.yaml), with the release's programs.
FROM machine AS release
ARG TARGETPLATFORM
COPY $TARGETPLATFORM/ /usr/local/bin/

FROM machine AS base
COPY --from=build /out/ /usr/local/bin/

FROM base AS dev
USER root
RUN install -d -o stagecoach -g stagecoach /standins
COPY --from=build-dev /out-dev/ /usr/local/bin/
USER stagecoach

FROM base AS production
