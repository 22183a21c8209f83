# One image with the three programs: `docker run IMAGE worker`, `… api`, `… starter status`.

FROM golang:1.26.8 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
# Static binaries: the final image has no C library to fit them.
RUN CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags='-s -w' -o /out/ ./worker ./api ./starter

# Alpine rather than an empty image: its wget asks for the health, and it brings the certificates.
FROM alpine:3.22
RUN apk add --no-cache ca-certificates tzdata \
	&& adduser -D -H -u 10001 stagecoach \
	&& install -d -o stagecoach -g stagecoach /spool /standins
COPY --from=build /out/ /usr/local/bin/
USER stagecoach
ENV STAGECOACH_API_ADDR=0.0.0.0:8080 \
	STAGECOACH_API_METRICS_ADDR=0.0.0.0:9092 \
	STAGECOACH_WORKER_METRICS_ADDR=0.0.0.0:9090 \
	STAGECOACH_SPOOL_DIR=/spool
EXPOSE 8080 9090 9092
CMD ["worker"]
