//! The two text formats of figures. What is counted is written in the newer one, OpenMetrics; the older one differs in how
//! it names counters.

use std::collections::HashSet;

/// A format of figures, as who asks for them names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Prometheus' own, which everything reads.
    Prometheus,
    OpenMetrics,
}

impl Format {
    /// The one that the header `Accept` asks for.
    pub fn accepted(accept: &str) -> Self {
        let names = |part: &str| part.split(';').next().is_some_and(|it| it.trim() == "application/openmetrics-text");
        if accept.split(',').any(names) { Self::OpenMetrics } else { Self::Prometheus }
    }

    pub fn content_type(self) -> &'static str {
        match self {
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// The same figures in Prometheus' own format: there a counter is called what its samples are, with `_total`.
pub(super) fn prometheus(open_metrics: &str) -> String {
    let about = |line: &'_ str, what: &str| -> Option<(String, String)> {
        let (name, rest) = line.strip_prefix(what)?.split_once(' ')?;
        Some((name.to_owned(), rest.to_owned()))
    };
    let is_counter = |line: &str| about(line, "# TYPE ").filter(|(_, kind)| kind == "counter").map(|(name, _)| name);
    let counters: HashSet<String> = open_metrics.lines().filter_map(is_counter).collect();
    let mut text = String::with_capacity(open_metrics.len());
    for line in open_metrics.lines().filter(|line| !line.starts_with("# EOF") && !line.starts_with("# UNIT")) {
        let told = ["# HELP ", "# TYPE "].into_iter().find_map(|what| Some((what, about(line, what)?)));
        match told.filter(|(_, (name, _))| counters.contains(name)) {
            Some((what, (name, rest))) => text.push_str(&format!("{what}{name}_total {rest}")),
            None => text.push_str(line),
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_called_what_their_samples_are() {
        let open = "# HELP a_jobs Jobs.\n# TYPE a_jobs counter\na_jobs_total{x=\"# EOF\"} 1\n# HELP b B.\n# TYPE b gauge\n\
                    # UNIT b seconds\nb 2\n# EOF\n";
        assert_eq!(
            prometheus(open),
            "# HELP a_jobs_total Jobs.\n# TYPE a_jobs_total counter\na_jobs_total{x=\"# EOF\"} 1\n# HELP b B.\n# TYPE b gauge\nb 2\n"
        );
    }

    #[test]
    fn the_newer_format_is_for_those_who_ask_for_it() {
        let scraper = "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.1";
        assert_eq!(Format::accepted(scraper), Format::OpenMetrics);
        for other in ["", "*/*", "text/plain", "application/openmetrics-textual"] {
            assert_eq!(Format::accepted(other), Format::Prometheus, "{other}");
        }
    }
}
