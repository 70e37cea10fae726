mod anthropic;
mod continuity;
mod faults;
mod openai;
mod properties;
mod script;
mod server;

use serde_json::{Value, json};

use super::api::{Api, Expected, Rejection};
use super::*;

/// What is wrong with a body, by its message; none if it is accepted.
fn complaint(api: Api, body: &Value) -> Option<String> {
    check(api, body).err().map(|rejection| rejection.message)
}

fn check(api: Api, body: &Value) -> Result<Request, Rejection> {
    let models = [OPENAI_MODEL, OPENAI_REASONING_MODEL, ANTHROPIC_MODEL].map(str::to_owned);
    api.check(body, &Expected { models: &models, tools_known: &|_| false })
}

/// Changes a good body in one place and wants to hear about it.
#[track_caller]
fn refused(api: Api, good: &Value, change: impl FnOnce(&mut Value), words: &str) {
    assert_eq!(complaint(api, good), None, "the body is not good to begin with");
    let mut body = good.clone();
    change(&mut body);
    let complaint = complaint(api, &body).expect("the body was accepted");
    assert!(complaint.contains(words), "{complaint}");
}

/// Changes a good body in one place that must not matter.
#[track_caller]
fn accepted(api: Api, good: &Value, change: impl FnOnce(&mut Value)) -> Request {
    let mut body = good.clone();
    change(&mut body);
    check(api, &body).unwrap()
}

fn push(list: &mut Value, item: Value) {
    list.as_array_mut().unwrap().push(item);
}

/// A client that speaks to a server in one wire format.
struct Caller<'a> {
    server: &'a ModelServer,
    http: reqwest::Client,
    api: Api,
}

impl<'a> Caller<'a> {
    fn new(server: &'a ModelServer, api: Api) -> Self {
        Self { server, http: reqwest::Client::new(), api }
    }

    fn request(&self, body: &Value) -> reqwest::RequestBuilder {
        match self.api {
            Api::OpenAi => {
                self.http.post(format!("{}/v1/chat/completions", self.server.url())).bearer_auth(KEY).json(body)
            }
            Api::Anthropic => {
                let post = self.http.post(format!("{}/v1/messages", self.server.url()));
                post.header("x-api-key", KEY).header("anthropic-version", "2023-06-01").json(body)
            }
            Api::Responses => self.http.post(format!("{}/v1/responses", self.server.url())).bearer_auth(KEY).json(body),
        }
    }

    async fn send(&self, body: &Value) -> reqwest::Response {
        self.request(body).send().await.unwrap()
    }
}

const BOTH: [Api; 2] = [Api::OpenAi, Api::Anthropic];

/// A conversation in either wire format: the user's prompt, then calls with answers.
fn body(api: Api, prompt: &str, stream: bool, exchanges: &[(Value, &str)]) -> Value {
    match api {
        Api::OpenAi => {
            let mut body = json!({"model": OPENAI_MODEL, "stream": stream, "tools": [openai::tool("edit_file")],
                "messages": [{"role": "system", "content": "Edit."}, {"role": "user", "content": prompt}]});
            for (said, answer) in exchanges {
                push(&mut body["messages"], said.clone());
                for call in said["tool_calls"].as_array().unwrap() {
                    push(&mut body["messages"], json!({"role": "tool", "tool_call_id": call["id"], "content": answer}));
                }
            }
            body
        }
        Api::Anthropic => {
            let mut body = json!({"model": ANTHROPIC_MODEL, "stream": stream, "tools": [anthropic::tool("edit_file")],
                "max_tokens": 1000, "system": "Edit.", "messages": [{"role": "user", "content": prompt}]});
            for (blocks, answer) in exchanges {
                let ids = blocks.as_array().unwrap().iter().filter_map(|block| block.get("id"));
                let results: Vec<Value> =
                    ids.map(|id| json!({"type": "tool_result", "tool_use_id": id, "content": answer})).collect();
                push(&mut body["messages"], json!({"role": "assistant", "content": blocks}));
                push(&mut body["messages"], json!({"role": "user", "content": results}));
            }
            body
        }
        Api::Responses => {
            let prompt =
                json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": prompt}]});
            let mut body = json!({"model": OPENAI_MODEL, "stream": stream, "input": [prompt]});
            for (said, answer) in exchanges {
                let said = said.as_array().unwrap();
                said.iter().for_each(|item| push(&mut body["input"], item.clone()));
                for id in said.iter().filter_map(|item| item.get("call_id")) {
                    let output = json!({"type": "function_call_output", "call_id": id, "output": answer});
                    push(&mut body["input"], output);
                }
            }
            body
        }
    }
}

/// What was said in an answer that was not streamed, as the next request has to hold it.
fn said_in(api: Api, answer: &Value) -> Value {
    match api {
        Api::OpenAi => {
            let message = &answer["choices"][0]["message"];
            json!({"role": "assistant", "content": message["content"], "tool_calls": message["tool_calls"]})
        }
        Api::Anthropic => answer["content"].clone(),
        Api::Responses => answer["output"].clone(),
    }
}
