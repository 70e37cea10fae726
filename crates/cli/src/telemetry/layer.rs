//! Spans of `tracing` as spans of traces.

use std::fmt;
use std::time::{Duration, Instant};

use copydesk_domain::{Clock, SystemClock, TRACE_TARGET, Timestamp, TraceContext};
use tokio::sync::mpsc;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use super::{Counts, Item, count};

/// The most bytes of one text; names and ids are shorter.
const LONGEST: usize = 256;

/// A span that is over.
pub(super) struct Ended {
    pub(super) trace_id: String,
    pub(super) span_id: String,
    /// Empty for the first of a trace.
    pub(super) parent_id: String,
    pub(super) name: &'static str,
    pub(super) kind: String,
    pub(super) started: Timestamp,
    pub(super) took: Duration,
    pub(super) failed: bool,
    pub(super) attributes: Vec<(&'static str, Value)>,
}

/// What an attribute holds.
pub(super) enum Value {
    Text(String),
    Number(i64),
    Truth(bool),
}

/// A span that goes on.
struct Open {
    span: Ended,
    begun: Instant,
}

/// Hands on what is over. Spans that belong to no trace are left out: nobody could make sense of them.
pub(crate) struct TraceLayer {
    items: mpsc::Sender<Item>,
    counts: Counts,
}

impl TraceLayer {
    pub(super) fn new(items: mpsc::Sender<Item>, counts: Counts) -> Self {
        Self { items, counts }
    }

    /// Whether something is part of traces. Questions whether spans are wanted are no spans themselves.
    pub(crate) fn wants(metadata: &Metadata<'_>) -> bool {
        metadata.target() == TRACE_TARGET
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for TraceLayer {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let mut open = Open {
            span: Ended {
                trace_id: String::new(),
                span_id: String::new(),
                parent_id: String::new(),
                name: attributes.metadata().name(),
                kind: String::new(),
                started: SystemClock.now(),
                took: Duration::ZERO,
                failed: false,
                attributes: Vec::new(),
            },
            begun: Instant::now(),
        };
        attributes.record(&mut open.span);
        if open.span.trace_id.is_empty() {
            let parent = span.parent();
            let above = parent.as_ref().map(|parent| parent.extensions());
            let Some(above) = above.as_ref().and_then(|it| it.get::<Open>()) else { return };
            open.span.trace_id.clone_from(&above.span.trace_id);
            open.span.parent_id.clone_from(&above.span.span_id);
        }
        if open.span.span_id.is_empty() {
            open.span.span_id = TraceContext::begin().span_id();
        }
        span.extensions_mut().insert(open);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        if let Some(open) = span.extensions_mut().get_mut::<Open>() {
            values.record(&mut open.span);
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let Some(span) = context.span(&id) else { return };
        let Some(Open { mut span, begun }) = span.extensions_mut().remove::<Open>() else { return };
        span.took = begun.elapsed();
        if self.items.try_send(Item::Span(Box::new(span))).is_err() {
            count(&self.counts, "dropped", 1);
        }
    }
}

impl Visit for Ended {
    fn record_str(&mut self, field: &Field, value: &str) {
        let text = value[..value.floor_char_boundary(LONGEST)].to_owned();
        match field.name() {
            "trace_id" => self.trace_id = text,
            "span_id" => self.span_id = text,
            "parent_id" => self.parent_id = text,
            "kind" => self.kind = text,
            name => self.attributes.push((name, Value::Text(text))),
        }
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        match field.name() {
            "failed" => self.failed = value,
            name => self.attributes.push((name, Value::Truth(value))),
        }
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.attributes.push((field.name(), Value::Number(value)));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.record_i64(field, i64::try_from(value).unwrap_or(i64::MAX));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.record_str(field, &format!("{value:?}"));
    }
}
