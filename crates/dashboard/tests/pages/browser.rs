//! A browser as far as these tests need one: it keeps cookies, sends forms from our own pages, and reads what is shown.

use std::sync::{Arc, Mutex};

use reqwest::header::{COOKIE, HeaderMap, LOCATION, SET_COOKIE};
use reqwest::{Method, RequestBuilder, StatusCode};

#[derive(Clone)]
pub struct Browser {
    http: reqwest::Client,
    base: String,
    cookies: Arc<Mutex<Vec<(String, String)>>>,
}

/// A page that came back.
#[derive(Debug)]
pub struct Shown {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub html: String,
}

impl Browser {
    pub fn new(base: &str) -> Self {
        let builder = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none());
        let http = builder.tls_certs_only([]).build().unwrap();
        Self { http, base: base.to_owned(), cookies: Arc::default() }
    }

    pub fn with_session(self, token: &str) -> Self {
        let mut cookies = self.cookies.lock().unwrap();
        cookies.retain(|(name, _)| name != "copydesk");
        cookies.push(("copydesk".to_owned(), token.to_owned()));
        drop(cookies);
        self
    }

    /// Another one that begins with the same cookies.
    pub fn copy(&self) -> Self {
        let cookies = self.cookies.lock().unwrap().clone();
        Self { cookies: Arc::new(Mutex::new(cookies)), ..self.clone() }
    }

    pub fn with_cookies_of(self, other: &Self) -> Self {
        Self { cookies: other.copy().cookies, ..self }
    }

    pub fn session(&self) -> Option<String> {
        let cookies = self.cookies.lock().unwrap();
        cookies.iter().find(|(name, value)| name == "copydesk" && !value.is_empty()).map(|(_, value)| value.clone())
    }

    pub async fn get(&self, path: &str) -> Shown {
        self.send(self.request(Method::GET, path)).await
    }

    /// Sends a form as one of our own pages does.
    pub async fn post(&self, path: &str, fields: &[(&str, &str)]) -> Shown {
        self.send(self.form(path, fields).header("sec-fetch-site", "same-origin")).await
    }

    /// The same without any word of where it comes from.
    pub fn form(&self, path: &str, fields: &[(&str, &str)]) -> RequestBuilder {
        let body: Vec<String> = fields.iter().map(|(name, value)| format!("{}={}", part(name), part(value))).collect();
        self.request(Method::POST, path)
            .header("content-type", "application/x-www-form-urlencoded")
            .body(body.join("&"))
    }

    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let cookies = self.cookies.lock().unwrap();
        let cookies: Vec<String> = cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        self.http.request(method, format!("{}{path}", self.base)).header(COOKIE, cookies.join("; "))
    }

    pub async fn send(&self, request: RequestBuilder) -> Shown {
        let answer = request.send().await.unwrap();
        let (status, headers) = (answer.status(), answer.headers().clone());
        for cookie in headers.get_all(SET_COOKIE) {
            let pair = cookie.to_str().unwrap().split(';').next().unwrap().split_once('=').unwrap();
            let mut cookies = self.cookies.lock().unwrap();
            cookies.retain(|(name, _)| name != pair.0);
            cookies.push((pair.0.to_owned(), pair.1.to_owned()));
        }
        Shown { status, headers, html: answer.text().await.unwrap() }
    }

    /// Sends a form and follows where it leads.
    pub async fn post_and_follow(&self, path: &str, fields: &[(&str, &str)]) -> Shown {
        let shown = self.post(path, fields).await;
        self.get(&shown.leads_to()).await
    }
}

impl Shown {
    /// The address that it leads to.
    #[track_caller]
    pub fn leads_to(&self) -> String {
        assert_eq!(self.status, StatusCode::SEE_OTHER, "{}", self.html);
        self.headers[LOCATION].to_str().unwrap().to_owned()
    }

    #[track_caller]
    pub fn is(&self, status: u16) -> &Self {
        assert_eq!(self.status.as_u16(), status, "{}", self.html);
        self
    }

    #[track_caller]
    pub fn shows(&self, text: &str) -> &Self {
        assert!(self.html.contains(text), "{text:?} is not in {}", self.html);
        self
    }

    #[track_caller]
    pub fn hides(&self, text: &str) -> &Self {
        assert!(!self.html.contains(text), "{text:?} is in {}", self.html);
        self
    }

    /// The text of the element with that id.
    #[track_caller]
    pub fn text_of(&self, id: &str) -> String {
        let from = self.html.find(&format!("id=\"{id}\"")).unwrap_or_else(|| panic!("no {id} in {}", self.html));
        let rest = &self.html[from..];
        let (begin, end) = (rest.find('>').unwrap() + 1, rest.find("</").unwrap());
        rest[begin..end]
            .replace("&#34;", "\"")
            .replace("&#39;", "'")
            .replace("&#60;", "<")
            .replace("&#62;", ">")
            .replace("&#38;", "&")
    }
}

fn part(text: &str) -> String {
    percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
}
