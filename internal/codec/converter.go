package codec

import (
	"context"
	"errors"
	"fmt"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// Apply makes a client encrypt and decrypt with the codec. Failure messages are hidden while it encrypts.
func (c *Codec) Apply(o *client.Options) {
	c.apply(o, converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), c))
}

// ApplyToWorkers does the same for the workers' client. A missing key then blocks a workflow task, until a worker that
// has the key takes it.
func (c *Codec) ApplyToWorkers(o *client.Options) {
	c.apply(o, ofWorkers{converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), c)})
}

func (c *Codec) apply(o *client.Options, payloads converter.DataConverter) {
	o.DataConverter = payloads
	o.FailureConverter = temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{
		DataConverter: o.DataConverter, EncodeCommonAttributes: c.first != "",
	})
}

// ofWorkers is the SDK's converter with one change: in workflows a missing key is a panic. Otherwise the SDK would drop
// an unreadable signal, reject an unreadable update, and fail a workflow because of its input.
type ofWorkers struct{ converter.DataConverter }

// WithContext changes nothing outside workflows.
func (w ofWorkers) WithContext(context.Context) converter.DataConverter { return w }

// WithWorkflowContext returns the converter for what a workflow reads.
func (w ofWorkers) WithWorkflowContext(workflow.Context) converter.DataConverter {
	return strict(w)
}

// WithSerializationContext returns the converter for what a workflow receives from outside, such as an update's input.
func (w ofWorkers) WithSerializationContext(ctx converter.SerializationContext) converter.DataConverter {
	if _, ok := ctx.(converter.WorkflowSerializationContext); ok {
		return strict(w)
	}
	return w
}

type strict struct{ converter.DataConverter }

func (s strict) FromPayload(p *commonpb.Payload, into any) error {
	return insist(s.DataConverter.FromPayload(p, into))
}

func (s strict) FromPayloads(p *commonpb.Payloads, into ...any) error {
	return insist(s.DataConverter.FromPayloads(p, into...))
}

func insist(err error) error {
	if errors.Is(err, ErrUnknownKey) {
		text := fmt.Sprintf("%v: configure it on every worker before the first process encrypts with it", err)
		panic(text) // blocks only this workflow task
	}
	return err
}
