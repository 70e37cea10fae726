/// The wire formats. A further one is a variant here, with a module of the same functions, which `formats` calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Api {
    /// Chat completions, as OpenAI has them and many servers offer.
    OpenAi,
    Anthropic,
    /// OpenAI's Responses, for other agents that are measured.
    Responses,
}

/// Why a request is not accepted, in the words of the provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rejection {
    pub status: u16,
    pub message: String,
    /// Where in the request.
    pub param: Option<String>,
    /// The provider's short word for it, where it is not the usual one of the status.
    pub code: Option<&'static str>,
}

/// What the server expects of every request.
pub(super) struct Expected<'a> {
    pub models: &'a [String],
    /// Whether this list of tools was looked at before and found good; they are the same in almost every request.
    pub tools_known: &'a dyn Fn(u64) -> bool,
}

impl Rejection {
    pub fn bad(param: impl Into<String>, message: impl Into<String>) -> Self {
        Self { status: 400, message: message.into(), param: Some(param.into()), code: None }
    }

    pub fn status(status: u16, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), param: None, code: None }
    }

    /// The conversation is too long for the model.
    pub fn overflow(api: Api, tokens: usize, limit: usize) -> Self {
        let (message, code) = match api {
            Api::OpenAi | Api::Responses => (
                format!("This model's maximum context length is {limit} tokens. However, you sent {tokens} tokens."),
                Some("context_length_exceeded"),
            ),
            Api::Anthropic => (format!("prompt is too long: {tokens} tokens > {limit} maximum"), None),
        };
        Self { status: 400, message, param: Some("messages".to_owned()), code }
    }
}

impl Api {
    /// The format that is spoken at a path; with or without `/v1`, since clients differ in what their base address is.
    pub(super) fn at(path: &str) -> Option<Self> {
        match path.strip_prefix("/v1").unwrap_or(path) {
            "/chat/completions" => Some(Self::OpenAi),
            "/messages" => Some(Self::Anthropic),
            "/responses" => Some(Self::Responses),
            _ => None,
        }
    }
}
