//! Where something belongs in a trace, as W3C's trace context has it.

use std::fmt;

use crate::JobId;
use crate::id::random_number;

/// The target of the spans that traces are made of; what has another target is in no trace.
pub const TRACE_TARGET: &str = "copydesk::trace";

/// A span in a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceContext {
    trace: u128,
    span: u64,
    /// Whether whoever began the trace wants it to be recorded.
    pub is_sampled: bool,
}

impl TraceContext {
    /// The first span of a new trace.
    pub fn begin() -> Self {
        let trace = (u128::from(random_number()) << 64) | u128::from(random_number());
        Self { trace, span: random_number(), is_sampled: true }
    }

    /// What a job belongs to that nobody's trace led to: the same in every process.
    pub fn of_job(id: &JobId) -> Self {
        let digits: String = id.chars().filter(char::is_ascii_hexdigit).take(32).collect();
        let trace = u128::from_str_radix(&digits, 16).unwrap_or(1).max(1);
        // The lower half of an id is random.
        Self { trace, span: (trace as u64).max(1), is_sampled: true }
    }

    /// Reads a `traceparent`.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.trim().split('-');
        let (version, trace, span, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let is_hex = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
        let fits = version.len() == 2 && trace.len() == 32 && span.len() == 16 && flags.len() == 2;
        // A later version may have more parts; this one has none.
        let is_known = version != "ff" && (version != "00" || parts.next().is_none());
        if !fits || !is_known || ![version, trace, span, flags].into_iter().all(is_hex) {
            return None;
        }
        let (trace, span) = (u128::from_str_radix(trace, 16).ok()?, u64::from_str_radix(span, 16).ok()?);
        let is_sampled = u8::from_str_radix(flags, 16).ok()? & 1 == 1;
        (trace != 0 && span != 0).then_some(Self { trace, span, is_sampled })
    }

    /// A span below this one.
    pub fn child(self) -> Self {
        Self { span: random_number(), ..self }
    }

    pub fn trace_id(self) -> String {
        format!("{:032x}", self.trace)
    }

    pub fn span_id(self) -> String {
        format!("{:016x}", self.span)
    }
}

/// As a `traceparent`.
impl fmt::Display for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{:032x}-{:016x}-{:02x}", self.trace, self.span, u8::from(self.is_sampled))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_traceparent_is_read_as_it_is_written_and_nothing_else_is() {
        let text = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        assert_eq!(TraceContext::parse(text).unwrap().to_string(), text);
        assert!(!TraceContext::parse(&text.replace("-01", "-00")).unwrap().is_sampled);
        assert!(TraceContext::parse(&text.replacen("00-", "cc-", 1).replace("-01", "-01-what")).is_some());
        for wrong in [
            "",
            "00",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-",
            "00-+bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        ] {
            assert!(TraceContext::parse(wrong).is_none(), "{wrong}");
        }
    }

    #[test]
    fn every_process_has_the_same_trace_for_a_job() {
        let id = JobId::new(crate::Timestamp::from_millis(1_773_576_000_000));
        assert_eq!(TraceContext::of_job(&id), TraceContext::of_job(&id));
        assert_eq!(TraceContext::of_job(&id).trace_id(), id.replace('-', ""));
        assert_ne!(TraceContext::of_job(&JobId::from("nonsense")).trace_id(), "0".repeat(32));
    }
}
